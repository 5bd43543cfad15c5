// Package sinks sends the lifecycle events of a deployment, and the events that its workflows emit, to webhooks, to streams of Redis, to NATS
// JetStream, to Kafka, and to standard output: each event at least once, the events of one run in their order. The store contains the position of
// each sink, so that any process can continue there after a restart; one process at a time sends to a sink. Runs do not depend on sinks, so that no
// sink delays them.
package sinks

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/swrun/swrun/internal/cloudevent"
	"github.com/swrun/swrun/internal/doctor"
	"github.com/swrun/swrun/internal/eventfile"
	"github.com/swrun/swrun/internal/terminal"
	"github.com/swrun/swrun/runtime/store"
)

// Event is a lifecycle event of a run, or an event that the run emits.
type Event struct {
	Position string    // for continuing after it; several events may have the same position
	ID       string    // id of the event in its run; the same each time that it is sent
	Name     string    // of the type of a lifecycle event, such as task.faulted
	Emitted  bool      // by the run
	At       time.Time // time of the event
	Run      string    // namespace/id
	Data     []byte    // the CloudEvent as JSON
}

// Following is the request of a sink for events.
type Following struct {
	Namespaces []string // none for all
	AllTypes   bool     // includes the changes of states
	From       string   // a position
	Take       func([]Event) error
	CaughtUp   func() error // called when all events from the position that were stored before have been taken
}

// Config contains the parts that sinks need of their host.
type Config struct {
	// Follow passes events until Take returns an error or ctx ends, the events of one run in order.
	Follow func(context.Context, Following) error
	// PositionAt returns the position of the events that are stored from a time of the store on.
	PositionAt func(time.Time) string
	// Find returns an event of a run, namespace/id, by its ID; a deleted event is refused as store.NoSuch.
	Find      func(ctx context.Context, run, id string) (Event, error)
	Registry  store.Registry
	Secret    func(name string) (any, bool)
	Transport http.RoundTripper // of webhooks: it enforces the network policy
	Out       io.Writer         // of stdout
	Log       *slog.Logger
	Lease     time.Duration // time after the loss of a process until another one sends; 0 for 20 s
	Within    time.Duration // time limit of a sink for one event; 0 for 15 s
}

// State is the state of a sink in this process.
type State struct {
	Name, Kind  string
	Holds       bool   // this process sends to it
	Err         error  // the current fault of the sink or of the store
	Sent        uint64 // events
	Failed      uint64 // attempts
	DeadLetters uint64 // events that this process gave up
	Last        []DeadLetter
	Waiting     time.Time // time of the oldest event in hand; zero for none
}

// Sinks are the sinks of one process. Several goroutines may use them.
type Sinks struct{ all []*sink }

// sink is one of the sinks.
type sink struct {
	Config
	to     eventfile.Sink
	secret string // its password or token

	storing sync.Mutex // held while dead letters are stored

	mu       sync.Mutex
	state    State
	held     held
	unstored []DeadLetter // each stays here until it is stored
}

// New returns the sinks of a file. Nothing is connected until Run. A missing secret is an *eventfile.MissingSecretError.
func New(all []eventfile.Sink, c Config) (*Sinks, error) {
	if c.Lease == 0 {
		c.Lease = 20 * time.Second
	}
	if c.Within == 0 {
		c.Within = 15 * time.Second
	}
	s := &Sinks{}
	for _, to := range all {
		one := &sink{Config: c, to: to, state: State{Name: to.Name, Kind: to.Kind}}
		var err error
		if one.secret, err = eventfile.Secret("sink "+to.Name, cmp.Or(to.PasswordSecret, to.TokenSecret), c.Secret); err != nil {
			return nil, err
		}
		s.all = append(s.all, one)
	}
	return s, nil
}

// Run sends events until ctx ends. It repeats failed deliveries.
func (s *Sinks) Run(ctx context.Context) error {
	var all errgroup.Group
	for _, one := range s.all {
		all.Go(func() error {
			one.run(ctx)
			return nil
		})
	}
	return all.Wait()
}

// States returns the states of the sinks.
func (s *Sinks) States() (all []State) {
	for _, one := range s.all {
		one.mu.Lock()
		all = append(all, one.state)
		one.mu.Unlock()
	}
	return all
}

// Findings returns the states of the sinks as checks of health.
func (s *Sinks) Findings() (found []doctor.Finding) {
	for _, state := range s.States() {
		f := doctor.Finding{Code: doctor.CodeSinks, Level: doctor.OK, What: fmt.Sprintf("the sink %s (%s) has taken %s", state.Name, state.Kind, terminal.Counted(int(state.Sent), "event"))}
		if !state.Holds {
			f.What += "; this process does not send to it now"
		}
		if state.Err != nil {
			f.Level, f.Fix = doctor.Warning, "see whether it is there and accepts events: they wait in the store, and are tried again"
			f.What += "; now: " + state.Err.Error()
		}
		found = append(found, f)
	}
	return found
}

const (
	firstPause = 200 * time.Millisecond
	lastPause  = 30 * time.Second
)

func rest(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	}
}

func (s *sink) note(change func(*State)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	change(&s.state)
}

// run sends events until ctx ends, whenever no other process does.
func (s *sink) run(ctx context.Context) {
	for ctx.Err() == nil {
		ok, err := s.take(ctx)
		switch {
		case ctx.Err() != nil:
		case err != nil:
			s.note(func(state *State) { state.Err = err })
			s.Log.Warn("a sink cannot ask the store how far it has come", "sink", s.to.Name, "error", err)
		case ok:
			s.session(ctx)
			continue
		}
		rest(ctx, s.Lease/4)
	}
}

// kind returns the type of the event.
func (e *Event) kind() string {
	if !e.Emitted {
		return cloudevent.LifecycleType(e.Name)
	}
	var event struct{ Type string }
	_ = json.Unmarshal(e.Data, &event) // it was checked before it was emitted
	return event.Type
}

// wants reports whether the sink accepts an event.
func (s *sink) wants(e *Event) bool {
	if e.Emitted && s.to.Events == eventfile.SinkLifecycle || !e.Emitted && s.to.Events == eventfile.SinkEmitted {
		return false
	}
	if len(s.to.Types) == 0 {
		return true
	}
	kind := e.kind()
	for _, prefix := range s.to.Types {
		if strings.HasPrefix(kind, prefix) {
			return true
		}
	}
	return false
}

// session sends events while the sink is held, from its position.
func (s *sink) session(ctx context.Context) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var beside sync.WaitGroup
	beside.Go(func() { s.renew(ctx, cancel) })
	beside.Go(func() { s.resend(ctx) })
	d := &delivery{sink: s}
	for pause := firstPause; ctx.Err() == nil; pause = min(2*pause, lastPause) {
		before := s.position()
		stored := s.storedUntil()
		err := s.Follow(ctx, Following{
			Namespaces: s.to.Namespaces, AllTypes: len(s.to.Types) > 0, From: before,
			Take:     func(all []Event) error { return d.take(ctx, all) },
			CaughtUp: func() error { s.move(s.PositionAt(stored)); return nil },
		})
		if ctx.Err() == nil {
			s.Log.Info("a sink follows the events again", "sink", s.to.Name, "reason", err)
			if s.position() != before {
				pause = firstPause
			}
			rest(ctx, pause)
		}
	}
	d.close()
	cancel(nil)
	beside.Wait()
	s.release(context.WithoutCancel(ctx))
}
