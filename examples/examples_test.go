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
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/swrun/swrun/dsl"
	"github.com/swrun/swrun/errors"
	"github.com/swrun/swrun/internal/a2a"
	"github.com/swrun/swrun/internal/a2atest"
	"github.com/swrun/swrun/internal/cloudevent"
	"github.com/swrun/swrun/internal/container"
	"github.com/swrun/swrun/internal/enginetest"
	"github.com/swrun/swrun/internal/grpctest"
	"github.com/swrun/swrun/interpreter"
	"github.com/swrun/swrun/process/processtest"
	"github.com/swrun/swrun/runtime/definition"
	"github.com/swrun/swrun/runtime/execution"
	"github.com/swrun/swrun/runtime/local"
	"github.com/swrun/swrun/runtime/schedule"
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
	services := grpctest.New(nil, grpctest.Greeter(string(mustRead(t, "grpc/greet.proto"))))
	defer services.Stop()
	containers := &tasks.Containers{Engine: container.New(container.Config{Dial: enginetest.New().Dial})}
	load := tasks.Loader(file, rewrite{server}, true, "")
	config := interpreter.Config{
		Kinds:   tasks.All(tasks.Config{Transport: rewrite{server}, Dial: services.Dial, Load: load, Processes: processtest.Pool(t), Containers: containers}),
		Secrets: func(string) (any, bool) { return map[string]any{"user": "ada-lovelace"}, true },
		Load:    load,
	}
	workflows := func(_, name, _ string) (*interpreter.Program, *errors.Error) {
		return mustCompile(t, strings.ReplaceAll(name, "-", "_")+".yaml", config), nil
	}
	program := mustCompile(t, file, config)
	input, come := begins(t, program.Workflow, arrivals(t, strings.TrimSuffix(file, ".yaml")+".events.json"))
	outcome, err := local.Run(context.Background(), program, input, local.Config{
		Workflows: workflows, Virtual: file == "thirty_days.yaml" || file == "listen_timeout.yaml", Arrivals: come,
	})
	if err != nil {
		t.Fatal(err)
	}
	return outcome
}

// begins returns the input of a workflow, which is the events that start it if it is one that events start, and the events that come then.
func begins(t *testing.T, w *dsl.Workflow, events []local.Arrival) (input any, come []local.Arrival) {
	t.Helper()
	if w.Schedule == nil || w.Schedule.On == nil {
		return nil, events
	}
	forecast, err := schedule.NewForecast(w, func(d definition.Definition) (*interpreter.Program, error) {
		on, found := dsl.Parse(d.Name(), []byte(d.Document))
		if err := found.Err(); err != nil {
			return nil, err
		}
		p, found := interpreter.Compile(on, interpreter.Config{Kinds: tasks.All(tasks.Config{})})
		return p, found.Err()
	}, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	for n, one := range events {
		begun, err := forecast.Arrived(one.Event, time.Now())
		if err != nil {
			t.Fatal(err)
		}
		if len(begun) > 0 {
			return begun[0].Input, events[n+1:]
		}
	}
	t.Fatal("its events start nothing")
	return nil, nil
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
	mux.HandleFunc("POST /orders", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusAccepted) })
	mux.HandleFunc("GET /slow", func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
	agent := a2atest.New(a2atest.Card("http://localhost:9001"))
	mux.Handle(a2a.Place, agent)
	mux.Handle(a2atest.RPC, agent)
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
