package swrun_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/swrun/swrun"
	"github.com/swrun/swrun/errors"
	"github.com/swrun/swrun/runtime/store"
)

// TestGrantsOfOthers (promises 139 to 141): if a worker lacks a secret, an address or the engine of a script for a task, it leaves the task to a
// worker that has it. Until then the deadlines of the run hold, no worker claims the run repeatedly, and its description names the missing grant.
// Without such workers, in memory, the task fails.
func TestGrantsOfOthers(t *testing.T) {
	secret := swrun.NewSecrets(map[string]any{"api": "s3cret-value"}, nil).Lookup
	const declared = "use: {secrets: [api]}\n"
	for _, c := range []struct {
		name, head, task string
		lacking, having  swrun.Host
		why, fails       string
	}{
		{"a secret", declared, `{set: {a: "${ $secrets.api | length }"}}`, swrun.Host{}, swrun.Host{Secrets: secret}, "has the secret api", `the secret "api" is not available`},
		{"a secret of a call", declared, `{call: http, with: {method: get, endpoint: {uri: "http://10.1.2.3/", authentication: {basic: {use: api}}}}}`, swrun.Host{},
			swrun.Host{Secrets: secret, Calls: map[string]swrun.Performer{"http": done}}, "has the secret api", `the secret "api" is not available`},
		{"a secret in a branch", declared, `{fork: {branches: [{b: {set: {a: "${ $secrets.api | length }"}}}]}}`, swrun.Host{}, swrun.Host{Secrets: secret}, "has the secret api", `the secret "api" is not available`},
		{"an address", "", "{call: http, with: {method: get, endpoint: 'http://10.1.2.3:81/'}}", swrun.Host{Network: swrun.NetworkPublic},
			swrun.Host{}, "may call 10.1.2.3:81", "the network policy is public"},
		{"any address", "", "{call: http, with: {method: get, endpoint: 'http://192.0.2.1/'}}", swrun.Host{Network: swrun.NetworkDeny},
			swrun.Host{}, "may call 192.0.2.1:80", "the network policy is deny"},
		{"a file", "", `{call: openapi, with: {document: {endpoint: '${ "file:///nowhere.yaml" }'}, operationId: x}}`, swrun.Host{},
			swrun.Host{Files: true}, "may read files", "files may not be read here"},
		{"any name", "", "{call: http, with: {method: get, endpoint: 'http://nowhere.invalid/'}}", swrun.Host{Network: swrun.NetworkDeny},
			swrun.Host{}, "may call nowhere.invalid:80", "the network policy is deny"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if _, err := mustParse(t, c.head+"do: [{a: "+c.task+"}]\n").Run(t.Context(), nil, swrun.RunConfig{Host: c.lacking}); err == nil || !strings.Contains(err.Error(), c.fails) {
				t.Errorf("in memory it ends with %v", err)
			}
			synctest.Test(t, func(t *testing.T) {
				s, err := swrun.OpenStore(t.Context(), "memory:", swrun.StoreConfig{})
				if err != nil {
					t.Fatal(err)
				}
				with, without := mustEngineOn(t, s, c.having), mustEngineOn(t, s, c.lacking)
				start := func(id, document string) *swrun.Run {
					run, err := with.StartDocument(t.Context(), mustParse(t, document), nil, swrun.StartOptions{ID: id})
					if err != nil {
						t.Fatal(err)
					}
					return run
				}
				patient := start("patient", c.head+"do: [{before: {wait: PT5S}}, {a: "+c.task+"}]\n")
				start("timed", c.head+"timeout: {after: PT1M}\ndo: [{a: "+c.task+"}]\n")
				caught := start("caught", c.head+"do: [{t: {try: [{o: {do: [{a: "+c.task+"}], timeout: {after: PT1M}}}], catch: {errors: {with: {status: 408}}}}}]\n")
				stop := work(t, without)
				time.Sleep(time.Minute + time.Second)
				version := func() int64 {
					l, err := s.Load(t.Context(), store.Instance{Namespace: "demo", ID: "patient"})
					if err != nil {
						t.Fatal(err)
					}
					return l.Lifecycle.Version
				}
				before := version()
				time.Sleep(time.Hour)
				if after := version(); after != before {
					t.Errorf("while it waits, its record is written %d times", after-before)
				}
				if fault := errors.AsError(second(without.Run("demo", "timed").Await(t.Context()))); fault == nil || fault.Status != 408 {
					t.Errorf("the deadline of the run has not held: %v", fault)
				}
				if _, err := caught.Await(t.Context()); err != nil {
					t.Errorf("the deadline of the task has not held: %v", err)
				}
				d, err := patient.Describe(t.Context())
				if err != nil || !strings.Contains(d.Why, "waits for a worker that "+c.why) || !strings.Contains(d.Why, ", for 1h") {
					t.Errorf("described as %+v, %v", d.Why, err)
				}
				defer stop()
				if c.having.Secrets == nil { // no address is called in virtual time
					return
				}
				defer work(t, with)()
				if _, err := patient.Await(t.Context()); err != nil {
					t.Errorf("with a worker that has it, it ends with %v", err)
				}
			})
		})
	}
}

