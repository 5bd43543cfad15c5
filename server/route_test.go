package server_test

import (
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/swrun/swrun/server"
)

// TestRoutesSayWhoMayUseThem: every route has a role, and a server without an Authorize serves only open operations.
func TestRoutesSayWhoMayUseThem(t *testing.T) {
	open := map[string]bool{"live": true, "ready": true, "getRule": true}
	at := time.Date(2026, 5, 4, 10, 0, 0, 0, time.UTC)
	now := func() time.Time { at = at.Add(time.Second); return at } // no caller exceeds its rate
	s := server.New(server.Config{Control: mustDeployment(t).api.Control(), Now: now})
	for _, r := range s.Routes() {
		if (r.Role == server.RoleOpen) != open[r.ID] {
			t.Errorf("%s %s is for the role %q", r.Method, r.Path, r.Role)
		}
		path := strings.NewReplacer("{", "", "}", "").Replace(r.Path)
		w := httptest.NewRecorder()
		request := httptest.NewRequest(r.Method, path, nil)
		request.Host = "localhost"
		s.ServeHTTP(w, request)
		if (w.Code == 401) == open[r.ID] {
			t.Errorf("%s %s answers %d without a caller", r.Method, r.Path, w.Code)
		}
	}
}
