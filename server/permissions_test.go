package server_test

import (
	"encoding/json"
	"fmt"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/swrun/swrun/internal/access"
	"github.com/swrun/swrun/server"
)

// scope is the part of the deployment that an operation concerns, besides its role.
type scope string

const (
	scopePath   scope = "path" // the namespace in its path; another namespace does not exist for the caller
	scopeSeen   scope = "seen" // the objects that its caller sees
	scopeAll    scope = "all"  // the whole deployment; for callers that see all of it
	scopeNobody scope = ""     // no data of any namespace
)

// permission is the requirement of an operation on its callers.
type permission struct {
	role  server.Role
	scope scope
}

// permissions are the requirements of the operations in docs/operating.md. They are not derived from the routes.
func permissions() map[string]permission {
	table := map[permission]string{
		{server.RoleOpen, scopeNobody}:   "live ready getRule",
		{server.RoleViewer, scopeNobody}: "getHealth listWorkers listQueues listFunctions getFunction validate",
		{server.RoleViewer, scopeSeen}:   "listRuns countRuns findRuns followRuns listDeadlines listWorkflows listSchedules listSettings getOpenAPI listDeadMessages getDeadMessage listUnmatchedEvents listListeners listTrouble",
		{server.RoleViewer, scopePath}:   "getRun getOutput getOutcome getHistory getRunDeadlines followRun getTask getGraph getTimeline exportRun getLatestWorkflow getWorkflow getSchedule getSettings",
		{server.RoleViewer, scopeAll}:    "getMetrics",
		{server.RoleAuthor, scopeSeen}:   "startRun pollActivities heartbeatActivity completeActivity failActivity reportActivities returnActivity stopPolling publishEvents",
		{server.RoleAuthor, scopePath}:   "startWorkflow putWorkflow checkRuns triggerSchedule",
		{server.RoleAuthor, scopeAll}:    "putFunction",
		{server.RoleOperator, scopeAll}:  "deleteFunction",
		{server.RoleOperator, scopeSeen}: "cancelRuns terminateRuns suspendRuns resumeRuns retryRuns retryNowRuns deleteRuns migrateRuns forkRuns setDeadlines retryDeadMessages dropDeadMessages acknowledgeTrouble unacknowledgeTrouble",
		{server.RoleOperator, scopePath}: "cancelRun terminateRun suspendRun resumeRun retryRun retryNowRun deleteRun migrateRun setDeadline forkRun deleteWorkflow pauseSchedule resumeSchedule",
		{server.RoleAdmin, scopePath}:    "changeNamespaceSettings",
		{server.RoleAdmin, scopeAll}:     "issueToken listTokens revokeToken limitQueue pauseQueue resumeQueue listSinks retryDeadLetters dropDeadLetters changeSettings repair importRun",
	}
	all := map[string]permission{}
	for p, operations := range table {
		for _, o := range strings.Fields(operations) {
			all[o] = p
		}
	}
	return all
}

// described is an operation of /openapi.json.
type described struct {
	ID           string `json:"operationId"`
	Role         string `json:"x-swrun-role"`
	method, path string
}

// operations returns the operations in the description of a server.
func (g *guarded) operations(t *testing.T, authorization string) (all []described) {
	t.Helper()
	var document struct {
		Paths map[string]map[string]described
	}
	w := g.send("GET", "/openapi.json", "", "Authorization", authorization)
	if err := json.Unmarshal(w.Body.Bytes(), &document); err != nil {
		t.Fatalf("%d: %v", w.Code, err)
	}
	for path, methods := range document.Paths {
		for method, o := range methods {
			o.method, o.path = strings.ToUpper(method), path
			all = append(all, o)
		}
	}
	return all
}

// TestEveryRoleOnEveryOperation calls every operation of /openapi.json without a token, and with each role, in the caller's own namespace and in
// another one, and compares the answer with the table of permissions (promises 89 to 92). An operation that is not in the table fails.
func TestEveryRoleOnEveryOperation(t *testing.T) {
	g := mustGuard(t, nil)
	may := permissions()
	all := g.operations(t, g.token(t, "reader", access.Grant{Role: access.RoleViewer, Everywhere: true}))
	for _, o := range all {
		p, known := may[o.ID]
		if !known || string(p.role) != o.Role {
			t.Errorf("%s %s (%s) is described for the role %q, and the table says %q", o.method, o.path, o.ID, o.Role, p.role)
		}
	}
	if len(all) != len(may) {
		t.Errorf("%d operations are described, and %d are in the table", len(all), len(may))
	}
	for n, role := range append(access.Granted(), "") {
		authorization := ""
		if role != "" {
			authorization = g.token(t, fmt.Sprintf("caller-%d", n), access.Grant{Role: role, Namespaces: []string{"mine"}})
		}
		for _, o := range all {
			for _, namespace := range []string{"mine", "other"} {
				g.now.pass(time.Second) // no caller exceeds its rate
				path := strings.NewReplacer("{namespace}", namespace, "{", "", "}", "").Replace(o.path)
				w := g.send(o.method, path, "", "Authorization", authorization)
				if want, ok := may[o.ID].answered(w, role, namespace); !ok {
					t.Errorf("%s %s in %s as %q: want %s, got %d %s", o.method, o.path, namespace, role, want, w.Code, w.Body)
				}
			}
		}
	}
}

