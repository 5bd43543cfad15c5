// Package sources brings events from brokers to a deployment: streams of Redis, NATS JetStream, Kafka and MQTT. A message is acknowledged when its
// events are stored, so that none is lost. A repeated event is recognized by its source and id. A message that is no CloudEvent is logged, counted,
// kept in the store or copied to the dead letters of the source, and acknowledged, so that it blocks no others.
package sources

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
	"golang.org/x/time/rate"

	"github.com/swrun/swrun/errors"
	"github.com/swrun/swrun/internal/cloudevent"
	"github.com/swrun/swrun/internal/deadletter"
	"github.com/swrun/swrun/internal/doctor"
	"github.com/swrun/swrun/internal/eventfile"
	"github.com/swrun/swrun/internal/framing"
	"github.com/swrun/swrun/internal/terminal"
	"github.com/swrun/swrun/runtime/events"
)

// Config contains the parts that sources need of their host.
type Config struct {
	// Publish stores an event for the namespaces that it may reach; nil means all.
	Publish func(ctx context.Context, event map[string]any, namespaces []string) error
	// Keep stores a message that cannot be published, for a source without deadLetters; nil keeps none.
	Keep   func(context.Context, deadletter.Message) error
	Secret func(name string) (any, bool)
	Log    *slog.Logger
	// ClaimAfter is the time after which another process takes a message of Redis that a process got and has not acknowledged; 0 means a minute.
	ClaimAfter time.Duration
}

// State is the state of a source.
type State struct {
	Name, Kind string
	Connected  bool
	Err        error  // the reason why it is not connected, or why an event cannot be stored
	Accepted   uint64 // events
	SetAside   uint64 // messages that contain no event, or an event that cannot be accepted
}

// Sources are the sources of one process. Several goroutines may use them.
type Sources struct{ all []*feed }

// feed is one source.
type feed struct {
	Config
	from eventfile.Source
	open func(ctx context.Context) (broker, error)
	told *rate.Limiter // for log lines about messages that were set aside
	// count is the number of messages of one request, if the broker supports it. It is reduced when they are too large together.
	count int64

	mu    sync.Mutex
	state State
	quiet uint64 // messages set aside since the last log line
}

// broker is a connection to a broker.
type broker interface {
	// receive waits for messages for a limited time; there may be none.
	receive(ctx context.Context) ([]message, error)
	// acknowledge gets the first received messages, and the next ones in later calls.
	acknowledge(ctx context.Context, done []message) error
	// keep copies a message to the dead letters of the source, with the reason.
	keep(ctx context.Context, m message, why string) error
	close()
}

// awayError reports that nothing can be received now, and that the client itself tries to reach its broker again: the client is kept, with the
// broker's knowledge about it.
type awayError struct{ error }

// Unwrap returns the cause.
func (e *awayError) Unwrap() error { return e.error }

// message is a message of a broker.
type message struct {
	cloudevent.Message
	headers map[string][]string // all headers beside the body
	place   string              // its place, for people
	broken  error               // the reason why it is no valid message
	dead    bool                // it is a dead letter that has returned: it is not copied again
	handle  any                 // its identity at the broker
}

// New returns the sources of a file. Nothing is connected until Run. A missing secret is an *eventfile.MissingSecretError.
func New(all []eventfile.Source, c Config) (*Sources, error) {
	if c.ClaimAfter == 0 {
		c.ClaimAfter = time.Minute
	}
	s := &Sources{}
	for _, from := range all {
		password, err := eventfile.Secret("source "+from.Name, from.PasswordSecret, c.Secret)
		if err != nil {
			return nil, err
		}
		f := &feed{Config: c, from: from, told: rate.NewLimiter(rate.Every(time.Second), 20), state: State{Name: from.Name, Kind: from.Kind}, count: atATime}
		f.open = map[string]func(context.Context) (broker, error){
			"redis": func(ctx context.Context) (broker, error) { return f.openRedis(ctx, password) },
			"nats":  func(ctx context.Context) (broker, error) { return openNATS(ctx, from, password) },
			"kafka": func(ctx context.Context) (broker, error) { return openKafka(ctx, from, password) },
			"mqtt":  func(ctx context.Context) (broker, error) { return openMQTT(ctx, from, password) },
		}[from.Kind]
		s.all = append(s.all, f)
	}
	return s, nil
}

