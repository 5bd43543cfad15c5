package main

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/swrun/swrun"
	"github.com/swrun/swrun/internal/audit"
	"github.com/swrun/swrun/runtime/client"
	"github.com/swrun/swrun/runtime/store"
)

// This file records the changes of this process in a store without a server: the audit trail of the store keeps them until a server or worker writes
// them into its log.

// change is a requested change.
type change struct {
	operation string // its name in the HTTP API
	subject   string
	reason    string
}

// noteWithin is the maximum time for storing a note.
const noteWithin = 3 * time.Second

// note stores a change and its outcome. A failure to store it is reported: the change was made.
func (p *program) note(ctx context.Context, r store.Registry, c change, outcome string) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), noteWithin)
	defer cancel()
	err := audit.NewTrail(r).Write(ctx, audit.Record{
		At: p.now(), Actor: client.Actor(ctx), Operation: c.operation, Subject: c.subject, Reason: c.reason, Outcome: outcome,
	})
	if err != nil && outcome == audit.Done {
		fmt.Fprintln(p.err, p.errStyle().Text("this change will be in no audit log: "+err.Error()))
	}
}

// documentNames returns the names of documents.
func documentNames(all []*swrun.Document) string {
	var names []string
	for _, d := range all {
		names = append(names, d.String())
	}
	return strings.Join(names, " ")
}

// trailHandler is a log whose audit lines go into the audit trail of the store, since the output of the process is not kept.
type trailHandler struct {
	slog.Handler
	program *program
	trail   store.Registry
}

// Enabled implements slog.Handler.
func (h trailHandler) Enabled(ctx context.Context, level slog.Level) bool {
	return level == audit.Level || h.Handler.Enabled(ctx, level)
}

// Handle implements slog.Handler.
func (h trailHandler) Handle(ctx context.Context, r slog.Record) error {
	if r.Level != audit.Level {
		return h.Handler.Handle(ctx, r)
	}
	fields := map[string]string{}
	r.Attrs(func(a slog.Attr) bool {
		fields[a.Key] = a.Value.String()
		return true
	})
	c := change{operation: fields["operation"], subject: cmp.Or(fields["subject"], fields["path"]), reason: fields["reason"]}
	// A command for several runs answers with 200 although runs refuse it.
	outcome := fields["refusal"]
	if status := fields["status"]; outcome == "" && !slices.Contains([]string{"200", "201", "202", "204"}, status) {
		outcome = "status " + status
	}
	h.program.note(client.WithActor(ctx, fields["actor"]), h.trail, c, cmp.Or(outcome, audit.Done))
	return nil
}

// keepCurrent writes the audit trail, and rereads the secrets, until ctx ends.
func (o *operation) keepCurrent(ctx context.Context, f *workerFlags) {
	var both sync.WaitGroup
	both.Go(func() { o.writeAudit(ctx, f) })
	both.Go(func() { f.rereads.watch(ctx) })
	both.Wait()
}

// writeAudit writes the changes that commands made without a server into the log of this process, until ctx ends. The log of dev is for one person,
// who gave those commands.
func (o *operation) writeAudit(ctx context.Context, f *workerFlags) {
	if !f.drafts {
		audit.NewTrail(o.store).Follow(ctx, f.log)
	}
}
