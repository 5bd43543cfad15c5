package queue_test

import (
	"strings"
	"testing"
	"time"

	"github.com/swrun/swrun/errors"
	"github.com/swrun/swrun/memstore"
	"github.com/swrun/swrun/runtime/queue"
)

// TestReasonsOfDecisions: the reason of a decision about a queue is text for one line, like the reason of a command to a run.
func TestReasonsOfDecisions(t *testing.T) {
	s := memstore.New(memstore.Config{})
	for reason, fits := range map[string]bool{
		"": true, "the driver is replaced": true, " ": false, "a\x1b[2Jb": false, "a\nb": false, "\xff": false, strings.Repeat("x", 1024): true, strings.Repeat("x", 1025): false,
	} {
		_, err := queue.Change(t.Context(), s, "gpu", queue.Decision{At: time.Unix(0, 0), Reason: reason}, func(r *queue.Rules) error {
			r.Pause(queue.Decision{Reason: reason})
			return nil
		})
		var refused *queue.Error
		if fits && err != nil || !fits && (!errors.As(err, &refused) || refused.Field != "reason") {
			t.Errorf("%.20q: %v", reason, err)
		}
	}
}
