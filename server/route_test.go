package server_test

import (
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/swrun/swrun/server"
)

// TestRoutesSayWhoMayUseThem holds every route to a role, and a server that nobody has told who may ask to answering only what is open.
func TestRoutesSayWhoMayUseThem(t *testing.T) {
	open := map[string]bool{"live": true, "ready": true}
	s := server.New(server.Config{Control: mustDeployment(t).api.Control()})
	for _, r := range s.Routes() {
		if (r.Role == server.RoleOpen) != open[r.ID] {
			t.Errorf("%s %s is for the role %q", r.Method, r.Path, r.Role)
		}
		path := strings.NewReplacer("{", "", "}", "").Replace(r.Path)
		w := httptest.NewRecorder()
		s.ServeHTTP(w, httptest.NewRequest(r.Method, path, nil))
		if (w.Code == 401) == open[r.ID] {
			t.Errorf("%s %s answers %d without a caller", r.Method, r.Path, w.Code)
		}
	}
}

// TestRolesAllow holds which role may use what.
func TestRolesAllow(t *testing.T) {
	for i, role := range server.Roles() {
		for j, need := range server.Roles() {
			if role.Allows(need) != (i >= j) {
				t.Errorf("%s allows %s: %v", role, need, role.Allows(need))
			}
		}
	}
	if server.Role("").Allows(server.RoleViewer) || server.Role("root").Allows(server.RoleViewer) || server.RoleAdmin.Allows("") || !server.Role("").Allows(server.RoleOpen) {
		t.Error("an unknown role allows something, or nobody may use what is open")
	}
}
