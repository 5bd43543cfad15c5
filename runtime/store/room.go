package store

import (
	"fmt"
	"strings"
	"time"
)

// This file limits the number of entries of each kind that can be listed.

// MaxRegistered is the maximum number of entries of a kind that can be listed. It is also the maximum number of schedules of a namespace.
const MaxRegistered = 10_000

// maxSchedules is the maximum number of schedules of all namespaces together. A namespace holds at most as many of them as are free. So a
// single namespace holds at most MaxRegistered, and a full namespace leaves places for others.
const maxSchedules = 2 * MaxRegistered

// Room is the room for a new entry.
type Room struct {
	Kind      RegistryKind
	Namespace string // to which the entry belongs; empty for an entry of the whole deployment
	Max       int64  // maximum number of entries of the kind
}

// Room returns the room for the entry.
func (r *Registration) Room() Room {
	if r.Kind != RegistrySchedules {
		return Room{Kind: r.Kind, Max: MaxRegistered}
	}
	namespace, _, found := strings.Cut(r.Key, "/")
	if !found {
		namespace = ""
	}
	return Room{r.Kind, namespace, maxSchedules}
}

// Prefix returns the prefix of the keys of all entries of the namespace; empty without a namespace.
func (r *Room) Prefix() string {
	if r.Namespace == "" {
		return ""
	}
	return r.Namespace + "/"
}

// Full reports whether all entries of the kind, and those of the namespace among them, leave no room for one more. With fewer than
// MaxRegistered entries there is room, so that nobody needs to count the entries of the namespace.
func (r *Room) Full(all, own int64) bool {
	if r.Namespace == "" {
		return all >= r.Max
	}
	return all >= MaxRegistered && own >= r.Max-all
}

// Refuse refuses an entry for which there is no room.
func (r *Room) Refuse(all, own int64, at time.Time) error {
	if r.Namespace == "" {
		return Refuse(Limit, at, "more than %d %s", r.Max, r.Kind)
	}
	const reason = "has %d schedules, and a namespace has at most half of the %d places that the others leave. Remove workflows with schedules that are no longer needed"
	return &Refusal{Code: Limit, Detail: "the namespace " + r.Namespace, Reason: fmt.Sprintf(reason, own, r.Max-all+own), At: at}
}
