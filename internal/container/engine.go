// Package container runs containers by the Docker Engine API, which Docker and Podman serve. A container has labels that name the process that waits
// for it. If that process is killed, the next process that uses the same engine stops the container: see Sweep and Watch.
package container

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/containerd/errdefs"
	"github.com/moby/moby/client"
)

// Config specifies the engine. The zero value finds the engine of this machine in the same way as the clients of Docker and Podman.
type Config struct {
	// Lookup reads the environment; nil reads the environment of this process.
	Lookup func(name string) (value string, ok bool)
	// Dial connects to the engine in place of the address in the environment; nil uses the environment.
	Dial func(ctx context.Context) (net.Conn, error)
	// Owner is the process for which containers are started; empty for this process.
	Owner string
	// Log gets the containers that Sweep stopped and removed, and the errors that prevent Watch from this; nil discards them.
	Log *slog.Logger
	// Now is the clock by which containers are removed some time after their end; nil is time.Now.
	Now func() time.Time
}

// Engine runs containers. It connects at its first use; its methods may be called from several goroutines.
type Engine struct {
	config Config
	owner  func() string // as Config.Owner
	id     string        // in labels: an engine knows which of its own containers are abandoned
	begun  atomic.Bool   // the first sweep
	swept  chan struct{} // closed after the first sweep

	mu         sync.Mutex
	clients    *clients
	performing map[string]int       // the keys of the jobs that run
	ends       map[string]time.Time // the ends of containers that are kept for some time, as the last sweep saw them
}

// New returns an engine, without a connection to it.
func New(c Config) *Engine {
	if c.Lookup == nil {
		c.Lookup = os.LookupEnv
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	owner := sync.OnceValue(func() string { return cmp.Or(c.Owner, Owner()) })
	return &Engine{config: c, owner: owner, id: rand.Text(), swept: make(chan struct{}), performing: map[string]int{}}
}

// Close closes unused connections. The next job searches the engine again.
func (e *Engine) Close() {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.clients != nil {
		_ = e.clients.answers.Close() // it only closes idle connections
		_ = e.clients.streams.Close() // the same
	}
	e.clients = nil
}

// performs protects a container from Sweep while its job runs.
func (e *Engine) performs(key string) (ended func()) {
	e.count(key, 1)
	return func() { e.count(key, -1) }
}

func (e *Engine) count(key string, n int) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.performing[key] += n; e.performing[key] == 0 {
		delete(e.performing, key)
	}
}

func (e *Engine) isPerforming(key string) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.performing[key] > 0
}

// RefusedError reports that the engine refuses a job. Another attempt does not help.
type RefusedError struct{ Detail string }

func (e *RefusedError) Error() string { return e.Detail }

// UnreachableError reports that the engine does not answer, or fails.
type UnreachableError struct{ Detail string }

func (e *UnreachableError) Error() string { return e.Detail }

// The limits of an engine's time for one answer. A pull may be silent for that time, and a container runs as long as its task.
const (
	maxAnswer = 30 * time.Second
	maxSilent = 5 * time.Minute
	maxCause  = 500
)

// clients are the clients of one engine.
type clients struct {
	answers *client.Client // an answer has a bound
	streams *client.Client // for pulls and attachments, which may take long and have no limit as a whole
}

// connect returns the clients of the engine.
func (e *Engine) connect() (*clients, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.clients != nil {
		return e.clients, nil
	}
	c, err := e.newClients()
	if err != nil {
		return nil, err
	}
	e.clients = c
	return c, nil
}

// newClients returns the clients of the engine.
func (e *Engine) newClients() (*clients, error) {
	var host string
	dial := e.config.Dial
	if dial != nil {
		host = "tcp://engine"
	} else {
		var secure *tls.Config
		var err error
		if host, secure, err = find(e.config.Lookup); err != nil {
			return nil, err
		}
		if at, err := client.ParseHostURL(host); err == nil { // otherwise the client reports the mistake
			network := map[bool]string{true: "unix", false: "tcp"}[at.Scheme == "unix"]
			dial = reach{network, at.Host, secure}.dial
		}
	}
	c := &clients{}
	for to, follow := range map[**client.Client]func(net.Conn) net.Conn{&c.answers: followAnswers, &c.streams: followHead} {
		one, err := client.New(append([]client.Opt{client.WithHost(host)}, guarded(dial, follow)...)...)
		if err != nil {
			return nil, &RefusedError{"the container engine cannot be used: " + short(err.Error())}
		}
		*to = one
	}
	return c, nil
}

// failed returns the error of a failed request to the engine; what names the request.
func failed(what string, err error) error {
	detail := what + ": " + short(err.Error())
	var refused *RefusedError
	var unreachable *UnreachableError
	switch {
	case errors.As(err, &refused), errors.As(err, &unreachable):
		return err
	case errdefs.IsNotFound(err), errdefs.IsConflict(err), errdefs.IsInvalidArgument(err), errdefs.IsPermissionDenied(err), errdefs.IsUnauthorized(err), errdefs.IsNotImplemented(err):
		return &RefusedError{detail}
	case client.IsErrConnectionFailed(err):
		return &UnreachableError{detail + "; is Docker or Podman running, and may this process use its socket?"}
	}
	return &UnreachableError{detail}
}

func isUnreachable(err error) bool {
	_, ok := errors.AsType[*UnreachableError](err)
	return ok
}

func short(s string) string {
	if len(s) > maxCause {
		return s[:maxCause] + "…"
	}
	return s
}

// ask limits the time of one request to the engine.
func ask[T any](ctx context.Context, request func(ctx context.Context) (T, error)) (T, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, maxAnswer, &UnreachableError{fmt.Sprintf("the container engine has not answered for %s", maxAnswer)})
	defer cancel()
	answer, err := request(ctx)
	if err != nil && ctx.Err() != nil {
		return answer, context.Cause(ctx)
	}
	return answer, err
}
