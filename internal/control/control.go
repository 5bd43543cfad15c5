// Package control is everything that can be asked of a deployment, in the shapes of package api: the command prints what it returns, and
// the HTTP API answers with it. It has no rules of its own about runs: these are those of the library and of runtime/client. It knows
// neither flags nor requests.
package control

import (
	"context"
	"sync"
	"time"

	"golang.org/x/sync/singleflight"

	"github.com/swrun/swrun"
	"github.com/swrun/swrun/internal/access"
	"github.com/swrun/swrun/internal/doctor"
	"github.com/swrun/swrun/runtime/client"
	"github.com/swrun/swrun/runtime/definition"
	"github.com/swrun/swrun/runtime/store"
)

// Control asks one deployment. Several goroutines may use it.
type Control struct {
	// Perform is told of each run that is started with its definition, and is to see to it that somebody works on it; nil where a worker works
	// on all runs, or others do.
	Perform func(*swrun.Run)
	// AlsoExamine returns what only this process knows of the deployment's health; nil for nothing.
	AlsoExamine func() []doctor.Finding
	// Secrets are those of this process, for the workflows that it runs; nil if it runs none.
	Secrets Secrets
	// Monitor knows whether the store is well.
	Monitor *doctor.Monitor

	engine *swrun.Engine
	store  *swrun.Store
	client *client.Client
	tokens *access.Tokens
	now    func() time.Time
	health singleflight.Group // of those who ask whether it is well

	looking sync.Mutex
	looks   map[string]*doctor.Looks // of health, by lookFor

	followers followers
	fleet     *fleet
	inputs    keptInputs
	declared  declarations
	repeating chan struct{} // histories that are repeated at a time
}

// maxRepeating is how many histories are repeated at a time: whoever looks may ask for that, and it keeps a processor busy.
const maxRepeating = 2

// New returns what asks the deployment of an engine and its store.
func New(e *swrun.Engine, s *swrun.Store, now func() time.Time) *Control {
	return &Control{
		Monitor: doctor.NewMonitor(s, now),
		looks:   map[string]*doctor.Looks{},
		engine:  e, store: s, client: e.Client(), tokens: access.NewTokens(s, nil), now: now,
		repeating: make(chan struct{}, maxRepeating),
		fleet:     &fleet{client: e.Client(), store: s, catchingUp: make(chan struct{}, maxCatchingUp)},
		followers: followers{client: e.Client(), store: s, feeds: map[store.Instance]*feed{}},
	}
}

// forEveryone returns the context of work that several callers share: it goes on when the first has left, and does not know which namespaces are granted
// to that one, nor takes its memory. Each caller is then given what is granted to it.
func forEveryone(ctx context.Context) context.Context {
	return client.WithMemory(definition.WithGranted(context.WithoutCancel(ctx), nil), nil)
}

// Ready returns an error if the store cannot be relied on. The last second counts.
func (c *Control) Ready(ctx context.Context) error { return c.Monitor.Verdict(ctx).Err() }