// Run reads all sources until ctx ends. It repeats failed connections to brokers.
func (s *Sources) Run(ctx context.Context) error {
	var all errgroup.Group
	for _, f := range s.all {
		all.Go(func() error {
			f.run(ctx)
			return nil
		})
	}
	return all.Wait()
}

// States returns the states of the sources.
func (s *Sources) States() (all []State) {
	for _, f := range s.all {
		f.mu.Lock()
		all = append(all, f.state)
		f.mu.Unlock()
	}
	return all
}

// Findings returns the states of the sources as checks of health.
func (s *Sources) Findings() (found []doctor.Finding) {
	for _, state := range s.States() {
		what := fmt.Sprintf("the source %s (%s) has brought %s", state.Name, state.Kind, terminal.Counted(int(state.Accepted), "event"))
		if state.SetAside > 0 {
			what += fmt.Sprintf("; set aside: %s", terminal.Counted(int(state.SetAside), "message"))
		}
		switch {
		case state.Err != nil:
			found = append(found, doctor.Finding{Code: doctor.CodeSources, Level: doctor.Warning, What: what + "; now: " + state.Err.Error(), Fix: "see whether its broker runs and accepts this client: it is tried again"})
		case !state.Connected:
			found = append(found, doctor.Finding{Code: doctor.CodeSources, Level: doctor.Warning, What: what + "; it is not connected yet"})
		default:
			found = append(found, doctor.Finding{Code: doctor.CodeSources, Level: doctor.OK, What: what})
		}
	}
	return found
}

// mostMessage is the maximum size of a message that is read, in bytes: the largest configurable limit of a server of NATS.
const mostMessage = 64 << 20

const (
	firstPause = 200 * time.Millisecond
	lastPause  = 30 * time.Second
	openWithin = 15 * time.Second
	ackWithin  = 5 * time.Second
)

// run connects and reads, repeatedly until ctx ends.
func (f *feed) run(ctx context.Context) {
	pause := firstPause
	for ctx.Err() == nil {
		worked, err := f.session(ctx)
		if ctx.Err() != nil {
			return
		}
		if errors.Is(err, framing.ErrTooLarge) {
			f.count = max(1, f.count/4)
		}
		f.note(func(s *State) { s.Connected, s.Err = false, err })
		f.Log.Warn("a source of events is tried again", "source", f.from.Name, "kind", f.from.Kind, "error", err)
		if worked {
			pause = firstPause
		}
		rest(ctx, pause)
		pause = min(2*pause, lastPause)
	}
}

func rest(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	}
}

func (f *feed) note(change func(*State)) {
	f.mu.Lock()
	defer f.mu.Unlock()
	change(&f.state)
}

// session reads one connection until it fails or ctx ends; it reports whether anything could be read.
func (f *feed) session(ctx context.Context) (worked bool, err error) {
	within, cancel := context.WithTimeout(ctx, openWithin)
	b, err := f.open(within)
	cancel()
	if err != nil {
		return false, err
	}
	defer b.close()
	f.note(func(s *State) { s.Connected, s.Err = true, nil })
	for ctx.Err() == nil {
		all, err := b.receive(ctx)
		var away *awayError
		if errors.As(err, &away) && ctx.Err() == nil {
			f.note(func(s *State) { s.Connected, s.Err = false, away })
			rest(ctx, firstPause)
			continue
		}
		if err != nil {
			return worked, err
		}
		worked = true
		f.note(func(s *State) { s.Connected, s.Err = true, nil })
		if err := f.take(ctx, b, all); err != nil {
			return worked, err
		}
	}
	return worked, ctx.Err()
}

// publish publishes an event, repeatedly while the store accepts nothing. An error means that this event cannot be accepted, or that ctx ended.
func (f *feed) publish(ctx context.Context, event map[string]any) error {
	if err := cloudevent.Check(event); err != nil {
		return err
	}
	for pause := firstPause; ; pause = min(2*pause, lastPause) {
		err := f.Publish(ctx, event, f.from.Namespaces)
		if err == nil {
			f.note(func(s *State) { s.Err = nil })
			return nil
		}
		if errors.As(err, new(*events.OtherEventError)) || errors.AsError(err) != nil || ctx.Err() != nil {
			return err
		}
		f.note(func(s *State) { s.Err = err })
		f.Log.Warn("an event of a source cannot be stored yet", "source", f.from.Name, "error", err)
		rest(ctx, pause)
	}
}
