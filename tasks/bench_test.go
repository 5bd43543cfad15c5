package tasks_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	goruntime "runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/swrun/swrun/dsl"
	"github.com/swrun/swrun/interpreter"
	"github.com/swrun/swrun/runtime/local"
	"github.com/swrun/swrun/tasks"
)

const header = `document:
  dsl: 1.0.3
  namespace: bench
  name: bench
  version: 0.1.0
do:
`

// setList is a document of n set tasks with one small expression each.
func setList(n int) string {
	var b strings.Builder
	b.WriteString(header)
	for i := range n {
		fmt.Fprintf(&b, "  - task%d:\n      set:\n        count: ${ .count + 1 }\n", i)
	}
	return b.String()
}

func mustCompile(tb testing.TB, text string) *interpreter.Program {
	tb.Helper()
	w, diagnostics := dsl.Parse("bench.yaml", []byte(text))
	if err := diagnostics.Err(); err != nil {
		tb.Fatal(err)
	}
	p, diagnostics := interpreter.Compile(w, interpreter.Config{Kinds: tasks.All(tasks.Config{})})
	if err := diagnostics.Err(); err != nil {
		tb.Fatal(err)
	}
	return p
}

// BenchmarkSet is the cost of one set task in lists of several lengths: ns/task and allocs/task must not depend on it.
func BenchmarkSet(b *testing.B) {
	for _, n := range []int{10, 100, 1000} {
		b.Run(fmt.Sprintf("list=%d", n), func(b *testing.B) {
			p := mustCompile(b, setList(n))
			input := map[string]any{"count": 0}
			now := time.Unix(0, 0).UTC()
			b.ReportAllocs()
			for b.Loop() {
				s := interpreter.NewState("bench", "1")
				result := interpreter.Step(p, s, interpreter.Start{Input: input}, now)
				for result.Again {
					result = interpreter.Step(p, s, interpreter.Due{}, now)
				}
				if s.Status != interpreter.StatusCompleted {
					b.Fatal(s.Status, s.Fault)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*n), "ns/task")
		})
	}
}

// BenchmarkExpression is the cost of one set task with an expression, of each form that workflows use.
func BenchmarkExpression(b *testing.B) {
	for name, expression := range map[string]string{
		"path":        ".user.name",
		"arithmetic":  ".count * 2 + 1",
		"condition":   `.user.name == "Ada" and .count > 3`,
		"alternative": `.missing // "none"`,
		"branch":      `if .count > 3 then "many" else "few" end`,
		"object":      "{name: .user.name, count, first: .items[0]}",
		"array":       "[.count, .user.name, 3]",
		"text":        `"Hello \(.user.name), you have \(.count)"`,
		"function":    ".items | length",
		"pipeline":    "[.items[] | select(. > 1)] | add",
	} {
		b.Run(name, func(b *testing.B) {
			p := mustCompile(b, header+"  - a: { set: { v: '${ "+expression+" }' } }\n")
			input := map[string]any{"count": 41, "user": map[string]any{"name": "Ada"}, "items": []any{1, 2, 3}}
			b.ReportAllocs()
			for b.Loop() {
				s := interpreter.NewState("bench", "1")
				interpreter.Step(p, s, interpreter.Start{Input: input}, time.Unix(0, 0))
				if s.Status != interpreter.StatusCompleted {
					b.Fatal(s.Status, s.Fault)
				}
			}
		})
	}
}

// BenchmarkFor is a loop over 10 000 items with one set.
func BenchmarkFor(b *testing.B) {
	p := mustCompile(b, header+`  - loop:
      for:
        in: ${ [range(10000)] }
      do:
        - add:
            set:
              total: ${ .total + $item }
`)
	b.ReportAllocs()
	for b.Loop() {
		outcome, err := local.Run(context.Background(), p, map[string]any{"total": 0}, local.Config{})
		if err != nil || outcome.Fault != nil {
			b.Fatal(err, outcome.Fault)
		}
	}
}

// BenchmarkAnswer is a call with a large answer, up to its stored form; the server's memory is counted too.
func BenchmarkAnswer(b *testing.B) {
	for name, c := range map[string]struct{ contentType, item string }{
		"text":    {"text/plain", "a line of some text\n"},
		"records": {"application/json", `{"id":123456,"name":"a name of some length","tags":["one","two"],"price":12.5},`},
		"small":   {"application/json", `{"id":1,"a":"b"},`},
	} {
		body := []byte("[" + strings.Repeat(c.item, (1<<20)/len(c.item)) + "0]")
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", c.contentType)
			w.Header().Set("Content-Length", strconv.Itoa(len(body)))
			_, _ = w.Write(body)
		}))
		b.Cleanup(server.Close)
		p := mustCompile(b, header+"  - get: {call: http, with: {method: get, endpoint: '"+server.URL+"'}}\n")
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			var before, after goruntime.MemStats
			goruntime.ReadMemStats(&before)
			for b.Loop() {
				if o, err := local.Run(context.Background(), p, nil, local.Config{Observe: func(r interpreter.HistoryEvent) { keep(b, r) }}); err != nil || o.Fault != nil {
					b.Fatal(err, o.Fault)
				}
			}
			goruntime.ReadMemStats(&after)
			b.ReportMetric(float64(after.TotalAlloc-before.TotalAlloc)/float64(b.N*len(body)), "B/byte")
		})
	}
}

// keep writes the record of an answer as a store keeps it.
func keep(b *testing.B, r interpreter.HistoryEvent) {
	b.Helper()
	if r.Type != interpreter.EffectFinished {
		return
	}
	entry := interpreter.HistoryStep{Event: interpreter.EventDue, At: r.At, Events: []interpreter.HistoryEvent{r}}
	if _, err := entry.Encode(nil, 64<<10, func([]byte) string { return "" }); err != nil {
		b.Fatal(err)
	}
}

// BenchmarkLoad is parse, check and compile.
func BenchmarkLoad(b *testing.B) {
	for _, lines := range []int{60, 1000} {
		b.Run(fmt.Sprintf("lines=%d", lines), func(b *testing.B) {
			text := []byte(setList((lines - 6) / 3))
			b.ReportAllocs()
			for b.Loop() {
				w, diagnostics := dsl.Parse("bench.yaml", text)
				if diagnostics.Err() != nil || interpreter.Check(w).Err() != nil {
					b.Fatal(diagnostics)
				}
				if _, diagnostics := interpreter.Compile(w, interpreter.Config{Kinds: tasks.All(tasks.Config{})}); diagnostics.Err() != nil {
					b.Fatal(diagnostics)
				}
			}
		})
	}
}
