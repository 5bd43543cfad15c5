package server_test

import (
	"context"
	"encoding/json"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/swrun/swrun"
	"github.com/swrun/swrun/internal/access"
	"github.com/swrun/swrun/internal/api"
)

// recordTimes are the members of a record that contain the time of its commit.
var recordTimes = regexp.MustCompile(`"(at|committedAt)":"[^"]*",`)

// TestCommandsAreAudited: a command over HTTP is in the log and in the history of the run, with its actor and its reason; so is a command to a list
// of runs.
func TestCommandsAreAudited(t *testing.T) {
	g := mustGuard(t, nil)
	ada := g.token(t, "ada", access.Grant{Role: access.RoleOperator, Namespaces: []string{"demo"}})
	if w := g.send("PUT", "/v1/workflows/demo/nap/1.0.0", `{"document":{"dsl":"1.0.3","namespace":"demo","name":"nap","version":"1.0.0"},"do":[{"nap":{"wait":{"hours":1}}}]}`, "Authorization", ada); w.Code != 201 {
		t.Fatalf("deployed with %d %s", w.Code, w.Body)
	}
	start := `{"workflow":"demo/nap"}`
	first := g.send("POST", "/v1/runs", start, "Authorization", ada, "Idempotency-Key", "order-7")
	again := g.send("POST", "/v1/runs", start, "Authorization", ada, "Idempotency-Key", "order-7")
	if first.Code != 201 || again.Code != 201 || first.Header().Get("Location") == "" || first.Header().Get("Location") != again.Header().Get("Location") || again.Header().Get("Idempotent-Replayed") != "true" {
		t.Errorf("started with %d %v, and again with %d %v", first.Code, first.Header(), again.Code, again.Header())
	}
	run := first.Header().Get("Location")
	if w := g.send("POST", run+"/suspend", `{"reason":"the shop is closed"}`, "Authorization", ada); w.Code != 202 {
		t.Errorf("suspended with %d %s", w.Code, w.Body)
	}
	if w := g.send("POST", "/v1/runs/cancel", `{"where":"workflow=demo/nap","reason":"nobody wants it"}`, "Authorization", ada); w.Code != 200 {
		t.Errorf("cancelled with %d %s", w.Code, w.Body)
	}
	if w := g.send("POST", "/v1/events/dead/retry", `{"ids":["orders"],"reason":"mended"}`, "Authorization", ada); w.Code != 404 {
		t.Errorf("put back with %d %s", w.Code, w.Body)
	}
	g.mustWork(t, run)
	history := recordTimes.ReplaceAllString(g.send("GET", run+"/history", "", "Authorization", ada).Body.String(), "")
	for _, record := range []string{`"actor":"ada","data":"the shop is closed"`, `"actor":"ada","data":"nobody wants it"`} {
		if !strings.Contains(history, record) {
			t.Errorf("the history does not say %s: %s", record, history)
		}
	}
	for _, line := range []string{
		"actor=ada operation=putWorkflow method=PUT path=/v1/workflows/demo/nap/1.0.0 status=201 subject=demo/nap:1.0.0", `actor=ada operation=startRun method=POST path=/v1/runs status=201 subject="demo/nap ` + strings.TrimPrefix(run, "/v1/runs/") + `"`,
		"actor=ada operation=suspendRun method=POST path=" + run + "/suspend status=202 subject=" + strings.TrimPrefix(run, "/v1/runs/") + ` reason="the shop is closed"`,
		"actor=ada operation=retryDeadMessages method=POST path=/v1/events/dead/retry status=404 subject=orders reason=mended refusal=\"there is no dead letter \\\"orders\\\"\"",
		`actor=ada operation=cancelRuns method=POST path=/v1/runs/cancel status=200 subject=` + strings.TrimPrefix(run, "/v1/runs/") + ` reason="nobody wants it"`,
	} {
		if !strings.Contains(g.log.String(), "msg=audit "+line+"\n") {
			t.Errorf("the log does not say %s:\n%s", line, g.log)
		}
	}
	if d := g.send("GET", run, "", "Authorization", ada).Body.String(); !strings.Contains(d, `"actor":"ada"`) || !strings.Contains(d, `"reason":"nobody wants it"`) {
		t.Errorf("the run is described as %s", d)
	}
	if d := g.send("GET", run, "", "Authorization", ada).Body.String(); !strings.Contains(d, `"startedBy":"ada"`) {
		t.Errorf("the run is described as %s", d)
	}
}

