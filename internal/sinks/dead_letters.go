package sinks

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/swrun/swrun/errors"
	"github.com/swrun/swrun/internal/doctor"
	"github.com/swrun/swrun/internal/shorten"
	"github.com/swrun/swrun/internal/terminal"
	"github.com/swrun/swrun/runtime/definition"
	"github.com/swrun/swrun/runtime/store"
)

// DeadLetter is an event that a sink has not accepted. The history of its run still contains it.
type DeadLetter struct {
	ID   string `json:"id"` // of the event: the namespace of its run, and the id of the event in the run
	Run  string `json:"run"`
	Type string `json:"type"`
	// Happened is the time of the event. A later run with the same id has other events.
	Happened time.Time `json:"happened"`
	At       time.Time `json:"at"` // time at which the delivery was given up
	Why      string    `json:"why"`
	Again    bool      `json:"again,omitempty"` // it is to be sent again
}

// namespace returns the namespace of its run.
func (l *DeadLetter) namespace() string {
	namespace, _, _ := strings.Cut(l.Run, "/")
	return namespace
}

// event returns the id of the event in its run.
func (l *DeadLetter) event() string {
	_, id, _ := strings.Cut(l.ID, "/")
	return id
}

// maxDeadLetters is the maximum number of dead letters of each sink: all of them are in one entry of the registry.
const maxDeadLetters = 200

// bounded returns the letters that are kept. Above the limit, the oldest letter of the namespace with the most letters is dropped, repeatedly: a
// namespace never pushes out a letter of a namespace with fewer letters.
func bounded(all []DeadLetter) []DeadLetter {
	var namespaces []string // the namespace with the oldest letter first: among namespaces with equal numbers, it loses a letter
	kept := map[string]int{}
	for n := range all {
		of := all[n].namespace()
		if kept[of]++; kept[of] == 1 {
			namespaces = append(namespaces, of)
		}
	}
	forgotten := map[string]int{}
	for range len(all) - maxDeadLetters {
		most := slices.MaxFunc(namespaces, func(a, b string) int { return kept[a] - kept[b] })
		kept[most]--
		forgotten[most]++
	}
	return slices.DeleteFunc(all, func(l DeadLetter) bool {
		of := l.namespace()
		forgotten[of]--
		return forgotten[of] >= 0
	})
}

// kept is the time for which the store keeps a sink without a sender: the sink is removed from the configuration, or its server is gone.
const kept = 90 * 24 * time.Hour

const deadLettersOf = "/dead-letters"

// deadLetters is the entry for the dead letters of a sink.
func deadLetters(sink string) store.RegistryEntry[[]DeadLetter] {
	return store.RegistryEntry[[]DeadLetter]{Kind: store.RegistrySinks, Key: sink + deadLettersOf, For: func(*[]DeadLetter) time.Duration { return kept }}
}

func changeDeadLetters(ctx context.Context, r store.Registry, sink string, change func(*[]DeadLetter) error) ([]DeadLetter, error) {
	return deadLetters(sink).Change(ctx, r, change, func(all *[]DeadLetter) bool { return len(*all) == 0 })
}

// Known is the knowledge of the store about a sink.
type Known struct {
	Name, Kind  string
	Active      bool // a process sends to it
	DeadLetters []DeadLetter
}

// All returns the sinks that a store knows.
func All(ctx context.Context, r store.Registry) (all []Known, err error) {
	entries, err := r.ListRegistered(ctx, store.RegistryList{Kind: store.RegistrySinks})
	if err != nil {
		return nil, err
	}
	for _, found := range entries {
		if name, is := strings.CutSuffix(found.Key, deadLettersOf); is { // it comes after its sink, or after others whose names begin with the name of the sink
			n := slices.IndexFunc(all, func(k Known) bool { return k.Name == name })
			if n < 0 {
				all, n = append(all, Known{Name: name}), len(all)
			}
			if all[n].DeadLetters, err = store.DecodeEntry[[]DeadLetter](store.RegistrySinks, found); err != nil {
				return nil, err
			}
			continue
		}
		e, err := store.DecodeEntry[entry](store.RegistrySinks, found)
		if err != nil {
			return nil, err
		}
		all = append(all, Known{Name: found.Key, Kind: e.Kind, Active: e.Holder != "" && found.At.Before(e.Until)})
	}
	return all, nil
}

