package server

import (
	"fmt"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/swrun/swrun/internal/api"
)

// This file refuses requests before any route: requests of other web sites, requests that name another host, and requests above the limit of requests
// in progress.

// admit returns the problem of a request that the server refuses to handle.
func (s *Server) admit(r *http.Request) *api.Problem {
	if p := s.foreignHost(r); p != nil {
		return p
	}
	if err := s.origins.Check(r); err != nil {
		return newProblem(http.StatusForbidden, "cross-origin", "A request of another site", "a web site of another origin must not change anything here")
	}
	return credentialInQuery(r)
}

// foreignHost refuses a request for a host that is not this server. A foreign name that resolves to this server makes browsers treat a foreign page
// as a page of the server (DNS rebinding). If callers need tokens, any name may resolve to the server, because browsers send no tokens automatically.
func (s *Server) foreignHost(r *http.Request) *api.Problem {
	if s.config.AnyHost {
		return nil
	}
	host := r.Host
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	host = strings.TrimSuffix(strings.TrimPrefix(host, "["), "]")
	ip := net.ParseIP(host)
	if strings.EqualFold(host, "localhost") || ip != nil && ip.IsLoopback() {
		return nil
	}
	p := newProblem(http.StatusMisdirectedRequest, "foreign-host", "Another host", fmt.Sprintf("this server is not the host %q", r.Host))
	p.Help = "ask for localhost or 127.0.0.1"
	return p
}

// enter counts a request among the requests in progress, or refuses it. Probes of the health of the server are always admitted.
func (s *Server) enter(r *http.Request) (leave func(), p *api.Problem) {
	if r.URL.Path == livePath || r.URL.Path == readyPath {
		return func() {}, nil
	}
	select {
	case s.inProgress <- struct{}{}:
		return func() { <-s.inProgress }, nil
	default:
		most := cap(s.inProgress)
		return func() {}, tooMany("requests in progress", most, time.Second, fmt.Sprintf("%d requests are in progress, and that is the most", most))
	}
}

// secure sets the headers of every answer. A page of another site can neither read nor show an answer, and a browser interprets it only by its media
// type.
func secure(h http.Header) {
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'")
	h.Set("X-Frame-Options", "DENY")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Cache-Control", "private, no-cache")
}
