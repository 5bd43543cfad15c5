package store

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// Registry keeps the small things of a deployment that change and belong to no run: tokens, settings, queues, the workers that are there.
// They do not expire early or late by any clock but the store's. Nothing of it makes work for the workers that poll.
type Registry interface {
	// Register stores an entry if the version that it replaces is the expected one. Otherwise it is refused as a Conflict. An entry that is
	// too large or exceeds the number of its kind is refused as a Limit, and an invalid key or value as Invalid.
	Register(context.Context, Registration) (Registered, error)
	// Unregister deletes an entry if it has the version; AnyVersion matches every version. Another version is refused as a Conflict.
	// Deleting a missing entry succeeds.
	Unregister(ctx context.Context, kind RegistryKind, key string, version int64) error
	// Registered returns an entry. A missing or expired entry is refused as NoSuch.
	Registered(ctx context.Context, kind RegistryKind, key string) (Registered, error)
	// ListRegistered returns entries of a kind in the order of their keys.
	ListRegistered(context.Context, RegistryList) ([]Registered, error)
}

// RegistryKind is the kind of an entry of the registry. This list is complete.
type RegistryKind string

// The kinds.
const (
	RegistryTokens   RegistryKind = "tokens"   // tokens for the HTTP API
	RegistrySettings RegistryKind = "settings" // of the deployment and of its namespaces
	RegistryQueues   RegistryKind = "queues"   // decisions about task queues
	RegistryWorkers  RegistryKind = "workers"  // workers that are present
	RegistryReplies  RegistryKind = "replies"  // to requests that may be repeated; too many to be listed
	RegistryEvents   RegistryKind = "events"   // that were published; too many to be listed
	RegistryForks    RegistryKind = "forks"    // which runs were forked from a run; too many to be listed
	// RegistrySchedules are the schedules of workflows.
	RegistrySchedules RegistryKind = "schedules"
	// RegistrySinks records for each sink up to which event and by which server events were sent.
	RegistrySinks    RegistryKind = "sinks"
	RegistryGathered RegistryKind = "gathered" // events that wait for others to start a run with; too many to be listed
	// RegistryFunctions are the functions of the default catalog, each with its files.
	RegistryFunctions RegistryKind = "functions"
	// RegistryDeployments records who deployed a definition. There are too many to be listed.
	RegistryDeployments RegistryKind = "deployments"
	// RegistryAudit are changes that were not yet written to a log.
	RegistryAudit RegistryKind = "audit"
	// RegistryLetters lists the messages of each source of events that could not be published.
	RegistryLetters RegistryKind = "letters"
	// RegistryContents are the contents of such messages. There are too many to be listed.
	RegistryContents RegistryKind = "contents"
	// RegistryUnmatched are events that matched no run.
	RegistryUnmatched RegistryKind = "unmatched"
	// RegistryAcknowledged are groups of trouble that a user acknowledged.
	RegistryAcknowledged RegistryKind = "acknowledged"
	// RegistryLate is of the reports about activities that came too late and are noted; too many to be listed.
	RegistryLate RegistryKind = "late"
	// RegistryKeys are the keys with which servers sign data that they hand out and later receive back.
	RegistryKeys RegistryKind = "keys"
)

// RegistryKinds returns all kinds.
func RegistryKinds() []RegistryKind {
	return []RegistryKind{RegistryTokens, RegistrySettings, RegistryQueues, RegistryWorkers, RegistryReplies, RegistryEvents, RegistryForks, RegistrySchedules, RegistrySinks, RegistryGathered, RegistryFunctions, RegistryDeployments, RegistryAudit, RegistryLetters, RegistryContents, RegistryUnmatched, RegistryAcknowledged, RegistryLate, RegistryKeys}
}

// Listed reports whether the entries of a kind can be listed, so that their number is limited (Room). The others are spread over all partitions.
func (k RegistryKind) Listed() bool {
	return k != RegistryReplies && k != RegistryEvents && k != RegistryForks && k != RegistryGathered && k != RegistryDeployments && k != RegistryContents && k != RegistryLate
}

// The bounds of the registry.
const (
	MaxRegistryKey   = 256     // bytes
	MaxRegistryValue = 1 << 20 // bytes
)

// AnyVersion stands for whatever version is there, also none.
const AnyVersion int64 = -1

// Registration is an entry to store.
type Registration struct {
	Kind    RegistryKind
	Key     string
	Value   []byte
	Version int64         // version of the replaced entry; 0 if there must be no entry
	For     time.Duration // lifetime; 0 for unlimited
}

