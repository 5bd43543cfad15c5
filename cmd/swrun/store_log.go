package main

import (
	"context"
	"fmt"
	"log/slog"

	"github.com/swrun/swrun/internal/terminal"
)

// storeLog prints on standard error that a store does not answer, and that it answers again.
type storeLog struct{ p *program }

// Enabled implements slog.Handler.
func (storeLog) Enabled(_ context.Context, level slog.Level) bool { return level >= slog.LevelInfo }

// Handle implements slog.Handler.
func (l storeLog) Handle(_ context.Context, r slog.Record) error {
	line := r.Message
	r.Attrs(func(a slog.Attr) bool {
		switch a.Key {
		case "error", "store":
			line += ": " + a.Value.String()
		case "after":
			line += ", after " + a.Value.String()
		}
		return true
	})
	_, err := fmt.Fprintln(l.p.err, l.p.errStyle().Text("swrun: "+terminal.Printable(line)))
	return err
}

// WithAttrs implements slog.Handler. It drops the attributes: the error names the server.
func (l storeLog) WithAttrs([]slog.Attr) slog.Handler { return l }

// WithGroup implements slog.Handler.
func (l storeLog) WithGroup(string) slog.Handler { return l }
