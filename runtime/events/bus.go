// Package events delivers CloudEvents to the runs of a deployment that listen for them.
//
// An event is recognised as new by its source and ID. It is then delivered to each listening run, with an ID of its own that the store
// remembers. It counts as published only when all these runs received it. An interrupted publisher publishes it again: no run receives it
// twice.
package events

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
	"golang.org/x/time/rate"

	"github.com/swrun/swrun/expr"
	"github.com/swrun/swrun/interpreter"
	"github.com/swrun/swrun/limits"
	"github.com/swrun/swrun/runtime/inbox"
	"github.com/swrun/swrun/runtime/store"
)

// Bus publishes events. It is safe for use by several goroutines.
type Bus struct {
	store  store.Store
	start  Start
	codes  codes
	groups groups
	asking *asking
	// waiting is how many messages may wait for a run.
	waiting int
	// AtOnce is how many runs an event is delivered to at the same time. It may be changed before the bus is used: with 1, one operation of the
	// store follows the other.
	AtOnce int
	// Places are the places for evaluations of correlations that build much data. If it is nil, their number is not bounded.
	Places *expr.Places
	// recent limits the number of events kept to explain why they did not match.
	recent *rate.Limiter
	// unmatched limits the number of kept events that matched no run.
	unmatched unmatchedLimit
}

// Start starts the runs of an audience that an event starts. Doing it again starts nothing more.
type Start func(ctx context.Context, e Event, to Audience) (Started, error)

// Event is an event to be delivered to the schedules that it starts.
type Event struct {
	Key        string // by which it is known
	Attributes map[string]any
	Cause      *store.Instance // the first of the runs that have led to it; nil if none has
}

// Started is a run that an event started.
type Started struct {
	Runs  []store.Instance
	Waits bool // it is kept until other events arrive, with which it starts a run
	// Refused are the schedules that take the event and started nothing.
	Refused []Refused
}

// NewBus returns the bus of a deployment. bounds limit the number of messages that may wait for a run.
func NewBus(s store.Store, start Start, bounds limits.Set) *Bus {
	return &Bus{store: s, start: start, AtOnce: atOnce, recent: newRecentLimit(), unmatched: newUnmatchedLimit(), asking: newAsking(s), waiting: bounds.Max(limits.Waiting)}
}

// Report lists the receivers of an event.
type Report struct {
	Matched  []store.Instance // runs that got it, by their names, as all of these are; whether their tasks consume it is for them to find out
	Full     []store.Instance // runs that listen for it and did not get it: as much waits for them already as may
	Started  []store.Instance // by it
	Waits    bool             // it is kept until other events arrive, with which it starts a run
	Refused  []Refused        // schedules that take it and started nothing
	Repeated bool             // it was published before; no run received it again
}

// OtherEventError reports that another event was published with the same source and ID.
type OtherEventError struct{ Source, ID string }

// OtherEventHelp is the remedy, also if it was one of several events.
const OtherEventHelp = "an event is known by its source and id; to publish the others again changes nothing"

// Error returns the message.
func (e *OtherEventError) Error() string {
	return fmt.Sprintf("another event was published as %s of the source %s: give each event an id of its own", e.ID, e.Source)
}

// published is the record of an event, kept for a day.
type published struct {
	Digest string `json:"digest"`         // of the event
	Done   bool   `json:"done,omitempty"` // all runs received it
}

// Publish delivers a structured CloudEvent, which was checked, to those runs of an audience that listen for it.
func (b *Bus) Publish(ctx context.Context, event map[string]any, to Audience) (Report, error) {
	return b.PublishOf(ctx, event, to, nil)
}

// PublishOf is Publish for an event of a run. Cause is the first of the runs that have led to it.
func (b *Bus) PublishOf(ctx context.Context, event map[string]any, to Audience, cause *store.Instance) (Report, error) {
	known, err := b.find(ctx, event, to)
	if err != nil || known.Done {
		return Report{Repeated: known.Done}, err
	}
	var heard listenedFor
	d := b.delivery(known.id, event, to, &heard)
	d.cause = cause
	report, err := b.deliver(ctx, d)
	if err != nil {
		return report, err
	}
	noted, err := b.note(ctx, known.entry, published{Digest: known.Digest, Done: true}, known.version)
	if store.RefusedAs(err) == store.Conflict {
		return report, nil // the same, by another publisher
	}
	if err == nil {
		b.keep(ctx, d, noted.At)
		b.keepUnmatched(ctx, d, &report, noted.At)
	}
	return report, err
}