// TestDeploymentsNameWhoMadeThem: a version names the token that deployed it first. A version with runs in progress is kept, regardless of its name.
func TestDeploymentsNameWhoMadeThem(t *testing.T) {
	g := mustGuard(t, nil)
	ada := g.token(t, "ada", access.Grant{Role: access.RoleOperator, Namespaces: []string{"demo"}})
	bob := g.token(t, "bob", access.Grant{Role: access.RoleOperator, Namespaces: []string{"demo"}})
	const text = `{"document":{"dsl":"1.0.3","namespace":"demo","name":"nap","version":"1.0.0"},"do":[{"nap":{"wait":{"hours":1}}}]}`
	for _, by := range []struct {
		token  string
		status int
	}{{ada, 201}, {bob, 200}} {
		if w := g.send("PUT", "/v1/workflows/demo/nap/1.0.0", text, "Authorization", by.token); w.Code != by.status || !strings.Contains(w.Body.String(), `"deployedBy":"ada"`) {
			t.Errorf("got %d %s", w.Code, w.Body)
		}
	}
	for _, path := range []string{"/v1/workflows", "/v1/workflows/demo/nap", "/v1/workflows/demo/nap/1.0.0"} {
		if w := g.send("GET", path, "", "Authorization", bob); !strings.Contains(w.Body.String(), `"deployedBy":"ada"`) || !strings.Contains(w.Body.String(), `"deployedAt":"20`) {
			t.Errorf("%s: %s", path, w.Body)
		}
	}
	for range 2 {
		if w := g.send("POST", "/v1/runs", `{"workflow":"demo/nap"}`, "Authorization", ada); w.Code != 201 {
			t.Fatalf("started with %d %s", w.Code, w.Body)
		}
	}
	for _, version := range []string{"1.0.0", "latest"} {
		if w := g.send("DELETE", "/v1/workflows/demo/nap/"+version, "", "Authorization", bob); w.Code != 409 || !strings.Contains(w.Body.String(), "workflow demo/nap:1.0.0 has 2 open runs") {
			t.Errorf("%s: got %d %s", version, w.Code, w.Body)
		}
	}
}

// TestRefusedChangesAreAudited: the log contains refused changes with the name of the caller.
func TestRefusedChangesAreAudited(t *testing.T) {
	g := mustGuard(t, nil)
	ada := g.token(t, "ada", access.Grant{Role: access.RoleViewer, Namespaces: []string{"demo"}})
	if w := g.send("POST", "/v1/runs/demo/a/cancel", "", "Authorization", ada); w.Code != 403 {
		t.Errorf("got %d %s", w.Code, w.Body)
	}
	if w := g.send("POST", "/v1/runs/demo/a/cancel", ""); w.Code != 401 {
		t.Errorf("got %d %s", w.Code, w.Body)
	}
	for _, line := range []string{
		`msg=audit actor=ada operation=cancelRun method=POST path=/v1/runs/demo/a/cancel status=403 refusal="this needs the role operator; the token has the role viewer"`,
		`msg="a request without a token was refused" operation=cancelRun method=POST path=/v1/runs/demo/a/cancel status=401 refusal="this needs a token" from=192.0.2.1`,
	} {
		if !strings.Contains(g.log.String(), line+"\n") {
			t.Errorf("the log does not say %s:\n%s", line, g.log)
		}
	}
}

