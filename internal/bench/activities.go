package bench

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"time"

	"github.com/swrun/swrun"
	"github.com/swrun/swrun/activity"
	"github.com/swrun/swrun/internal/control"
	"github.com/swrun/swrun/server"
)

// ActivitiesVariable is the environment variable with which this program starts itself as an outside worker: it contains the URL of the server.
const ActivitiesVariable = "SWRUN_BENCH_ACTIVITIES"

// activitiesPerRun is the number of activities of a run of bench, one after the other.
const activitiesPerRun = 10

func (b *benchmark) activities(ctx context.Context) (*Measured, error) {
	m := &Measured{Runs: b.of(2000)}
	ended := newCountdown(m.Runs)
	engine, err := swrun.NewEngine(b.Store, swrun.EngineConfig{Observe: ended.observe})
	if err != nil {
		return nil, err
	}
	address, stop, err := b.serveActivities(ctx, engine)
	if err != nil {
		return nil, err
	}
	defer stop()
	if err := b.startActivities(ctx, m.Runs); err != nil {
		return nil, err
	}
	began, before := time.Now(), cpuOf(os.Getpid())
	outside, err := b.spawnOutside("http://" + address)
	if err != nil {
		return nil, err
	}
	err = ended.wait(ctx, 5*time.Minute)
	m.took(time.Since(began), m.Runs*activitiesPerRun)
	m.CPUPerStep = microseconds(cpuOf(os.Getpid())-before, m.Steps)
	m.OutsideCPU = microseconds(cpuOf(outside.Process.Pid), m.Steps)
	outside.Process.Kill() // its work is done
	_ = outside.Wait()
	if err != nil {
		return nil, err
	}
	var took []time.Duration
	m.Lost, m.Duplicates, err = b.account(ctx, gaps(&took))
	m.durations(stepTook, took)
	return m, err
}

func (b *benchmark) startActivities(ctx context.Context, runs int) error {
	var body strings.Builder
	body.WriteString("do:\n")
	for n := range activitiesPerRun {
		fmt.Fprintf(&body, "- a%d: {call: 'activity:1.0.0@default', with: {type: bench, queue: bench, timeouts: {startToClose: PT5M}}}\n", n)
	}
	reference, err := b.deploy(ctx, "activities", body.String())
	if err != nil {
		return err
	}
	return b.start(ctx, reference, runs, func(n int) any { return map[string]any{"n": n} })
}

// serveActivities runs an engine and its API until stop is called.
func (b *benchmark) serveActivities(ctx context.Context, engine *swrun.Engine) (address string, stop func(), err error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", nil, err
	}
	api := &http.Server{Handler: server.New(server.Config{Control: control.New(engine, b.Store, time.Now), Authorize: server.TrustEveryone, Rate: 1_000_000})}
	ctx, cancel := context.WithCancel(ctx)
	served, worked := make(chan error, 1), make(chan error, 1)
	go func() { served <- api.Serve(l) }()
	go func() { worked <- engine.Work(ctx) }()
	return l.Addr().String(), func() {
		api.Close()
		<-served
		cancel()
		<-worked
	}, nil
}

// spawnOutside starts this program as an outside worker.
func (b *benchmark) spawnOutside(server string) (*exec.Cmd, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	c := exec.Command(self, "bench", "activities", "--concurrency", fmt.Sprint(b.Concurrency))
	c.Env, c.Stderr = append(os.Environ(), ActivitiesVariable+"="+server), b.Stderr
	return c, c.Start()
}

// PerformActivities is the main function of a program that was started with ActivitiesVariable, until ctx ends or it is killed.
func PerformActivities(ctx context.Context, server string, concurrency int) error {
	w, err := activity.New(activity.Config{Server: server, Queues: []string{"bench"}, Concurrency: concurrency})
	if err != nil {
		return err
	}
	done := func(context.Context, *activity.Task) (any, error) { return map[string]any{"ok": true}, nil }
	if err := w.Register("bench", done); err != nil {
		return err
	}
	return w.Run(ctx)
}
