package server

import (
	"fmt"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/swrun/swrun/internal/api"
)

// This file refuses requests that no route is to see: those of other web sites, those that name another host, and more than can be
// answered at a time.

// admit returns the problem of a request that is not to be looked at.
func (s *Server) admit(r *http.Request) *api.Problem {
	if p := s.foreignHost(r); p != nil {
		return p
	}
	if err := s.origins.Check(r); err != nil {
		return newProblem(http.StatusForbidden, "cross-origin", "A request of another site", "a web site of another origin must not change anything here")
	}
	return credentialInQuery(r)
}

// foreignHost refuses a request for a host that this server is not: a name of somebody else that leads here makes browsers take a foreign
// page for one of ours (DNS rebinding). Where callers need tokens no browser sends any by itself, so that any name may lead here.
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

// enter counts a request among those in progress, or refuses it. Those that say whether the server is well always have room.
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

// secure sets the headers that every answer has. A page of another site can neither read an answer nor show it, and a browser makes nothing
// of it but what its media type says.
func secure(h http.Header) {
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'")
	h.Set("X-Frame-Options", "DENY")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Cache-Control", "private, no-cache")
}