// TestRefusalsBeforeAnOperationAreAudited: the log contains the reason of a request that the schema, or another check before the operation, refused.
func TestRefusalsBeforeAnOperationAreAudited(t *testing.T) {
	g := mustGuard(t, nil)
	ada := g.token(t, "ada", access.Grant{Role: access.RoleAdmin, Everywhere: true})
	bob := g.token(t, "bob", access.Grant{Role: access.RoleAdmin, Namespaces: []string{"demo"}})
	for _, c := range []struct{ by, method, path, body string }{
		{ada, "POST", "/v1/runs", `{"workflow": "demo/nap", "owner": "hunter2"}`},
		{ada, "POST", "/v1/runs", `{}`},
		{ada, "POST", "/v1/runs", `{"workflow": ["hunter2"]}`},
		{ada, "POST", "/v1/runs", `{"workflow": "hunter2`},
		{ada, "POST", "/v1/repair?dryRun=7", ``},
		{ada, "POST", "/v1/runs", `"` + strings.Repeat("x", 6<<20) + `"`},
		{ada, "PATCH", "/v1/queues/" + strings.Repeat("x", 129), `{}`},
		{bob, "POST", "/v1/runs/other/a/cancel", ``},
		{bob, "POST", "/v1/repair", ``},
	} {
		before := len(g.log.String())
		w := g.send(c.method, c.path, c.body, "Authorization", c.by)
		line, p := g.log.String()[before:], new(api.Problem)
		if err := json.Unmarshal(w.Body.Bytes(), p); err != nil || p.Detail == "" {
			t.Fatalf("%s: %d %s", c.path, w.Code, w.Body)
		}
		if !strings.Contains(line, "refusal="+strconv.Quote(p.Detail)+"\n") || strings.Contains(line, "hunter2") {
			t.Errorf("%s %.40s %.60s: the log contains %s; want the refusal %q", c.method, c.path, c.body, line, p.Detail)
		}
	}
}

// mustWork runs the server's engine until the run is over.
func (g *guarded) mustWork(t *testing.T, run string) {
	t.Helper()
	parts := strings.Split(run, "/")
	g.now.run()
	defer working(t, g.engine)()
	_, _ = g.engine.Run(parts[len(parts)-2], parts[len(parts)-1]).Await(t.Context()) // the outcome does not matter here
}

// working runs an engine until stop is called.
func working(t *testing.T, e *swrun.Engine) (stop func()) {
	ctx, cancel := context.WithCancel(t.Context())
	worked := make(chan error, 1)
	go func() { worked <- e.Work(ctx) }()
	return func() {
		cancel()
		if err := <-worked; err != nil {
			t.Error(err)
		}
	}
}

// TestSubjectsAreShort: the log contains only the beginning of a subject that a caller made long.
func TestSubjectsAreShort(t *testing.T) {
	g := mustGuard(t, nil)
	ada := g.token(t, "ada", access.Grant{Role: access.RoleAdmin, Everywhere: true})
	long := strings.Repeat("x", 5000)
	for _, r := range [][]string{
		{"POST", "/v1/settings", `{"set":{"runTimeout":"` + long + `"}}`},
		{"PATCH", "/v1/queues/gpu", `{"rate":"` + long + `"}`},
		{"POST", "/v1/sinks/audit/drop", `{"ids":["` + long + `"]}`},
		{"POST", "/v1/events/dead/drop", `{"ids":["` + long + `"]}`},
	} {
		before := len(g.log.String())
		w := g.send(r[0], r[1], r[2], "Authorization", ada)
		if line := g.log.String()[before:]; !strings.Contains(line, "subject=") || strings.Contains(line, long[:1001]) {
			t.Errorf("%s is answered with %d, and the log contains %d bytes: %.200s", r[1], w.Code, len(line), line)
		}
	}
}
