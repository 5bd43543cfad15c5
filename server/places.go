package server

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/danielgtaylor/huma/v2"
)

// This file divides the requests in progress between callers, and between requests that wait and requests that are answered immediately.

// places counts the requests of identified callers.
type places struct {
	most    int // maximum number of requests in progress, of all callers
	mu      sync.Mutex
	of      map[string]int // requests of each caller with a token
	waiting map[string]int // the requests in of that wait
	wait    int            // requests of all callers that wait
}

// holds is in the metadata of operations whose requests always wait: streams, and polls.
const holds = "holds"

// mayWait reports whether a request may wait for something to happen.
func mayWait(ctx huma.Context) bool {
	_, always := ctx.Operation().Metadata[holds]
	return always || ctx.Query("wait") != "" || strings.Contains(strings.ToLower(ctx.Header("Prefer")), "wait")
}

// share returns the given number of quarters of the places, and at least one place.
func (p *places) share(quarters int) int { return max(1, p.most*quarters/4) }

// take counts a request, or refuses it. Requests that wait leave a quarter of the places to requests that are answered immediately, such as commands.
// A caller with a token leaves a quarter of the places to others, and half of them for requests that wait. Callers without a token cannot be
// distinguished.
func (p *places) take(token string, waits bool) (leave func(), err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case waits && p.wait >= p.share(3):
		return nil, p.refusal("requests that wait", p.share(3), "of all callers")
	case waits && token != "" && p.waiting[token] >= p.share(2):
		return nil, p.refusal("requests of a caller that wait", p.share(2), "of this token")
	case token != "" && p.of[token] >= p.share(3):
		return nil, p.refusal("requests of a caller in progress", p.share(3), "of this token")
	}
	p.count(token, waits, 1)
	return func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.count(token, waits, -1)
	}, nil
}

func (p *places) refusal(name string, most int, whose string) error {
	return tooMany(name, most, time.Second, fmt.Sprintf("%d %s %s are in progress, and that is the most: end some, or ask again later", most, strings.Replace(name, " in progress", "", 1), whose))
}

// count adds to the counts of a caller, and forgets a caller without requests.
func (p *places) count(token string, waits bool, n int) {
	if waits {
		p.wait += n
	}
	if token == "" {
		return
	}
	if p.of[token] += n; p.of[token] == 0 {
		delete(p.of, token)
	}
	if !waits {
		return
	}
	if p.waiting[token] += n; p.waiting[token] == 0 {
		delete(p.waiting, token)
	}
}

// placed counts a request among the requests in progress of its caller.
func (s *Server) placed(ctx huma.Context, r *http.Request, caller Caller) (leave func(), err error) {
	token := ""
	if r.Header.Get("Authorization") != "" {
		token = caller.Name
	}
	return s.places.take(token, mayWait(ctx))
}
