package server

import (
	"log/slog"
	"net/http"

	"github.com/swrun/swrun/internal/audit"
)

// This file records who has asked for a change.

// LevelAudit is the level of the lines that say who has asked for a change. It is above slog.LevelError, so that no level of a log leaves them out.
const LevelAudit slog.Level = audit.Level

// end records a request that was answered.
func (s *Server) end(x *exchange, r *http.Request) {
	x.allowWrite() // what is still in buffers
	refused := x.status == http.StatusUnauthorized || x.status == http.StatusForbidden
	if !changes(r.Method) || x.caller.Name == "" && !refused || x.unaudited && !refused {
		return
	}
	fields := []any{"actor", x.caller.Name, "operation", x.route, "method", r.Method, "path", r.URL.Path, "status", x.status}
	if x.subject != "" {
		fields = append(fields, "subject", x.subject)
	}
	if x.reason != "" {
		fields = append(fields, "reason", x.reason)
	}
	if x.refusal != "" {
		fields = append(fields, "refusal", x.refusal)
	}
	if x.caller.Name == "" {
		s.log.Warn("a request without a token was refused", append(fields[2:], "from", remoteAddress(r))...)
		return
	}
	audit.Log(r.Context(), s.log, fields...)
}

// unaudited is in the metadata of operations that change nothing, or that report what was asked for elsewhere.
const unaudited = "unaudited"

// changes reports whether requests with a method change something.
func changes(method string) bool {
	switch method {
	case http.MethodGet, http.MethodHead, http.MethodOptions:
		return false
	}
	return true
}
