package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/swrun/swrun/dsl"
	"github.com/swrun/swrun/errors"
	"github.com/swrun/swrun/interpreter"
	"github.com/swrun/swrun/runtime/definition"
	"github.com/swrun/swrun/runtime/worker"
	"github.com/swrun/swrun/tasks"
)

// This file has the scenario http: what calls cost, with a server in a process of its own, beside what the same requests
// cost without any workflow.

// benchSink is the environment variable that makes this program the server of http.
const benchSink = "SWRUN_BENCH_SINK"

// httpRounds is how often the runs are measured, each time between two measurements of the bare requests.
const httpRounds = 3

func (b *bench) http() (*measured, error) {
	m := &measured{Instances: b.of(2000)}
	address, stop, err := b.spawnSink()
	if err != nil {
		return nil, err
	}
	defer stop()
	transport := tasks.NewTransport(tasks.TransportConfig{Connections: b.flags.concurrency})
	defer transport.CloseIdleConnections()
	transport.DialContext = func(ctx context.Context, network, _ string) (net.Conn, error) { // whatever the documents call it
		return new(net.Dialer).DialContext(ctx, network, address)
	}
	w := worker.Config{Compile: b.compileCalls(transport), Concurrency: b.flags.concurrency}
	if _, err := b.runSteps(b.of(200), w); err != nil { // connections and memory are there then
		return nil, err
	}
	var rounds, bare []cost
	for range httpRounds {
		c, err := b.requests(transport, m.Instances*benchSteps)
		if err != nil {
			return nil, err
		}
		bare = append(bare, c)
		if c, err = b.runSteps(m.Instances, w); err != nil {
			return nil, err
		}
		rounds = append(rounds, c)
	}
	m.took(median(rounds, cost.wall), m.Instances*benchSteps)
	m.CPUPerStep = microseconds(median(rounds, cost.processor), m.Steps)
	m.RawHTTPPerS = float64(m.Steps) / median(bare, cost.wall).Seconds()
	m.RawHTTPCPU = microseconds(median(bare, cost.processor), m.Steps)
	m.RatioToRaw = m.StepsPerS / m.RawHTTPPerS
	m.WorkerRSS = rss()
	var gap []time.Duration
	m.Lost, m.Duplicates, err = b.account(gaps(&gap))
	m.latencies(gap)
	return m, err
}

func (c cost) wall() time.Duration      { return c.elapsed }
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

// compileCalls makes the documents of bench ready to run with real calls.
func (b *bench) compileCalls(transport http.RoundTripper) definition.Compile {
	return func(d definition.Definition) (*interpreter.Program, error) {
		w, found := dsl.Parse("bench", []byte(d.Document))
		if err := found.Err(); err != nil {
			return nil, err
		}
		p, found := interpreter.Compile(w, interpreter.Config{Kinds: tasks.All(tasks.Config{Transport: transport})})
		return p, found.Err()
	}
}

// requests sends n bare requests, as many at a time as a worker does, and reads their answers.
func (b *bench) requests(transport http.RoundTripper, n int) (cost, error) {
	var left atomic.Int64
	left.Store(int64(n))
	began, before := time.Now(), cpuOf(os.Getpid())
	failed := make(chan error, b.flags.concurrency)
	var group sync.WaitGroup
	for range b.flags.concurrency {
		group.Go(func() {
			for left.Add(-1) >= 0 {
				if err := request(b.ctx, transport); err != nil {
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
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, benchEndpoint, nil)
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

// spawnSink starts this program as a server, and returns where it listens.
func (b *bench) spawnSink() (address string, stop func(), err error) {
	self, err := os.Executable()
	if err != nil {
		return "", nil, err
	}
	c := exec.Command(self, "bench", "http")
	c.Env, c.Stderr = append(os.Environ(), benchSink+"=1"), b.err
	life, err := c.StdinPipe() // whose end, however this process ends, is the server's
	if err != nil {
		return "", nil, err
	}
	told, err := c.StdoutPipe()
	if err != nil {
		return "", nil, err
	}
	if err := c.Start(); err != nil {
		return "", nil, err
	}
	stop = func() { life.Close(); _ = c.Wait() } // it ends when its input does
	if address, err = bufio.NewReader(told).ReadString('\n'); err != nil {
		stop()
		return "", nil, fmt.Errorf("the server of the measurement does not begin: %w", err)
	}
	return strings.TrimSpace(address), stop, nil
}

// beSink answers every request, until its input ends.
func (p *program) beSink() error {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"ok":true}`)
	})}
	served := make(chan error, 1)
	go func() { served <- server.Serve(l) }()
	fmt.Fprintln(p.out, l.Addr())
	_, _ = io.Copy(io.Discard, p.in) // its end is what is waited for
	server.Close()
	if err := <-served; !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}
