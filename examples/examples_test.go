package examples_test

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/swrun/swrun/dsl"
	"github.com/swrun/swrun/errors"
	"github.com/swrun/swrun/internal/a2atest"
	"github.com/swrun/swrun/internal/brokers/brokertest"
	"github.com/swrun/swrun/internal/certtest"
	"github.com/swrun/swrun/internal/cloudevent"
	"github.com/swrun/swrun/internal/container"
	"github.com/swrun/swrun/internal/enginetest"
	"github.com/swrun/swrun/internal/grpctest"
	"github.com/swrun/swrun/internal/oauthtest"
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
	servers := standIns(t)
	for _, file := range documents {
		name := strings.TrimSuffix(file, ".yaml")
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			outcome := mustRun(t, file, servers)
			if want, err := os.ReadFile(name + ".out"); err == nil {
				compareOutput(t, outcome, want)
				return
			}
			compareFault(t, outcome, mustRead(t, name+".err"))
		})
	}
}

func mustRun(t *testing.T, file string, servers rewrite) execution.Outcome {
	t.Helper()
	services := grpctest.New(nil, grpctest.Greeter(string(mustRead(t, "grpc/greet.proto"))))
	defer services.Stop()
	dial := func(ctx context.Context, network, address string) (net.Conn, error) {
		if server := servers[address]; server != nil {
			return new(net.Dialer).DialContext(ctx, network, server.Host)
		}
		return services.Dial(ctx, network, address)
	}
	containers := &tasks.Containers{Engine: container.New(container.Config{Dial: enginetest.New().Dial})}
	load := tasks.Loader(file, tasks.Sources{Transport: servers, Files: true})
	var transport http.RoundTripper = servers
	secrets := map[string]any{"user": "ada-lovelace", "secret": "demo-secret", "password": oauthtest.Password}
	if file == "authentication_certificate.yaml" {
		transport, secrets = secured(t)
	}
	reveal := func(string) (any, bool) { return secrets, true }
	config := interpreter.Config{
		Kinds:   tasks.All(tasks.Config{Transport: transport, Secrets: reveal, Dial: dial, Load: load, Processes: processtest.Pool(t), Containers: containers}),
		Secrets: reveal,
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

// begins returns the input of a workflow, which is the events that start it if events start it, and the events that arrive after the start.
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

// arrivals returns the events that reach an example.
func arrivals(t *testing.T, file string) (all []local.Arrival) {
	t.Helper()
	events, err := os.Open(file)
	if err != nil {
		return nil // the example needs no events
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

// standIns starts the services that examples call, by the host under which they call it; the empty host is the service with all other names.
func standIns(t *testing.T) rewrite {
	t.Helper()
	broker, err := brokertest.AnsweringMQTT("parcels/shipped", `{"order": 6, "parcel": "Z"}`, `{"order": 7, "parcel": "A"}`, `{"order": 7, "parcel": "B"}`)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(broker.Stop)
	authority := oauthtest.New("http://localhost:8099", map[string]oauthtest.Client{"demo": {Secret: "demo-secret"}})
	mux := http.NewServeMux()
	mux.Handle("/", authority.Handler())
	mux.Handle("GET /pets", oauthtest.Pets(authority))
	return rewrite{
		"": pets(t), "localhost:9001": served(t, a2atest.New(a2atest.Card("http://localhost:9001"))), "localhost:8099": served(t, mux),
		"mqtt.test:1883": {Host: broker.Address},
	}
}

// served serves a handler until the test ends.
func served(t *testing.T, h http.Handler) *url.URL {
	t.Helper()
	server := httptest.NewServer(h)
	t.Cleanup(server.Close)
	u, err := url.Parse(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	return u
}

// pets starts the service of examples/pets.
func pets(t *testing.T) *url.URL {
	t.Helper()
	server := exec.Command("python3", "pets/server.py", "0")
	output, err := server.StdoutPipe()
	if err == nil {
		err = server.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = server.Process.Kill(); _ = server.Wait() }) // it was killed
	line, _ := bufio.NewReader(output).ReadString('\n')                // without a line, there is no URL
	u, err := url.Parse(strings.TrimSpace(line))
	if err != nil || u.Host == "" {
		t.Fatalf("it says %q, %v", line, err)
	}
	return u
}

// secured returns a transport to a server that requires authentication, and the secret of a known user.
func secured(t *testing.T) (http.RoundTripper, map[string]any) {
	t.Helper()
	authority, err := certtest.New("authority")
	if err != nil {
		t.Fatal(err)
	}
	settings, err := authority.Server()
	if err != nil {
		t.Fatal(err)
	}
	secret, err := authority.Secret("ada")
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, "Hello, "+r.TLS.PeerCertificates[0].Subject.CommonName)
	}))
	server.TLS = settings
	server.StartTLS()
	t.Cleanup(server.Close)
	transport := tasks.NewTransport(tasks.TransportConfig{})
	transport.DialContext = func(ctx context.Context, network, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, network, server.Listener.Addr().String())
	}
	return transport, secret
}

// rewrite sends requests to the stand-in of their host.
type rewrite map[string]*url.URL

func (r rewrite) RoundTrip(request *http.Request) (*http.Response, error) {
	server := r[request.URL.Host]
	if server == nil {
		server = r[""]
	}
	redirected := request.Clone(request.Context())
	redirected.URL.Scheme, redirected.URL.Host = server.Scheme, server.Host
	return http.DefaultTransport.RoundTrip(redirected)
}
