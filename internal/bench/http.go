package bench

import (
	"context"
	"io"
	"net"
	"net/http"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/swrun/swrun/dsl"
	"github.com/swrun/swrun/interpreter"
	"github.com/swrun/swrun/runtime/definition"
	"github.com/swrun/swrun/runtime/worker"
	"github.com/swrun/swrun/tasks"
)

// ServerVariable is the environment variable with which this program starts itself as the server of http: see Serve.
const ServerVariable = "SWRUN_BENCH_SINK"

// httpRounds is the number of measurements of the runs, each between two measurements of the bare requests.
const httpRounds = 3

func (b *benchmark) http(ctx context.Context) (*Measured, error) {
	m := &Measured{Runs: b.of(2000)}
	address, stop, err := b.startServer()
	if err != nil {
		return nil, err
	}
	defer stop()
	var connections atomic.Int64
	transport := b.transportTo(address, &connections)
	defer transport.CloseIdleConnections()
	w := worker.Config{Compile: b.compileCalls(transport), Concurrency: b.Concurrency}
	if _, err := b.runSteps(ctx, b.of(200), w); err != nil { // so that connections and memory exist
		return nil, err
	}
	var rounds, bare []cost
	for range httpRounds {
		c, err := b.requests(ctx, transport, m.Runs*stepsPerRun)
		if err != nil {
			return nil, err
		}
		bare = append(bare, c)
		if c, err = b.runSteps(ctx, m.Runs, w); err != nil {
			return nil, err
		}
		rounds = append(rounds, c)
	}
	m.took(median(rounds, cost.wall), m.Runs*stepsPerRun)
	m.CPUPerStep = microseconds(median(rounds, cost.processor), m.Steps)
	m.RawHTTPPerS = float64(m.Steps) / median(bare, cost.wall).Seconds()
	m.RawHTTPCPU = microseconds(median(bare, cost.processor), m.Steps)
	m.RatioToRaw = m.StepsPerS / m.RawHTTPPerS
	m.Connections = int(connections.Load())
	m.WorkerRSS = rss()
	var gap []time.Duration
	m.Lost, m.Duplicates, err = b.account(ctx, gaps(&gap))
	m.durations(stepTook, gap)
	return m, err
}

// transportTo returns a transport to one server, for any name in the documents. It counts its connections.
func (b *benchmark) transportTo(address string, connections *atomic.Int64) *http.Transport {
	transport := tasks.NewTransport(tasks.TransportConfig{Connections: b.Concurrency})
	transport.DialContext = func(ctx context.Context, network, _ string) (net.Conn, error) {
		connections.Add(1)
		return new(net.Dialer).DialContext(ctx, network, address)
	}
	return transport
}

func (c cost) wall() time.Duration { return c.elapsed }

func (c cost) processor() time.Duration { return c.cpu }

func median(all []cost, of func(cost) time.Duration) time.Duration {
	var values []time.Duration
	for _, c := range all {
		values = append(values, of(c))
	}
	slices.Sort(values)
	return values[len(values)/2]
}

func microseconds(d time.Duration, n int) float64 {
	return float64(d.Nanoseconds()) / 1000 / float64(n)
}

// compileCalls compiles the documents of bench with real calls.
func (b *benchmark) compileCalls(transport http.RoundTripper) definition.Compile {
	return func(d definition.Definition) (*interpreter.Program, error) {
		w, found := dsl.Parse("bench", []byte(d.Document))
		if err := found.Err(); err != nil {
			return nil, err
		}
		p, found := interpreter.Compile(w, interpreter.Config{Kinds: tasks.All(tasks.Config{Transport: transport})})
		return p, found.Err()
	}
}

// requests sends n bare requests with the concurrency of a worker, and reads their answers.
func (b *benchmark) requests(ctx context.Context, transport http.RoundTripper, n int) (cost, error) {
	var left atomic.Int64
	left.Store(int64(n))
	began, before := time.Now(), cpuOf(os.Getpid())
	failed := make(chan error, b.Concurrency)
	var group sync.WaitGroup
	for range b.Concurrency {
		group.Go(func() {
			for left.Add(-1) >= 0 {
				if err := request(ctx, transport); err != nil {
					failed <- err
					return
				}
			}
		})
	}
	group.Wait()
	select {
	case err := <-failed:
		return cost{}, err
	default:
		return cost{time.Since(began), cpuOf(os.Getpid()) - before}, nil
	}
}

func request(ctx context.Context, transport http.RoundTripper) error {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, endpoint, nil)
	if err != nil {
		return err
	}
	response, err := (&http.Client{Transport: transport}).Do(r)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	_, err = io.Copy(io.Discard, response.Body)
	return err
}
