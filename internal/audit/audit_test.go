package audit_test

import (
	"bytes"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/swrun/swrun/internal/audit"
	"github.com/swrun/swrun/memstore"
	"github.com/swrun/swrun/runtime/store"
)

func logTo(b *bytes.Buffer, wrap func(slog.Handler) slog.Handler, level slog.Level) *slog.Logger {
	return slog.New(wrap(slog.NewTextHandler(b, &slog.HandlerOptions{Level: level, ReplaceAttr: audit.LevelName})))
}

// TestLevels: every log that keeps audit lines contains them, and a lowered log treats them as lines of slog.LevelInfo.
func TestLevels(t *testing.T) {
	for _, c := range []struct {
		wrap  func(slog.Handler) slog.Handler
		level slog.Level
		want  bool
	}{
		{audit.Keep, slog.LevelDebug, true}, {audit.Keep, slog.LevelError, true}, {audit.Keep, slog.LevelError + 100, true},
		{audit.Lower, slog.LevelDebug, true}, {audit.Lower, slog.LevelInfo, true}, {audit.Lower, slog.LevelWarn, false},
	} {
		var b bytes.Buffer
		audit.Log(t.Context(), logTo(&b, c.wrap, c.level).With("a", 1).WithGroup("g"), "actor", "ada")
		if got := strings.Contains(b.String(), "level=AUDIT msg=audit a=1 g.actor=ada"); got != c.want {
			t.Errorf("at %s: %q", c.level, &b)
		}
	}
}

// TestTrail: each written change enters the log once, in order, with any content. A change of a newer build stays, and an unreadable one is reported
// and removed.
func TestTrail(t *testing.T) {
	s := memstore.New(memstore.Config{Partitions: 4})
	trail := audit.NewTrail(s)
	at := time.Date(2026, 5, 4, 10, 0, 0, 0, time.UTC)
	for n, r := range []audit.Record{
		{Actor: "ada", Operation: "putWorkflow", Subject: "demo/a:1.0.0", Outcome: audit.Done}, {}, {Actor: "a b\n", Reason: strings.Repeat("é", 9000), Outcome: audit.Done},
	} {
		r.At = at.Add(time.Duration(n) * time.Second)
		if err := trail.Write(t.Context(), r); err != nil {
			t.Fatal(err)
		}
	}
	for key, value := range map[string]string{"newer": "9 {}", "broken": "1 {", "none": "x"} {
		if _, err := s.Register(t.Context(), store.Registration{Kind: store.RegistryAudit, Key: key, Value: []byte(value)}); err != nil {
			t.Fatal(err)
		}
	}
	var b bytes.Buffer
	for range 2 {
		if err := trail.Drain(t.Context(), logTo(&b, audit.Keep, slog.LevelError)); err != nil {
			t.Error(err)
		}
	}
	lines := strings.Split(strings.TrimSpace(b.String()), "\n")
	if len(lines) != 5 || !strings.Contains(lines[0], `msg=audit actor=ada operation=putWorkflow subject=demo/a:1.0.0 outcome=done through=store at=2026-05-04T10:00:00Z id=`) ||
		!strings.Contains(lines[2], `actor="a b\n"`) || len(lines[2]) > 2000 || strings.Count(b.String(), "outcome=unreadable") != 2 {
		t.Errorf("got %d lines:\n%s", len(lines), &b)
	}
	if left, err := s.ListRegistered(t.Context(), store.RegistryList{Kind: store.RegistryAudit}); err != nil || len(left) != 1 || left[0].Key != "newer" {
		t.Errorf("there are left %+v, %v", left, err)
	}
}

// TestFullTrail: a trail that no process writes into a log drops its oldest changes, and accepts new ones.
func TestFullTrail(t *testing.T) {
	s := memstore.New(memstore.Config{Partitions: 4})
	for n := range store.MaxRegistered {
		if _, err := s.Register(t.Context(), store.Registration{Kind: store.RegistryAudit, Key: fmt.Sprintf("%013d", n), Value: []byte("1 {}")}); err != nil {
			t.Fatal(err)
		}
	}
	var writing sync.WaitGroup
	for range 4 {
		writing.Go(func() {
			if err := audit.NewTrail(s).Write(t.Context(), audit.Record{At: time.Now(), Actor: "ada", Outcome: audit.Done}); err != nil {
				t.Error(err)
			}
		})
	}
	writing.Wait()
	first, err := s.ListRegistered(t.Context(), store.RegistryList{Kind: store.RegistryAudit, N: 1})
	if err != nil || len(first) != 1 || first[0].Key < fmt.Sprintf("%013d", 100) {
		t.Errorf("the first is %v, %v", first, err)
	}
}