// TestNeedsAreEachTasksOwn: if several tasks wait for other workers, the description of each contains its own missing grant.
func TestNeedsAreEachTasksOwn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, err := swrun.OpenStore(t.Context(), "memory:", swrun.StoreConfig{})
		if err != nil {
			t.Fatal(err)
		}
		engine := mustEngineOn(t, s, swrun.Host{Network: swrun.NetworkPublic})
		run, err := engine.StartDocument(t.Context(), mustParse(t, `
do:
- f:
    fork:
      branches:
      - one: {call: http, with: {method: get, endpoint: 'http://10.1.2.3/'}}
      - two: {call: http, with: {method: get, endpoint: 'http://10.1.2.4/'}}
      - three: {run: {script: {language: js, code: '1'}}}
      - four: {run: {shell: {command: 'true'}}}
`), nil, swrun.StartOptions{ID: "branches"})
		if err != nil {
			t.Fatal(err)
		}
		stop := work(t, engine)
		time.Sleep(time.Minute)
		d, err := run.Describe(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for branch, need := range map[string]string{
			"one": "may call 10.1.2.3:80;", "two": "may call 10.1.2.4:80;", "three": "may run processes and runs scripts in js;", "four": "may run processes;",
		} {
			_, says, _ := strings.Cut(d.Why, "/"+branch+" ")
			if _, says, _ = strings.Cut(says, " waits for a worker that "); !strings.HasPrefix(says, need) {
				t.Errorf("of %s it says %q", branch, d.Why)
			}
		}
		stop()
	})
}

func mustEngineOn(t *testing.T, s *swrun.Store, h swrun.Host) *swrun.Engine {
	t.Helper()
	e, err := swrun.NewEngine(s, swrun.EngineConfig{Host: h})
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// TestAddressOfOthers: a worker whose policy allows a call makes the call for a worker whose policy forbids it.
func TestAddressOfOthers(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("hello")) }))
	defer server.Close()
	s, err := swrun.OpenStore(t.Context(), "memory:", swrun.StoreConfig{})
	if err != nil {
		t.Fatal(err)
	}
	with, without := mustEngineOn(t, s, swrun.Host{}), mustEngineOn(t, s, swrun.Host{Network: swrun.NetworkPublic})
	run, err := with.StartDocument(t.Context(), mustParse(t, "do: [{a: {call: http, with: {method: get, endpoint: '"+server.URL+"'}}}]\n"), nil, swrun.StartOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer work(t, without)()
	for {
		d, err := run.Describe(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(d.Why, "may call 127.0.0.1:") {
			break
		}
	}
	defer work(t, with)()
	if result, err := run.Await(t.Context()); err != nil || result.Output != "hello" {
		t.Errorf("it ends with %v, %v", result, err)
	}
}