// answered reports whether a caller of the namespace mine gets the expected answer.
func (p permission) answered(w *httptest.ResponseRecorder, role server.Role, namespace string) (want string, ok bool) {
	switch {
	case p.role == server.RoleOpen:
	case role == "":
		return "401", w.Code == 401 && strings.HasPrefix(w.Header().Get("WWW-Authenticate"), "Bearer ")
	case !role.Allows(p.role):
		return "403", w.Code == 403 && strings.Contains(w.Header().Get("WWW-Authenticate"), "insufficient_scope")
	case p.scope == scopeAll:
		return "403 for some namespaces", w.Code == 403 && strings.Contains(w.Body.String(), "about all namespaces")
	case p.scope == scopePath && namespace == "other":
		return "404", w.Code == 404 && strings.Contains(w.Body.String(), "namespace other")
	}
	return "an answer", w.Code != 401 && w.Code != 403
}

// TestOtherNamespacesAreHidden: a token for one namespace reads nothing of another one with any operation, and cannot command anything in it.
func TestOtherNamespacesAreHidden(t *testing.T) {
	g := mustGuard(t, nil)
	root := g.token(t, "root", access.Grant{Role: access.RoleAdmin, Everywhere: true})
	mine := g.token(t, "mine", access.Grant{Role: access.RoleAdmin, Namespaces: []string{"mine"}})
	hidden := "document: {dsl: 1.0.3, namespace: hush, name: hush, version: 1.0.0}\ndo: [{hush: {call: 'activity:1.0.0@default', with: {type: x}}}]"
	must := func(method, path, body string) {
		t.Helper()
		if w := g.send(method, path, body, "Authorization", root); w.Code/100 != 2 {
			t.Fatalf("%s %s: %d %s", method, path, w.Code, w.Body)
		}
	}
	must("PUT", "/v1/workflows/hush/hush/1.0.0", hidden)
	must("POST", "/v1/runs", `{"workflow": "hush/hush", "id": "hush", "executionTimeout": "1m", "labels": {"hush": "hush"}}`)
	must("POST", "/v1/settings/hush", `{"set": {"runTimeout": "1h"}}`)
	for _, path := range []string{
		"/openapi.json", "/v1/health", "/v1/workers", "/v1/queues", "/v1/settings", "/v1/workflows", "/v1/runs", "/v1/runs?where=label.hush=hush", "/v1/runs/count",
		"/v1/runs/count?by=namespace", "/v1/runs/find?name=h", "/v1/deadlines?within=1h", "/v1/deadlines?within=1h&namespace=mine",
	} {
		g.now.pass(time.Second)
		w := g.send("GET", path, "", "Authorization", mine)
		if w.Code != 200 || strings.Contains(w.Body.String(), "hush") {
			t.Errorf("%s: %d %s", path, w.Code, w.Body)
		}
		if path == "/v1/runs/count" && !strings.Contains(w.Body.String(), `"count":0`) {
			t.Errorf("%s: %s", path, w.Body)
		}
	}
	for path, body := range map[string]string{
		"/v1/runs":            `{"workflow": "hush/hush"}`,
		"/v1/runs/cancel":     `{"runs": ["hush/hush"]}`,
		"/v1/runs/terminate":  `{"where": "id=hush"}`,
		"/v1/runs/delete":     `{"runs": ["hush/hush"]}`,
		"/v1/runs/migrate":    `{"runs": ["hush/hush"], "to": "latest"}`,
		"/v1/activities/poll": `{"queues": ["default"], "namespace": "hush"}`,
	} {
		g.now.pass(time.Second)
		w := g.send("POST", path, body, "Authorization", mine)
		if said := w.Body.String(); !strings.Contains(said, "404") && !strings.Contains(said, `"outcomes":[]`) {
			t.Errorf("%s: %d %s", path, w.Code, said)
		}
	}
	if w := g.send("GET", "/v1/runs/hush/hush", "", "Authorization", root); !strings.Contains(w.Body.String(), `"status":"pending"`) || strings.Contains(w.Body.String(), `"commands"`) {
		t.Errorf("the run of the other namespace has changed: %s", w.Body)
	}
}

// token issues a token, and returns it with its scheme.
func (g *guarded) token(t *testing.T, name string, grant access.Grant) string {
	t.Helper()
	text, _, err := g.tokens.New(t.Context(), name, grant, 0, "")
	if err != nil {
		t.Fatal(err)
	}
	return "Bearer " + text
}
