package server

import "net/http"

// This file records who has asked for a change.

// end records a request that was answered.
func (s *Server) end(x *exchange, r *http.Request) {
	x.allowWrite() // what is still in buffers
	refused := x.status == http.StatusUnauthorized || x.status == http.StatusForbidden
	if !changes(r.Method) || x.caller.Name == "" && !refused || x.unaudited && !refused {
		return
	}
	fields := []any{"actor", x.caller.Name, "operation", x.route, "method", r.Method, "path", r.URL.Path, "status", x.status}
	if x.reason != "" {
		fields = append(fields, "reason", x.reason)
	}
	if x.caller.Name == "" {
		s.log.Warn("a request without a token was refused", append(fields[2:], "from", remoteAddress(r))...)
		return
	}
	s.log.Info("audit", fields...)
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