// known is an event that is noted.
type known struct {
	published
	id      string // by which runs know it: the same for every audience, so that none gets it twice
	entry   store.RegistryEntry[published]
	version int64 // of the entry
}

// find finds out whether an event was published to an audience before, and notes it if it is new.
func (b *Bus) find(ctx context.Context, event map[string]any, to Audience) (known, error) {
	id, digest, err := identify(event)
	if err != nil {
		return known{}, err
	}
	if to != nil { // a delivery to all namespaces includes these
		before, _, err := entryOf(id).Load(ctx, b.store)
		if err != nil || before.Done {
			return known{published: before}, cmp.Or(err, before.check(event, digest))
		}
	}
	key, err := to.key(id)
	if err != nil {
		return known{}, fmt.Errorf("encode the audience of the event: %w", err)
	}
	k := known{published: published{Digest: digest}, id: id, entry: entryOf(key)}
	noted, err := b.note(ctx, k.entry, published{Digest: digest}, 0)
	if store.RefusedAs(err) != store.Conflict {
		k.version = noted.Version
		return k, err
	}
	if k.published, k.version, err = k.entry.Load(ctx, b.store); err != nil {
		return known{}, err
	}
	if k.Digest == "" {
		return b.find(ctx, event, to) // a day has passed since
	}
	return k, k.check(event, digest)
}

func entryOf(key string) store.RegistryEntry[published] {
	return store.RegistryEntry[published]{Kind: store.RegistryEvents, Key: key}
}

// check returns an error if another event is known.
func (p published) check(event map[string]any, digest string) error {
	if p.Digest == digest {
		return nil
	}
	source, _ := event["source"].(string)
	id, _ := event["id"].(string)
	return &OtherEventError{source, id}
}

// identify returns the identity of the event, and a digest of its content.
func identify(event map[string]any) (known, digest string, err error) {
	text, err := expr.Encode(event)
	if err != nil {
		return "", "", fmt.Errorf("write the event: %w", err)
	}
	id, err := expr.Encode([]any{event["source"], event["id"]})
	if err != nil {
		return "", "", fmt.Errorf("write the id of the event: %w", err)
	}
	return hash(id), hash(text), nil
}

func hash(data []byte) string {
	sum := sha256.Sum256(data)
	return base64.RawURLEncoding.EncodeToString(sum[:18])
}

func (b *Bus) note(ctx context.Context, e store.RegistryEntry[published], p published, version int64) (store.Registered, error) {
	data, err := store.EncodeEntry(store.RegistryEvents, p)
	if err != nil {
		return store.Registered{}, fmt.Errorf("encode the record of the event: %w", err)
	}
	return b.store.Register(ctx, store.Registration{Kind: e.Kind, Key: e.Key, Value: data, Version: version, For: store.Remembered})
}

// delivery is an event on its way to its listeners.
type delivery struct {
	id      string // that it is known by
	event   map[string]any
	to      Audience
	cause   *store.Instance
	heard   *listenedFor              // is found out
	types   []store.ListenType        // of the filters that may lead to listeners
	known   []interpreter.EventFilter // filters with correlations that may lead to listeners, without their keys
	filters []store.ListenFilter      // that are asked for in each partition
}

func (d *delivery) kind() string {
	kind, _ := d.event["type"].(string)
	return kind
}

// delivery prepares the delivery of an event. Known filters with correlations are queried immediately.
func (b *Bus) delivery(id string, event map[string]any, to Audience, heard *listenedFor) delivery {
	d := delivery{id: id, event: event, to: to, heard: heard}
	d.types = to.types(d.kind())
	d.known = b.groups.of(d.types)
	d.filters = append(withoutExpressions(d.types), b.correlated(event, d.known)...)
	return d
}

// withoutExpressions returns the filters of some types that correlate nothing.
func withoutExpressions(types []store.ListenType) (all []store.ListenFilter) {
	for _, t := range types {
		all = append(all, store.ListenFilter{EventFilter: interpreter.EventFilter{Type: t.Type}, Namespace: t.Namespace})
	}
	return all
}