// Registered is an entry as it is stored.
type Registered struct {
	Key     string
	Value   []byte
	Version int64     // changes with each change of the entry; a key never gets the same version twice
	Ends    time.Time // by the store's clock; zero for never
	At      time.Time // when it was read or stored, the same
	Damaged error     // of an entry of a list: why it cannot be read; nothing but its key is known then
}

// Gone reports whether the entry is not there any more.
func (r *Registered) Gone(now time.Time) bool { return reached(r.Ends, now) }

// RegistryList asks for entries of a kind.
type RegistryList struct {
	Kind   RegistryKind
	Prefix string // of their keys
	After  string // a key; empty for the first
	N      int    // at most; 0 for all
}

// Has reports whether an entry with a key is asked for, but for how many there may be.
func (l *RegistryList) Has(key string) bool {
	return strings.HasPrefix(key, l.Prefix) && (l.After == "" || key > l.After)
}

// Select returns the entries that the request matches, in order.
func (l *RegistryList) Select(all []Registered, now time.Time) []Registered {
	all = slices.DeleteFunc(all, func(r Registered) bool { return r.Gone(now) || !l.Has(r.Key) })
	slices.SortFunc(all, func(a, b Registered) int { return strings.Compare(a.Key, b.Key) })
	if l.N > 0 && len(all) > l.N {
		all = all[:l.N]
	}
	for n := range all {
		all[n].At = now
	}
	return all
}

// Check reports why entries cannot be listed so.
func (l *RegistryList) Check() error {
	if err := l.Kind.check(); err != nil {
		return err
	}
	if !l.Kind.Listed() {
		return &Refusal{Code: Invalid, Detail: "a list of " + string(l.Kind)}
	}
	return nil
}

func (k RegistryKind) check() error {
	if !slices.Contains(RegistryKinds(), k) {
		return &Refusal{Code: Invalid, Detail: fmt.Sprintf("%q", string(k)), Reason: "is no kind of entry of the registry"}
	}
	return nil
}

// CheckKey reports why an entry cannot have a key.
func (k RegistryKind) CheckKey(key string) error {
	if err := k.check(); err != nil {
		return err
	}
	name := fmt.Sprintf("the key %q of %s", key, k)
	switch {
	case key == "":
		return &Refusal{Code: Invalid, Detail: "an empty key of " + string(k)}
	case len(key) > MaxRegistryKey:
		return &Refusal{Code: Limit, Detail: name, Reason: fmt.Sprintf("has %d bytes, and at most %d are allowed", len(key), MaxRegistryKey)}
	case !utf8.ValidString(key) || strings.ContainsFunc(key, func(r rune) bool { return !unicode.IsGraphic(r) || unicode.IsSpace(r) || r == '{' || r == '}' }):
		return &Refusal{Code: Invalid, Detail: name, Reason: "must be visible characters without spaces and braces"}
	}
	return nil
}

// Check reports why an entry cannot be stored.
func (r *Registration) Check() error {
	if err := r.Kind.CheckKey(r.Key); err != nil {
		return err
	}
	name := r.name()
	switch {
	case len(r.Value) == 0:
		return &Refusal{Code: Invalid, Detail: name + " without a value"}
	case len(r.Value) > MaxRegistryValue:
		return &Refusal{Code: Limit, Detail: name, Reason: fmt.Sprintf("has %d bytes, and at most %d are allowed", len(r.Value), MaxRegistryValue)}
	case r.Version < AnyVersion:
		return &Refusal{Code: Invalid, Detail: fmt.Sprintf("the version %d of %s", r.Version, name)}
	case r.For < 0:
		return &Refusal{Code: Invalid, Detail: fmt.Sprintf("%s for %s", name, r.For)}
	}
	return nil
}

// name returns the name of the entry in refusals.
func (r *Registration) name() string { return r.Kind.EntryName(r.Key) }

// EntryName returns the name of an entry in refusals.
func (k RegistryKind) EntryName(key string) string {
	return fmt.Sprintf("the entry %s of %s", key, k)
}

// Ends returns when the entry expires if it is stored at a time; zero for never.
func (r *Registration) Ends(now time.Time) time.Time {
	if r.For == 0 {
		return time.Time{}
	}
	return Moment(Millis(now.Add(r.For)))
}

// Partition returns which of n partitions stores an entry. Kinds that can be listed in one call are stored in a single partition, other
// kinds by key.
func (k RegistryKind) Partition(key string, n int) int {
	if k.Listed() {
		key = ""
	}
	return Instance{Namespace: string(k), ID: key}.Partition(n)
}
