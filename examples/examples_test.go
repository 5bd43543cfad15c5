package examples_test

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/swrun/swrun/dsl"
	"github.com/swrun/swrun/errors"
	"github.com/swrun/swrun/internal/cloudevent"
	"github.com/swrun/swrun/interpreter"
	"github.com/swrun/swrun/process/processtest"
	"github.com/swrun/swrun/runtime/execution"
	"github.com/swrun/swrun/runtime/local"
	"github.com/swrun/swrun/tasks"
)

// TestExamples runs every example as a user would, and compares its output (NAME.out) or its fault (NAME.err).
func TestExamples(t *testing.T) {
	documents, err := filepath.Glob("*.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if len(documents) < 20 {
		t.Fatalf("only %d examples", len(documents))
	}
	server := standIn(t)
	for _, file := range documents {
		name := strings.TrimSuffix(file, ".yaml")
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			outcome := mustRun(t, file, server)
			if want, err := os.ReadFile(name + ".out"); err == nil {
				compareOutput(t, outcome, want)
				return
			}
			compareFault(t, outcome, mustRead(t, name+".err"))
		})
	}
}

func mustRun(t *testing.T, file string, server *url.URL) execution.Outcome {
	t.Helper()
	config := interpreter.Config{
		Kinds:   tasks.All(tasks.Config{Transport: rewrite{server}, Processes: processtest.Pool(t)}),
		Secrets: func(string) (any, bool) { return map[string]any{"user": "ada-lovelace"}, true },
	}
	workflows := func(_, name, _ string) (*interpreter.Program, *errors.Error) {
		return mustCompile(t, strings.ReplaceAll(name, "-", "_")+".yaml", config), nil
	}
	outcome, err := local.Run(context.Background(), mustCompile(t, file, config), nil, local.Config{
		Workflows: workflows, Virtual: file == "thirty_days.yaml", Arrivals: arrivals(t, strings.TrimSuffix(file, ".yaml")+".events.json"),
	})
	if err != nil {
		t.Fatal(err)
	}
	return outcome
}

// arrivals returns the events that come to an example.
func arrivals(t *testing.T, file string) (all []local.Arrival) {
	t.Helper()
	events, err := os.Open(file)
	if err != nil {
		return nil // it needs none
	}
	defer events.Close()
	r := cloudevent.NewReader(events, file)
	for {
		a, err := r.Next()
		if errors.Is(err, io.EOF) {
			return all
		}
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, local.Arrival(a))
	}
}

func mustCompile(t *testing.T, file string, config interpreter.Config) *interpreter.Program {
	t.Helper()
	w, diagnostics := dsl.Parse(file, mustRead(t, file))
	if err := diagnostics.Err(); err != nil {
		t.Fatal(err)
	}
	if err := interpreter.Check(w).Err(); err != nil {
		t.Fatal(err)
	}
	p, diagnostics := interpreter.Compile(w, config)
	if err := diagnostics.Err(); err != nil {
		t.Fatal(err)
	}
	return p
}

func mustRead(t *testing.T, file string) []byte {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func compareOutput(t *testing.T, outcome execution.Outcome, want []byte) {
	t.Helper()
	if outcome.Fault != nil {
		t.Fatal(outcome.Fault)
	}
	got, err := json.Marshal(outcome.Output)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(strings.TrimSpace(string(want)), string(got)); diff != "" {
		t.Error(diff)
	}
}

func compareFault(t *testing.T, outcome execution.Outcome, want []byte) {
	t.Helper()
	if outcome.Fault == nil {
		t.Fatalf("the workflow is %s with %v, want a fault", outcome.Status, outcome.Output)
	}
	var fault struct {
		Status   int
		Instance string
	}
	if err := json.Unmarshal(want, &fault); err != nil {
		t.Fatal(err)
	}
	if outcome.Fault.Status != fault.Status || outcome.Fault.Instance != fault.Instance {
		t.Errorf("got %v, want %+v", outcome.Fault, fault)
	}
}

// standIn answers for stand-in.test, the host that examples call.
func standIn(t *testing.T) *url.URL {
	t.Helper()
	mux := http.NewServeMux()
	mux.HandleFunc("GET /pets/{id}", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(map[string]any{"name": "pet " + r.PathValue("id")})
	})
	mux.HandleFunc("GET /slow", func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	u, err := url.Parse(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	return u
}

// rewrite sends every request to one server.
type rewrite struct{ server *url.URL }

func (r rewrite) RoundTrip(request *http.Request) (*http.Response, error) {
	redirected := request.Clone(request.Context())
	redirected.URL.Scheme, redirected.URL.Host = r.server.Scheme, r.server.Host
	return http.DefaultTransport.RoundTrip(redirected)
}
