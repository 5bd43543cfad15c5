package swrun_test

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/swrun/swrun"
	"github.com/swrun/swrun/dsl"
	"github.com/swrun/swrun/errors"
	"github.com/swrun/swrun/runtime/store"
)

const document = "document: {dsl: 1.0.3, namespace: demo, name: a, version: 1.0.0}\n"

func mustParse(t *testing.T, text string) *swrun.Document {
	t.Helper()
	d, err := swrun.Parse("", []byte(document+text))
	if err != nil {
		t.Fatal(err)
	}
	return d
}

type embedded struct{ Inner }

// Inner contains a value that is not JSON.
type Inner struct{ C chan int }

type failing struct{}

func (failing) MarshalJSON() ([]byte, error) { return nil, errors.New("no") }

type cycle struct{ Next *cycle }

// TestInputs: any value that resembles JSON is an input. If the value is no input, the error names the faulty part.
func TestInputs(t *testing.T) {
	echo := mustParse(t, "do: [{a: {set: '${ . }'}}]\n")
	around, nested := &cycle{}, map[string]any{}
	around.Next, nested["again"] = around, nested
	var none *cycle
	for name, c := range map[string]struct {
		input, want any
		at          string // of the faulty part
	}{
		"nothing":            {nil, map[string]any{}, ""},
		"a pointer that is":  {none, map[string]any{}, ""},
		"text":               {"a", "a", ""},
		"bytes":              {[]byte("abc"), "YWJj", ""},
		"a time":             {time.Unix(0, 0).UTC(), "1970-01-01T00:00:00Z", ""},
		"a large number":     {uint64(math.MaxUint64), json.Number("18446744073709551615"), ""},
		"JSON":               {json.RawMessage(`{"a":[1]}`), map[string]any{"a": []any{1}}, ""},
		"a struct":           {struct{ A int8 }{-3}, map[string]any{"A": -3}, ""},
		"a channel inside":   {map[int]any{1: []any{make(chan int)}}, nil, "/1/0"},
		"embedded":           {embedded{}, nil, "/C"},
		"no number":          {map[string]any{"x": math.NaN()}, nil, "/x"},
		"its own error":      {[]any{failing{}}, nil, "/0"},
		"a cycle":            {around, nil, ""},
		"a map in itself":    {nested, nil, ""},
		"a name to escape":   {map[string]any{"a/b": math.Inf(1)}, nil, "/a~1b"},
		"JSON that is wrong": {map[string]any{"r": json.RawMessage(`{`)}, nil, "/r"},
		"a name twice":       {struct{ R json.RawMessage }{json.RawMessage(`{"a":1,"a":2}`)}, nil, "/R"},
		"half a character":   {json.RawMessage(`"\ud800"`), nil, ""},
		"JSON in Latin-1":    {&[]any{json.RawMessage("\"\xfc\"")}, nil, "/0"},
		"text in Latin-1":    {map[string]any{"a": []string{"b", "\xfc"}}, nil, "/a/1"},
		"a name in Latin-1":  {map[string]any{"a": map[string]any{"\xfc": 1}}, nil, "/a"},
		"a nil inside":       {map[string]any{"a": none, "b": []any(nil), "c": json.RawMessage(nil)}, map[string]any{"a": nil, "b": nil, "c": nil}, ""},
		"bytes of no text":   {[]byte{0xfc}, "/A==", ""},
	} {
		t.Run(name, func(t *testing.T) {
			result, err := echo.Run(t.Context(), c.input, swrun.RunConfig{})
			var wrong *swrun.InputError
			if errors.As(err, &wrong) != (c.want == nil) || wrong != nil && wrong.Pointer != c.at {
				t.Fatalf("got %v, want an input error at %q", err, c.at)
			}
			if diff := cmp.Diff(c.want, result.Output); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestAnInputIsConvertedOnce: the run does not see later changes of the input by the caller.
func TestAnInputIsConvertedOnce(t *testing.T) {
	input := map[string]any{"n": []any{1}}
	change := func(context.Context, swrun.Call) (any, error) { input["n"].([]any)[0] = 2; return nil, nil }
	d := mustParse(t, "do: [{a: {call: change@default}}, {b: {set: '${ $workflow.input.n[0] }'}}]\n")
	result, err := d.Run(t.Context(), input, swrun.RunConfig{Host: swrun.Host{Calls: map[string]swrun.Performer{"change@default": change}}})
	if err != nil || result.Output != 1 {
		t.Errorf("got %v, %v", result.Output, err)
	}
}

// TestPerformers: for every result of a performer, the workflow gets data or an error that it can catch.
func TestPerformers(t *testing.T) {
	d := mustParse(t, `do: [{a: {call: x@default, timeout: {after: '${ .after // "PT1H" }'}}}]`)
	for name, c := range map[string]struct {
		perform swrun.Performer
		want    any
		fault   string // the end of its type
		status  int
	}{
		"nothing":        {func(context.Context, swrun.Call) (any, error) { return nil, nil }, nil, "", 0},
		"a struct":       {func(context.Context, swrun.Call) (any, error) { return struct{ A int }{1}, nil }, map[string]any{"A": 1}, "", 0},
		"no JSON":        {func(context.Context, swrun.Call) (any, error) { return make(chan int), nil }, nil, "/runtime", 500},
		"an error":       {func(context.Context, swrun.Call) (any, error) { return 1, errors.New("no") }, nil, "/runtime", 500},
		"an empty fault": {func(context.Context, swrun.Call) (any, error) { return nil, &errors.Error{} }, nil, "/runtime", 500},
		"a fault of its own": {func(context.Context, swrun.Call) (any, error) {
			return nil, fmt.Errorf("wrapped: %w", &errors.Error{Type: "https://x.test/no", Status: 418})
		}, nil, "https://x.test/no", 418},
		"a fault that is nil": {func(context.Context, swrun.Call) (any, error) { var e *errors.Error; return nil, e }, nil, "/runtime", 500},
		"waiting":             {func(ctx context.Context, _ swrun.Call) (any, error) { <-ctx.Done(); return 1, nil }, nil, "/timeout", 408},
		"larger than may be":  {func(context.Context, swrun.Call) (any, error) { return strings.Repeat("x", 30<<20), nil }, nil, "/limit", 400},
	} {
		t.Run(name, func(t *testing.T) {
			input := map[string]any{}
			if name == "waiting" {
				input["after"] = "PT0.1S"
			}
			result, err := d.Run(t.Context(), input, swrun.RunConfig{Host: swrun.Host{Calls: map[string]swrun.Performer{"x@default": c.perform}}})
			fault := errors.AsError(err)
			if (fault != nil) != (c.fault != "") || fault != nil && (!strings.HasSuffix(fault.Type, c.fault) || fault.Status != c.status) {
				t.Fatalf("got %+v, want %s %d", err, c.fault, c.status)
			}
			if diff := cmp.Diff(c.want, result.Output); diff != "" {
				t.Error(diff)
			}
		})
	}
	if _, err := d.Run(t.Context(), nil, swrun.RunConfig{}); !errors.As(err, new(dsl.Diagnostics)) {
		t.Errorf("without a performer: %v", err)
	}
}

// TestNamesOfCalls: a name that no call can have is refused, and no performer replaces a function of a document.
func TestNamesOfCalls(t *testing.T) {
	d := mustParse(t, "use: {functions: {one: {set: '${ 1 }'}}}\ndo: [{a: {call: one}}]\n")
	perform := func(context.Context, swrun.Call) (any, error) { return 2, nil }
	for name, allowed := range map[string]bool{
		"": false, "x": false, "@default": false, "x@other": false, "function": false, "call_http": false, "HTTP": false, "one": false, "one@default": true, "http": true, "grpc": true,
	} {
		result, err := d.Run(t.Context(), nil, swrun.RunConfig{Host: swrun.Host{Calls: map[string]swrun.Performer{name: perform}}})
		var option *swrun.OptionError
		if errors.As(err, &option) == allowed || allowed && (err != nil || result.Output != 1) {
			t.Errorf("%q: %v, %v", name, result.Output, err)
		}
	}
	if _, err := d.Run(t.Context(), nil, swrun.RunConfig{Host: swrun.Host{Calls: map[string]swrun.Performer{"http": nil}}}); !errors.As(err, new(*swrun.OptionError)) {
		t.Errorf("a performer that is nil: %v", err)
	}
}

// TestConfigurations: an invalid configuration of an engine is refused before it works.
func TestConfigurations(t *testing.T) {
	s, err := swrun.OpenStore(t.Context(), "memory:", swrun.StoreConfig{})
	if err != nil {
		t.Fatal(err)
	}
	for want, c := range map[string]swrun.EngineConfig{
		"NamespaceConcurrency": {Concurrency: 5, NamespaceConcurrency: 6}, "Concurrency": {Concurrency: -1}, "Lease": {Lease: time.Millisecond}, "Drain": {Drain: -1}, "ParkAfter": {ParkAfter: -1}, "Retention": {Retention: -1},
		"Memory": {Host: swrun.Host{Memory: -1}}, "Network": {Host: swrun.Host{Network: "10.0.0.0"}},
	} {
		_, err := swrun.NewEngine(s, c)
		var option *swrun.OptionError
		if !errors.As(err, &option) || option.Option != want {
			t.Errorf("got %v, want an error of %s", err, want)
		}
	}
	e, err := swrun.NewEngine(s, swrun.EngineConfig{})
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"", "x", "demo/none", "demo/none:1.0.0", "demo/", "a b/c"} {
		run, err := e.Start(t.Context(), name, nil, swrun.StartOptions{})
		if run != nil || err == nil || strings.HasPrefix(name, "demo/none") != errors.As(err, new(*swrun.NotDeployedError)) {
			t.Errorf("%q: %v, %v", name, run, err)
		}
	}
	if _, err := e.Run("", "").Await(t.Context()); store.RefusedAs(err) != store.NoSuch {
		t.Errorf("a run that is not there: %v", err)
	}
}

// TestOneDocumentRunsManyTimes: goroutines share a document, and leave no connection open.
func TestOneDocumentRunsManyTimes(t *testing.T) {
	var open atomic.Int64
	closed := make(chan struct{}, 100)
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, `"ok"`) }))
	server.Config.ConnState = func(_ net.Conn, s http.ConnState) {
		switch s {
		case http.StateNew:
			open.Add(1)
		case http.StateClosed:
			open.Add(-1)
			closed <- struct{}{}
		}
	}
	server.Start()
	defer server.Close()
	d := mustParse(t, "do: [{a: {call: http, with: {method: get, endpoint: '"+server.URL+"'}}}]\n")
	var group sync.WaitGroup
	for range 8 {
		group.Go(func() {
			for range 5 {
				if _, err := d.Run(t.Context(), nil, swrun.RunConfig{}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	group.Wait()
	for open.Load() > 0 {
		<-closed
	}
}
