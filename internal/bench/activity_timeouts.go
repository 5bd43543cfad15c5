package bench

import (
	"context"
	"strings"
	"time"

	"github.com/swrun/swrun"
	"github.com/swrun/swrun/activity"
	"github.com/swrun/swrun/runtime/client"
)

// activityTimeouts are the measured timeouts of activities: the timeouts that pass while an outside worker holds the activity, and those that pass
// while the activity waits for one.
func activityTimeouts() []string {
	return []string{"queue: bench, timeouts: {startToClose: PT2S}", "queue: bench, timeouts: {heartbeat: PT2S}",
		"queue: nobody, timeouts: {scheduleToStart: PT2S}", "queue: nobody, timeouts: {scheduleToClose: PT2S}"}
}

func (b *benchmark) activityTimeouts(ctx context.Context) (*Measured, error) {
	each := b.of(1000)
	m := &Measured{Runs: each * len(activityTimeouts())}
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
	release, err := holdActivities(ctx, "http://"+address, m.Runs)
	if err != nil {
		return nil, err
	}
	began := time.Now()
	for _, with := range activityTimeouts() {
		if err = b.startEach(ctx, with, each); err != nil {
			break
		}
	}
	if err == nil {
		err = ended.wait(ctx, 5*time.Minute)
	}
	m.took(time.Since(began), m.Runs)
	m.WorkerRSS = rss()
	release()
	if err != nil {
		return nil, err
	}
	late := lateTimeouts{}
	m.Lost, m.Duplicates, err = b.account(ctx, late.add)
	m.durations(lateBy, late.all())
	m.ByKind = late.byKind()
	return m, err
}

// startEach starts runs of one activity, 500 a second.
func (b *benchmark) startEach(ctx context.Context, with string, runs int) error {
	_, timeouts, _ := strings.Cut(with, "{")
	name, _, _ := strings.Cut(timeouts, ":")
	r, err := b.deploy(ctx, "activity-"+strings.ToLower(name), "do:\n- a: {call: 'activity:1.0.0@default', with: {type: bench, "+with+"}}\n")
	began := time.Now()
	for n := 0; n < runs && err == nil; n++ {
		time.Sleep(time.Until(began.Add(time.Duration(n) * 2 * time.Millisecond)))
		instance, failed := b.Client.Start(ctx, r, nil, client.StartOptions{})
		if err = failed; err == nil {
			b.runs = append(b.runs, instance)
		}
	}
	return err
}

// holdActivities lets an outside worker take activities, and do nothing for them until release is called.
func holdActivities(ctx context.Context, server string, most int) (release func(), err error) {
	w, err := activity.New(activity.Config{Server: server, Queues: []string{"bench"}, Concurrency: most, Drain: time.Millisecond})
	if err != nil {
		return nil, err
	}
	held, ended := make(chan struct{}), make(chan error, 1)
	hold := func(context.Context, *activity.Task) (any, error) {
		<-held
		return nil, nil
	}
	if err := w.Register("bench", hold); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(ctx)
	go func() { ended <- w.Run(ctx) }()
	return func() {
		cancel()
		close(held)
		<-ended
	}, nil
}
