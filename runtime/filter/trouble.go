package filter

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"
	"time"

	"github.com/swrun/swrun/interpreter"
	"github.com/swrun/swrun/runtime/store"
)

// This file groups runs with the same trouble, and determines whether the trouble is acknowledged.

// TroubleGroup is runs that go wrong in the same way: with the same error, in the same task of the same workflow, calling the same host.
type TroubleGroup struct {
	Trouble  string `json:"e"` // the type of the error, as people call it, or quarantined
	Workflow string `json:"w"` // namespace/name:version
	Task     string `json:"t,omitempty"`
	Host     string `json:"h,omitempty"`
}

// Key returns the key of the group.
func (g TroubleGroup) Key() string {
	sum := sha256.Sum256([]byte(strings.Join([]string{g.Trouble, g.Workflow, g.Task, g.Host}, "\x00")))
	return hex.EncodeToString(sum[:5])
}

// Namespace returns the namespace of the group's workflow, and of its runs.
func (g TroubleGroup) Namespace() string {
	namespace, _, _ := strings.Cut(g.Workflow, "/")
	return namespace
}

// TroubleGroup returns the group of a run in trouble. Of other runs, ok is false.
func (r *Run) TroubleGroup() (g TroubleGroup, ok bool) {
	if r.Attention() == "" {
		return g, false
	}
	t := r.trouble()
	g = TroubleGroup{Workflow: r.Invocation.Workflow.String(), Task: t.Task, Host: t.Host}
	if kind := troubleOf(r); len(kind) > 0 {
		g.Trouble = kind[0]
	}
	return g, true
}

// Acknowledgement records that a user knows of a group of trouble.
type Acknowledgement struct {
	Group TroubleGroup `json:"g"`
	// Through is the latest beginning of trouble in the group at that time. Later trouble is not acknowledged.
	Through time.Time `json:"u"`
	At      time.Time `json:"a"` // by the clock of the process that was asked
	Actor   string    `json:"b,omitempty"`
	Reason  string    `json:"r,omitempty"`
}

// Covers reports whether the trouble of a run of the group began before the acknowledgement.
func (a *Acknowledgement) Covers(r *Run) bool { return a != nil && !r.Since().After(a.Through) }

const (
	fieldGroup        = "group"
	fieldAcknowledged = "acknowledged"
)

// ReadsAcknowledged reports whether the filter asks whether trouble is acknowledged, so that Run.Acknowledged is needed.
func (f Filter) ReadsAcknowledged() bool {
	return slices.ContainsFunc(f.conditions, func(c condition) bool { return c.field.name == fieldAcknowledged })
}

// groupOf returns the key of the group of a run in trouble.
func groupOf(r *Run) []string {
	if g, ok := r.TroubleGroup(); ok {
		return []string{g.Key()}
	}
	return nil
}

// acknowledged returns whether the trouble of a run is acknowledged.
func acknowledged(r *Run) []string {
	switch _, ok := r.TroubleGroup(); {
	case !ok:
		return nil
	case r.Acknowledged != nil:
		return []string{yes}
	}
	return []string{no}
}

// trouble returns the trouble of the run, unless a fork continues it.
func (r *Run) trouble() store.Trouble {
	if r.Status() != store.Quarantined && r.Lifecycle.Status != interpreter.StatusFaulted && !r.Lifecycle.Retrying {
		return store.Trouble{}
	}
	return r.Lifecycle.Trouble
}

// Since returns when the trouble of the run began; zero without trouble, or if unknown.
func (r *Run) Since() time.Time {
	since := r.trouble().Since
	if since.IsZero() && r.Lifecycle.Status == interpreter.StatusFaulted {
		return r.Lifecycle.Closed
	}
	return since
}
