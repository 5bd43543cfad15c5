package queue_test

import (
	"strings"
	"testing"
	"time"

	"github.com/swrun/swrun/errors"
	"github.com/swrun/swrun/memstore"
	"github.com/swrun/swrun/runtime/queue"
	"github.com/swrun/swrun/runtime/store"
)

// TestReasonsOfDecisions: the reason of a decision about a queue is text for one line, like the reason of a command to a run.
func TestReasonsOfDecisions(t *testing.T) {
	s := memstore.New(memstore.Config{})
	for reason, fits := range map[string]bool{
		"": true, "the driver is replaced": true, " ": false, "a\x1b[2Jb": false, "a\nb": false, "\xff": false, strings.Repeat("x", 1024): true, strings.Repeat("x", 1025): false,
	} {
		_, err := queue.Change(t.Context(), s, "gpu", queue.Decision{At: time.Unix(0, 0), Reason: reason}, queue.Edit{Apply: func(r *queue.Rules) error {
			r.Pause(queue.Decision{Reason: reason})
			return nil
		}})
		var refused *queue.Error
		if fits && err != nil || !fits && (!errors.As(err, &refused) || refused.Field != "reason") {
			t.Errorf("%.20q: %v", reason, err)
		}
	}
}

// TestReplacesRules: rules that cannot be read are refused with the command that replaces them. If they are replaced, the reason is told once.
func TestReplacesRules(t *testing.T) {
	for _, text := range []string{"rubbish", "1 []", "99 {}"} {
		s := memstore.New(memstore.Config{Partitions: 1})
		if _, err := s.Register(t.Context(), store.Registration{Kind: store.RegistryQueues, Key: "rules/gpu", Value: []byte(text)}); err != nil {
			t.Fatal(err)
		}
		set := func(r *queue.Rules) error { return r.SetConcurrency("3") }
		_, err := queue.Change(t.Context(), s, "gpu", queue.Decision{}, queue.Edit{Apply: set})
		var replaceable *store.ReplaceableError
		if !errors.As(err, &replaceable) || !strings.HasPrefix(replaceable.Command, "swrun queue limit gpu ") {
			t.Errorf("%q: refused with %v", text, err)
		}
		var told []error
		rules, err := queue.Change(t.Context(), s, "gpu", queue.Decision{}, queue.Edit{Apply: set, Replaced: func(err error) { told = append(told, err) }})
		if err != nil || rules.Concurrency != 3 || len(told) != 1 || !store.IsUnreadable(told[0]) {
			t.Errorf("%q: %v, %v, told %v", text, rules, err, told)
		}
		if all, err := queue.List(t.Context(), s); err != nil || all["gpu"].Concurrency != 3 {
			t.Errorf("%q: the rules are %v, %v", text, all, err)
		}
	}
}
