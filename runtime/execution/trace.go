package execution

import (
	"crypto/sha256"
	"encoding/hex"

	"github.com/swrun/swrun/internal/lazyregexp"
	"github.com/swrun/swrun/interpreter"
	"github.com/swrun/swrun/runtime/store"
)

// The names of a run in traces (W3C Trace Context). They are derived from the run itself, so that all processes that work on it use the
// same names.

// traceParent is the header `traceparent`, in the one version that there is.
var traceParent = lazyregexp.New(`^00-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})$`)

const noTrace, noSpan = "00000000000000000000000000000000", "0000000000000000"

// IsTraceParent reports whether text names a span as the header `traceparent` does.
func IsTraceParent(text string) bool {
	m := traceParent().FindStringSubmatch(text)
	return m != nil && m[1] != noTrace && m[2] != noSpan
}

// Trace is the position of a run in a trace.
type Trace struct {
	ID     string // of the trace, in hexadecimal
	Parent string // the span that has led to the run; empty if none is known
	Flags  string // whether it is recorded
}

// TraceOf returns the position of a run: in the trace of its starter, or in a trace of its own.
func (i *Invocation) TraceOf(instance store.Instance) Trace {
	if m := traceParent().FindStringSubmatch(i.TraceParent); m != nil {
		return Trace{ID: m[1], Parent: m[2], Flags: m[3]}
	}
	return Trace{ID: traceHash(16, "trace", instance, ""), Flags: "01"}
}

// SpanID returns the ID of the span of a task's occurrence; the span of the run has an empty path.
func SpanID(instance store.Instance, path interpreter.Path) string {
	return traceHash(8, "span", instance, path)
}

// SpanParent names the span of a task's occurrence, as the parent of the spans of its calls and starts.
func (i *Invocation) SpanParent(instance store.Instance, path interpreter.Path) string {
	t := i.TraceOf(instance)
	return "00-" + t.ID + "-" + SpanID(instance, path) + "-" + t.Flags
}

func traceHash(bytes int, what string, instance store.Instance, path interpreter.Path) string {
	sum := sha256.Sum256([]byte(what + "\n" + instance.String() + "\n" + string(path)))
	sum[0] |= 1 // an all-zero ID is invalid
	return hex.EncodeToString(sum[:bytes])
}
