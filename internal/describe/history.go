package describe

import (
	"fmt"
	"strings"
	"time"

	"github.com/swrun/swrun/expr"
	"github.com/swrun/swrun/internal/shorten"
	"github.com/swrun/swrun/internal/terminal"
	"github.com/swrun/swrun/interpreter"
	"github.com/swrun/swrun/runtime/client"
)

// notable is how much later than it happened a record has to be stored for the difference to be shown.
const notable = 100 * time.Millisecond

// HistoryLine is a record for people: when, what, where, and the beginning of its data.
func HistoryLine(r interpreter.HistoryEvent, stored time.Time) string {
	words := []string{fmt.Sprintf("%5d  %s  %-18s", r.Seq, r.At.UTC().Format("2006-01-02T15:04:05.000Z"), r.Type)}
	if late := stored.Sub(r.At); late >= notable {
		words = append(words, "(stored "+terminal.Elapsed(late)+" later)")
	}
	if r.Path != "" {
		words = append(words, terminal.Printable(string(r.Path)))
	}
	if r.Attempt > 1 {
		words = append(words, fmt.Sprintf("attempt=%d", r.Attempt))
	}
	if !r.Until.IsZero() {
		words = append(words, "until="+r.Until.UTC().Format("2006-01-02T15:04:05.000Z"))
	}
	if r.Error != nil {
		words = append(words, terminal.Printable(shorten.To(r.Error.Error(), 200)))
		if r.Timeout != "" {
			words = append(words, "timeoutKind="+r.Timeout)
		}
	}
	switch _, child := client.Propagation(r); {
	case r.Type == interpreter.WorkflowStarted && r.Run != "":
		words = append(words, "parent="+r.Run)
	case r.Run != "":
		words = append(words, "run="+r.Run)
	case r.Type == interpreter.TaskFaulted && child != "":
		words = append(words, "run="+child)
	}
	if r.Actor != "" {
		words = append(words, "by="+terminal.Printable(r.Actor))
	}
	if r.Data != nil {
		if data, err := expr.Encode(r.Data); err == nil {
			words = append(words, terminal.Printable(shorten.To(string(data), 120)))
		}
	}
	return strings.TrimRight(strings.Join(words, " "), " ") + "\n"
}