// Examine returns the sinks with dead letters of runs that ctx grants, and their numbers, as checks of health.
func Examine(ctx context.Context, r store.Registry) (found []doctor.Finding) {
	all, err := All(ctx, r)
	if err != nil {
		why, fix := definition.GrantedIn(ctx).Failure(err, "")
		return []doctor.Finding{{Code: doctor.CodeSinks, Level: doctor.Warning, What: "the sinks of events cannot be read: " + why, Fix: fix}}
	}
	granted := definition.GrantedIn(ctx)
	for _, k := range all {
		n := 0
		for _, l := range k.DeadLetters {
			if granted.Has(l.namespace()) {
				n++
			}
		}
		if n > 0 {
			found = append(found, doctor.Finding{ // not every viewer of the health may see the names of the runs
				Code: doctor.CodeSinks, Level: doctor.Warning,
				What: fmt.Sprintf("the sink %s has not taken events: %s", k.Name, terminal.Counted(n, "dead letter")),
				Fix:  "swrun sink dead-letters " + k.Name + " says why; swrun sink retry " + k.Name + " sends them again",
			})
		}
	}
	return found
}

// Retry orders the process of a sink to send dead letters again: those with the ids, or all. An unknown id is refused as store.NoSuch.
func Retry(ctx context.Context, r store.Registry, sink string, ids []string) error {
	return choose(ctx, r, sink, ids, func(all *[]DeadLetter, is func(DeadLetter) bool) {
		for n := range *all {
			(*all)[n].Again = (*all)[n].Again || is((*all)[n])
		}
	})
}

// Drop deletes dead letters of a sink: those with the ids, or all. An unknown id is refused as store.NoSuch.
func Drop(ctx context.Context, r store.Registry, sink string, ids []string) error {
	return choose(ctx, r, sink, ids, func(all *[]DeadLetter, is func(DeadLetter) bool) { *all = slices.DeleteFunc(*all, is) })
}

func choose(ctx context.Context, r store.Registry, sink string, ids []string, change func(*[]DeadLetter, func(DeadLetter) bool)) error {
	if _, err := r.Registered(ctx, store.RegistrySinks, sink); err != nil {
		if store.RefusedAs(err) == store.NoSuch {
			return store.Refuse(store.NoSuch, time.Time{}, "sink %s", shorten.Quoted(sink))
		}
		return err
	}
	_, err := changeDeadLetters(ctx, r, sink, func(all *[]DeadLetter) error {
		for _, id := range ids {
			if !slices.ContainsFunc(*all, func(l DeadLetter) bool { return l.ID == id }) {
				return store.Refuse(store.NoSuch, time.Time{}, "dead letter %s of the sink %s", shorten.Quoted(id), sink)
			}
		}
		change(all, func(l DeadLetter) bool { return len(ids) == 0 || slices.Contains(ids, l.ID) })
		return nil
	})
	return err
}

// giveUp makes an event a dead letter, which is logged and counted. It is stored before the position of the sink moves.
func (d *delivery) giveUp(e Event, why error) {
	namespace, _, _ := strings.Cut(e.Run, "/")
	letter := DeadLetter{ID: namespace + "/" + e.ID, Run: e.Run, Type: shorten.To(e.kind(), 200), Happened: e.At, At: time.Now().UTC().Truncate(time.Millisecond), Why: shorten.To(why.Error(), 300)}
	d.Log.Error("a sink has not taken an event, which is a dead letter now", "sink", d.to.Name, "event", e.ID, "run", e.Run, "type", e.kind(), "error", why)
	d.note(func(s *State) { s.DeadLetters, s.Err = s.DeadLetters+1, nil })
	d.mu.Lock()
	defer d.mu.Unlock()
	d.unstored = append(d.unstored, letter)
}

