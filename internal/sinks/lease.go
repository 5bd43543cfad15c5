package sinks

import (
	"context"
	"crypto/rand"
	"fmt"
	"time"

	"github.com/swrun/swrun/errors"
	"github.com/swrun/swrun/runtime/store"
)

// entry is the entry of a sink in the registry.
type entry struct {
	Kind     string    `json:"kind"`
	Position string    `json:"position"`
	Holder   string    `json:"holder,omitempty"` // the process that sends; empty for none
	Until    time.Time `json:"until,omitzero"`   // by the store's clock
}

// held is the knowledge of a process about a sink that it holds; the mutex of the sink guards it.
type held struct {
	holder   string
	version  int64
	position string
	until    time.Time // by the clock of this process: it sends nothing afterwards
	stored   time.Time // a time of the store
	here     time.Time // not later than that, by the clock of this process
}

// lag is longer than the delay of the time of a written event behind the time of the store.
const lag = 2 * time.Second

var errLost = errors.New("another process sends to the sink now")

// take takes the sink if no process holds it.
func (s *sink) take(ctx context.Context) (bool, error) {
	var known entry
	var version int64
	now := time.Time{}
	r, err := s.Registry.Registered(ctx, store.RegistrySinks, s.to.Name)
	switch {
	case store.RefusedAs(err) == store.NoSuch:
	case err != nil:
		return false, err
	default:
		if known, err = store.DecodeEntry[entry](store.RegistrySinks, r); err != nil {
			return false, err
		}
		version, now = r.Version, r.At
	}
	if known.Holder != "" && now.Before(known.Until) {
		return false, nil
	}
	s.mu.Lock()
	s.unstored = nil // these events are sent again
	s.held = held{holder: rand.Text(), version: version, position: known.Position, stored: now, here: time.Now()}
	s.mu.Unlock()
	if err := s.hold(ctx); err != nil {
		if code := store.RefusedAs(err); code == store.Conflict || code == store.NoSuch {
			err = nil // another process was faster
		}
		return false, err
	}
	s.note(func(state *State) { state.Holds, state.Err = true, nil })
	return true, nil
}

// hold stores that this process sends. The events of a new sink begin now; this is stored before the first of them.
func (s *sink) hold(ctx context.Context) error {
	if s.held.version == 0 { // this returns the time of the store
		if err := s.store(ctx, 0); err != nil {
			return err
		}
	}
	if s.position() == "" {
		s.move(s.PositionAt(s.storedUntil()))
	}
	return s.store(ctx, s.Lease)
}

// store stores the position of the sink, and that this process holds it for a while; 0 means that no process holds it.
func (s *sink) store(ctx context.Context, hold time.Duration) error {
	began := time.Now()
	s.mu.Lock()
	e, version := entry{Kind: s.to.Kind, Position: s.held.position}, s.held.version
	if hold > 0 {
		e.Holder, e.Until = s.held.holder, s.held.stored.Add(began.Sub(s.held.here)+hold)
	}
	s.mu.Unlock()
	value, err := store.EncodeEntry(store.RegistrySinks, e)
	if err != nil {
		return err
	}
	r, err := s.Registry.Register(ctx, store.Registration{Kind: store.RegistrySinks, Key: s.to.Name, Value: value, Version: version, For: kept})
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.held.version, s.held.stored, s.held.here, s.held.until = r.Version, r.At, began, began.Add(hold)
	return nil
}

// holds returns an error if another process may send already.
func (s *sink) holds() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !time.Now().Before(s.held.until) {
		return errLost
	}
	return nil
}

// renew repeatedly stores the position of the sink; a failure to store it in time ends the session.
func (s *sink) renew(ctx context.Context, end context.CancelCauseFunc) {
	for {
		rest(ctx, s.Lease/4)
		if ctx.Err() != nil {
			return
		}
		within, cancel := context.WithTimeout(ctx, s.Lease/4)
		err := s.store(within, s.Lease)
		cancel()
		code := store.RefusedAs(err)
		if code == store.Conflict || code == store.NoSuch {
			end(errLost)
			return
		}
		s.mu.Lock()
		left := time.Until(s.held.until)
		s.mu.Unlock()
		if err != nil && left < s.Lease/2 {
			end(fmt.Errorf("it cannot be stored how far the sink has come: %w", err))
			return
		}
	}
}

// release stores the position of the sink, and releases it.
func (s *sink) release(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	if err := s.store(ctx, 0); err != nil && store.RefusedAs(err) != store.Conflict {
		s.Log.Warn("it cannot be stored how far a sink has come: some events are sent again", "sink", s.to.Name, "error", err)
	}
	s.note(func(state *State) { state.Holds, state.Waiting = false, time.Time{} })
}

func (s *sink) position() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.held.position
}

// storedUntil returns a time of the store before which all events are stored.
func (s *sink) storedUntil() time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.held.stored.Add(-lag)
}

// move notes the position of the sink. It is stored with the next renewal.
func (s *sink) move(position string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.held.position = position
}
