// Package audit records the actors of changes: in log lines that every level includes, and in the audit trail of a store. The processes that work on
// the store copy changes that were made without them from the trail into their logs.
package audit

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/swrun/swrun/internal/shorten"
	"github.com/swrun/swrun/runtime/store"
)

// Level is the level of audit lines. It is above slog.LevelError; LevelName writes it as AUDIT.
const Level = slog.Level(12)

// Log writes an audit line.
func Log(ctx context.Context, log *slog.Logger, fields ...any) {
	log.Log(ctx, Level, "audit", fields...)
}

// LevelName replaces the level of audit lines by AUDIT, for slog.HandlerOptions.ReplaceAttr; it returns other attributes unchanged.
func LevelName(_ []string, a slog.Attr) slog.Attr {
	if level, ok := a.Value.Any().(slog.Level); ok && a.Key == slog.LevelKey && level == Level {
		a.Value = slog.StringValue("AUDIT")
	}
	return a
}

// Keep returns a handler that accepts audit lines at any level of h.
func Keep(h slog.Handler) slog.Handler { return keeping{h} }

type keeping struct{ slog.Handler }

func (k keeping) Enabled(ctx context.Context, level slog.Level) bool {
	return level == Level || k.Handler.Enabled(ctx, level)
}

func (k keeping) WithAttrs(attrs []slog.Attr) slog.Handler {
	return keeping{k.Handler.WithAttrs(attrs)}
}

func (k keeping) WithGroup(name string) slog.Handler { return keeping{k.Handler.WithGroup(name)} }

// Lower returns a handler that treats audit lines as lines of slog.LevelInfo, for the log of a single user.
func Lower(h slog.Handler) slog.Handler { return lowering{h} }

type lowering struct{ slog.Handler }

func (l lowering) Enabled(ctx context.Context, level slog.Level) bool {
	if level == Level {
		level = slog.LevelInfo
	}
	return l.Handler.Enabled(ctx, level)
}

func (l lowering) WithAttrs(attrs []slog.Attr) slog.Handler {
	return lowering{l.Handler.WithAttrs(attrs)}
}

func (l lowering) WithGroup(name string) slog.Handler { return lowering{l.Handler.WithGroup(name)} }

// Record is a change with its actor.
type Record struct {
	At        time.Time `json:"at"` // by the clock of the process that made the change
	Actor     string    `json:"actor"`
	Operation string    `json:"operation"` // the name in the HTTP API
	Subject   string    `json:"subject,omitempty"`
	Reason    string    `json:"reason,omitempty"`
	Outcome   string    `json:"outcome"` // done, or the reason of the refusal
}

// Done is the outcome of a change that was made.
const Done = "done"

const (
	keepFor    = 30 * 24 * time.Hour
	drainEvery = 2 * time.Second
	drained    = 100 // entries of one read
	maxText    = 1000
)

// Trail contains the changes of a store until a process writes them into its log.
type Trail struct{ registry store.Registry }

// NewTrail returns the audit trail of a store.
func NewTrail(r store.Registry) Trail { return Trail{r} }

// Write adds a change. If the trail is full, the oldest changes are dropped.
func (t Trail) Write(ctx context.Context, r Record) error {
	r.Subject, r.Reason, r.Outcome = shorten.To(r.Subject, maxText), shorten.To(r.Reason, maxText), shorten.To(r.Outcome, maxText)
	value, err := store.EncodeEntry(store.RegistryAudit, r)
	if err != nil {
		return err
	}
	entry := store.Registration{Kind: store.RegistryAudit, Key: fmt.Sprintf("%013d-%s", r.At.UnixMilli(), rand.Text()), Value: value, For: keepFor}
	_, err = t.registry.Register(ctx, entry)
	if store.RefusedAs(err) != store.Limit {
		return err
	}
	oldest, err := t.registry.ListRegistered(ctx, store.RegistryList{Kind: store.RegistryAudit, N: drained})
	if err != nil {
		return err
	}
	for _, old := range oldest {
		if err := t.registry.Unregister(ctx, store.RegistryAudit, old.Key, old.Version); err != nil && store.RefusedAs(err) == "" {
			return err
		}
	}
	_, err = t.registry.Register(ctx, entry)
	return err
}

// Follow writes the changes of the trail into a log until ctx ends. If a process is killed, another one may write a line again.
func (t Trail) Follow(ctx context.Context, log *slog.Logger) {
	tick := time.NewTicker(drainEvery)
	defer tick.Stop()
	for {
		_ = t.Drain(ctx, log) // others report the health of the store, and nothing is lost
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// Drain writes the present changes into a log. Changes of a newer build stay for newer builds.
func (t Trail) Drain(ctx context.Context, log *slog.Logger) error {
	for after := ""; ; {
		some, err := t.registry.ListRegistered(ctx, store.RegistryList{Kind: store.RegistryAudit, After: after, N: drained})
		if err != nil || len(some) == 0 {
			return err
		}
		for _, one := range some {
			after = one.Key
			if err := t.move(ctx, log, one); err != nil {
				return err
			}
		}
	}
}

// CheckEntry returns the reason why an entry of the trail cannot be read.
func CheckEntry(r store.Registered) error {
	_, err := store.DecodeEntry[Record](store.RegistryAudit, r)
	return err
}

// move writes one change into a log, and removes it from the trail.
func (t Trail) move(ctx context.Context, log *slog.Logger, one store.Registered) error {
	r, err := store.DecodeEntry[Record](store.RegistryAudit, one)
	switch store.RefusedAs(err) {
	case store.Newer:
		return nil
	case "":
		fields := []any{"actor", r.Actor, "operation", r.Operation}
		if r.Subject != "" {
			fields = append(fields, "subject", r.Subject)
		}
		if r.Reason != "" {
			fields = append(fields, "reason", r.Reason)
		}
		Log(ctx, log, append(fields, "outcome", r.Outcome, "through", "store", "at", r.At.UTC().Format(time.RFC3339Nano), "id", one.Key)...)
	default:
		Log(ctx, log, "outcome", "unreadable", "through", "store", "id", one.Key, "error", err)
	}
	version := one.Version
	if one.Damaged != nil {
		version = store.AnyVersion // its version cannot be read
	}
	err = t.registry.Unregister(ctx, store.RegistryAudit, one.Key, version)
	if refused := new(store.Refusal); errors.As(err, &refused) { // another process has written it too
		err = nil
	}
	return err
}