// deliver delivers an event to all listeners, and starts the runs that it starts.
func (b *Bus) deliver(ctx context.Context, d delivery) (report Report, err error) {
	if err = b.reachAll(ctx, d, &report); err != nil {
		return report, err
	}
	started, err := b.start(ctx, Event{Key: d.id, Attributes: d.event, Cause: d.cause}, d.to)
	report.Started, report.Waits, report.Refused = started.Runs, started.Waits, started.Refused
	return report, err
}

// reachAll delivers an event to all listeners, and reports which of them received it and which did not.
func (b *Bus) reachAll(ctx context.Context, d delivery, report *Report) error {
	message := func(at time.Time) store.Message {
		m, err := inbox.Message{Type: interpreter.EventArrived, CloudEvent: &interpreter.Value{V: d.event}, At: at}.Encode()
		if err != nil {
			panic(err) // it was encoded before
		}
		return m
	}
	var listening []store.Instance
	if err := b.listeners(ctx, d, func(i store.Instance) { listening = append(listening, i) }); err != nil {
		return err
	}
	var mu sync.Mutex
	all, ctx := errgroup.WithContext(ctx)
	all.SetLimit(b.AtOnce)
	for _, i := range listening {
		all.Go(func() error {
			err := b.reach(ctx, store.Delivery{To: i, ID: "event " + d.id + " " + i.String(), MessageAt: message, Most: b.waiting})
			mu.Lock()
			defer mu.Unlock()
			switch store.RefusedAs(err) {
			case store.Closed, store.NoSuch: // the run ended in the meantime
				return nil
			case store.Limit:
				report.Full = append(report.Full, i)
				return nil
			}
			if err == nil {
				report.Matched = append(report.Matched, i)
			}
			return err
		})
	}
	err := all.Wait()
	for _, runs := range [][]store.Instance{report.Matched, report.Full} {
		slices.SortFunc(runs, func(a, b store.Instance) int { return strings.Compare(a.String(), b.String()) })
	}
	return err
}

// reach delivers an event to a run.
func (b *Bus) reach(ctx context.Context, d store.Delivery) error {
	err := b.store.Deliver(ctx, d)
	for store.RefusedAs(err) == store.TimedOut && ctx.Err() == nil { // storing it took too long for the time that it contains
		err = b.store.Deliver(ctx, d)
	}
	return err
}

// pageOfListeners is the maximum number of runs of a partition in one query.
const pageOfListeners = 500

// listeners calls found once for each run that may consume an event. Unknown filters with correlations are queried when the answer contains
// them.
func (b *Bus) listeners(ctx context.Context, d delivery, found func(store.Instance)) error {
	known := map[store.Instance]bool{}
	once := func(i store.Instance) {
		if !known[i] && d.to.Has(i.Namespace) {
			known[i] = true
			found(i)
		}
	}
	answer, err := b.asking.listeners(ctx, d.types, d.filters)
	if err != nil {
		return err
	}
	d.heard.note(answer.From)
	if err := b.pages(ctx, d.filters, answer, once); err != nil {
		return err
	}
	others := b.correlated(d.event, b.groups.learn(answer.From, d.known))
	if len(others) == 0 {
		return nil
	}
	if answer, err = b.asking.listeners(ctx, d.types, others); err != nil {
		return err
	}
	return b.pages(ctx, others, answer, once)
}

// pages calls found for each run in an answer about filters, and for the runs of further pages.
func (b *Bus) pages(ctx context.Context, filters []store.ListenFilter, answer store.Listeners, found func(store.Instance)) error {
	for _, some := range answer.Runs {
		for runs := some.Runs; len(runs) > 0; {
			for _, i := range runs {
				found(i)
			}
			if len(runs) < pageOfListeners {
				break
			}
			next, err := b.store.Listeners(ctx, store.Listening{
				Partitions: []int{some.Partition}, Filters: []store.ListenFilter{filters[some.Filter]}, After: runs[len(runs)-1], N: pageOfListeners,
			})
			if err != nil {
				return err
			}
			if runs = nil; len(next.Runs) > 0 {
				runs = next.Runs[0].Runs
			}
		}
	}
	return nil
}

// atOnce is the default of AtOnce.
const atOnce = 128
