// Package control implements all operations on a deployment, in the forms of package api: the command prints its results, and the HTTP API answers
// with them. It contains no rules about runs: these are in the library and in runtime/client. It knows neither flags nor requests.
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

// Control performs operations on one deployment. Several goroutines may use it.
type Control struct {
	// Perform gets each run that is started with its definition, and has to provide a worker for it. It is nil if a worker, of this process or
	// another one, works on all runs.
	Perform func(*swrun.Run)
	// Startup is the startup of a process that deploys workflows first; nil for other processes.
	Startup *Startup
	// AlsoExamine returns findings about the deployment's health that only this process knows; nil for none.
	AlsoExamine func() []doctor.Finding
	// Secrets are the secrets of this process, for the workflows that it runs; nil if it runs none.
	Secrets Secrets
	// Monitor observes the health of the store.
	Monitor *doctor.Monitor

	engine *swrun.Engine
	store  *swrun.Store
	client *client.Client
	tokens *access.Tokens
	now    func() time.Time
	health singleflight.Group // concurrent examinations of the health

	looking sync.Mutex
	looks   map[string]*doctor.Looks // of the health, by lookFor

	followers followers
	fleet     *fleet
	inputs    keptInputs
	declared  declarations
	repeating chan struct{} // limits the number of concurrent replays of histories
}

// maxRepeating is the maximum number of concurrent replays of histories. Every viewer may request one, and it keeps a processor busy.
const maxRepeating = 2

// New returns the operations on the deployment of an engine and its store.
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

// forEveryone returns the context of work that several callers share. The work continues when the first caller has left, and uses neither the granted
// namespaces nor the memory of that caller. Each caller then gets only data of its granted namespaces.
func forEveryone(ctx context.Context) context.Context {
	return client.WithMemory(definition.WithGranted(context.WithoutCancel(ctx), nil), nil)
}

// Ready returns an error if the store cannot be relied on, or while the process is starting. A verdict of the last second counts.
func (c *Control) Ready(ctx context.Context) error {
	if err := c.Monitor.Verdict(ctx).Err(); err != nil {
		return err
	}
	return c.Startup.Err()
}
