package server

import (
	"math"
	"net/http"
	"sync"
	"time"

	"github.com/swrun/swrun/internal/api"
)

// InProcess returns the handler for calls (api.Call) of the process that has opened the store. The caller is the owner of the store (TrustOwner), and
// waits for the store without a time limit.
func InProcess(c Config) http.Handler {
	c.Authorize, c.AnyHost, c.ReadWithin, c.Rate, c.Memory = TrustOwner, true, time.Duration(math.MaxInt64/4), math.MaxInt32, math.MaxInt64/4
	return &inProcess{config: c, servers: map[string]*Server{}}
}

// inProcess has a server for each operation that was called: the description of all operations takes longer than most verbs.
type inProcess struct {
	config  Config
	mu      sync.Mutex
	servers map[string]*Server
}

// ServeHTTP implements http.Handler.
func (p *inProcess) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	p.of(api.CallOf(r.Context()).Operation).ServeHTTP(w, r)
}

func (p *inProcess) of(operation string) *Server {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.servers[operation] == nil {
		c := p.config
		c.only = operation
		p.servers[operation] = New(c)
	}
	return p.servers[operation]
}