// storeDeadLetters stores the letters that are not stored yet, many in one write, because a sink may refuse everything.
func (s *sink) storeDeadLetters(ctx context.Context) error {
	s.storing.Lock()
	defer s.storing.Unlock()
	s.mu.Lock()
	letters := s.unstored
	s.mu.Unlock()
	if len(letters) == 0 {
		return nil
	}
	all, err := changeDeadLetters(ctx, s.Registry, s.to.Name, func(all *[]DeadLetter) error {
		*all = slices.DeleteFunc(*all, func(l DeadLetter) bool {
			return slices.ContainsFunc(letters, func(n DeadLetter) bool { return n.ID == l.ID })
		})
		*all = bounded(append(*all, letters...))
		return nil
	})
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.unstored, s.state.Last = s.unstored[len(letters):], all
	return nil
}

// mustStoreDeadLetters returns when all are stored. An error means that ctx ended.
func (s *sink) mustStoreDeadLetters(ctx context.Context) error {
	for pause := firstPause; ; pause = min(2*pause, lastPause) {
		err := s.storeDeadLetters(ctx)
		if err == nil {
			return nil
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		s.Log.Warn("the dead letters of a sink cannot be stored, which is tried again", "sink", s.to.Name, "error", err)
		rest(ctx, pause)
	}
}

// resend sends the requested dead letters again, repeatedly until ctx ends.
func (s *sink) resend(ctx context.Context) {
	d := &delivery{sink: s}
	defer d.close()
	for ctx.Err() == nil {
		if err := d.resendAll(ctx); err != nil && ctx.Err() == nil {
			s.Log.Warn("the dead letters of a sink cannot be read or stored", "sink", s.to.Name, "error", err)
		}
		rest(ctx, s.Lease/4)
	}
}

func (d *delivery) resendAll(ctx context.Context) error {
	if err := d.storeDeadLetters(ctx); err != nil {
		return err
	}
	all, _, err := deadLetters(d.to.Name).Load(ctx, d.Registry)
	if err != nil {
		return err
	}
	d.note(func(s *State) { s.Last = all })
	for _, l := range all {
		if !l.Again {
			continue
		}
		if err := d.holds(); err != nil {
			return err
		}
		if err := d.resendOne(ctx, l); err != nil {
			return err
		}
	}
	return nil
}

// resendOne sends a dead letter once. If the sink accepts it, it is deleted. If the sink refuses it, it stays a dead letter. Otherwise it stays
// requested.
func (d *delivery) resendOne(ctx context.Context, l DeadLetter) error {
	e, err := d.Find(ctx, l.Run, l.event())
	switch {
	case store.RefusedAs(err) == store.NoSuch, err == nil && !e.At.Equal(l.Happened):
		err = &refusedError{errors.New("its run is not there any more")}
	case err == nil:
		err = d.try(ctx, e)
	}
	if err != nil && !refused(err) {
		if ctx.Err() == nil {
			d.note(func(s *State) { s.Failed++ })
			d.Log.Warn("a sink does not take an event, which is tried again", "sink", d.to.Name, "event", l.ID, "error", err)
		}
		return nil
	}
	all, failed := changeDeadLetters(ctx, d.Registry, d.to.Name, func(all *[]DeadLetter) error {
		n := slices.IndexFunc(*all, func(o DeadLetter) bool { return o.ID == l.ID })
		switch {
		case n < 0: // an operator has dropped it
		case err == nil:
			*all = slices.Delete(*all, n, n+1)
		default:
			(*all)[n].Again, (*all)[n].At, (*all)[n].Why = false, time.Now().UTC().Truncate(time.Millisecond), shorten.To(err.Error(), 300)
		}
		return nil
	})
	if failed != nil {
		return fmt.Errorf("it cannot be stored what has become of a dead letter: %w", failed)
	}
	d.note(func(s *State) {
		s.Last = all
		if err == nil {
			s.Sent++
		} else {
			s.Failed++
		}
	})
	return nil
}
