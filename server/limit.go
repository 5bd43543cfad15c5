package server

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/swrun/swrun/internal/api"
	"github.com/swrun/swrun/internal/control"
	"github.com/swrun/swrun/internal/doctor"
	"github.com/swrun/swrun/runtime/definition"
	"github.com/swrun/swrun/runtime/store"
)

// This file limits the time for which a request waits for the store, and answers the requests of a store that is known to be unavailable.

const (
	// outageAfter is the time for which the store must have refused something before its requests are answered immediately. Shorter outages only
	// delay callers.
	outageAfter = 2 * time.Second
	// knownFor is the maximum age of a verdict on the store.
	knownFor = 5 * time.Second
	// examineEvery is the interval of the examinations of the store while requests wait for it.
	examineEvery = time.Second
	// retryOutage is the time after which a caller may ask again, in seconds.
	retryOutage = 2
)

var (
	errUnanswered = errors.New("the store has not answered in time")
	errOutage     = errors.New("the store refuses this at the moment")
)

// waiting are the requests that wait for the store.
type waiting struct {
	mu  sync.Mutex
	all map[*limit]struct{}
}

// limit is the limit of one of these requests.
type limit struct {
	end    context.CancelCauseFunc
	timer  *time.Timer
	within time.Duration
	needs  store.Refusing // a refusal of this kind by the store ends the request
}

type limitKey struct{}

// limited returns a context for the requests to the store that serve one request. The context ends if the store does not answer in time, and as soon
// as the store is known to refuse the needed kind of requests.
func (s *Server) limited(ctx context.Context, needs store.Refusing, within time.Duration) (context.Context, context.CancelFunc) {
	ctx, end := context.WithCancelCause(ctx)
	l := &limit{end: end, within: within, needs: needs}
	l.timer = time.AfterFunc(within, func() { end(errUnanswered) })
	s.waiting.mu.Lock()
	defer s.waiting.mu.Unlock()
	if s.waiting.all == nil {
		s.waiting.all = map[*limit]struct{}{}
	}
	s.waiting.all[l] = struct{}{}
	if s.control.Monitor.Last().RefusedSince(needs, s.config.Now().Add(-knownFor), outageAfter) {
		end(errOutage)
	}
	return context.WithValue(ctx, limitKey{}, l), func() {
		l.timer.Stop()
		end(nil)
		s.waiting.mu.Lock()
		defer s.waiting.mu.Unlock()
		delete(s.waiting.all, l)
	}
}

// alsoWaits extends the limit of a request by the time for which its caller asked it to wait.
func alsoWaits(ctx context.Context, wait time.Duration) {
	if l, _ := ctx.Value(limitKey{}).(*limit); l != nil {
		l.timer.Reset(wait + l.within)
	}
}

// outageOf returns an error if the store was the cause of a context's end.
func outageOf(ctx context.Context) error {
	if cause := context.Cause(ctx); errors.Is(cause, errOutage) || errors.Is(cause, errUnanswered) {
		return cause
	}
	return nil
}

// forOperation returns the limited context of an operation.
func (s *Server) forOperation(ctx context.Context, o *huma.Operation) (context.Context, context.CancelFunc) {
	needs, within := store.RefusesWrites, s.readWithin()
	if o.Method == http.MethodGet || readsOnly(o.OperationID) {
		needs = store.RefusesAll
	}
	if takesLong(o) {
		within = max(within, performWithin)
	}
	return s.limited(ctx, needs, within)
}

// readsOnly reports whether an operation that is no GET changes nothing.
func readsOnly(id string) bool { return id == "count" || id == "validate" || id == "checkRuns" }

// takesLong reports whether an operation reads many runs or a whole history, fetches resources of others, or publishes
// many events.
func takesLong(o *huma.Operation) bool {
	switch o.OperationID {
	case "repair", "importRun", "putWorkflow", "publishEvents", "checkRuns", "forkRun", "migrateRun":
		return true
	}
	return o.Method == http.MethodPost && strings.HasSuffix(o.OperationID, "Runs")
}

// watchStore examines the store while requests wait for it, until ctx ends. It ends the requests for which the store is unavailable.
func (s *Server) watchStore(ctx context.Context) {
	tick := time.NewTicker(examineEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		if !s.waiting.any() {
			continue
		}
		within, cancel := context.WithTimeout(ctx, knownFor)
		v := s.control.Monitor.Verdict(within)
		cancel()
		s.waiting.mu.Lock()
		for l := range s.waiting.all {
			if v.RefusedSince(l.needs, time.Time{}, outageAfter) {
				l.end(errOutage)
			}
		}
		s.waiting.mu.Unlock()
	}
}

func (l *waiting) any() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.all) > 0
}

// lostStart is the problem of a start that was accepted and is gone.
func lostStart(lost *control.LostStartError) *api.Problem {
	p := newProblem(http.StatusServiceUnavailable, "store-unavailable", "The store cannot be used now", lost.Error())
	p.RetryAfter, p.Applied = retryOutage, api.AppliedMaybe
	p.Help = "look for the run, and start it again with the same id if it is not there"
	return p
}

// unavailable is the problem of a request for which the store could not be used. It reports whether something may have been changed.
func (s *Server) unavailable(ctx context.Context, err error) *api.Problem {
	var unheard *store.UnheardError
	if !errors.Is(err, errOutage) && !errors.As(err, new(*doctor.IllError)) && !errors.As(err, &unheard) { // otherwise the log contains one line about the state of the store
		s.log.Error("a request failed", "error", err)
	}
	p := newProblem(http.StatusServiceUnavailable, "store-unavailable", "The store cannot be used now", "nothing was changed")
	p.RetryAfter, p.Applied = retryOutage, api.AppliedNo
	p.Help = "ask again later; swrun doctor shows what is wrong"
	x := exchangeOf(ctx)
	defer s.explain(p, x, err)
	switch {
	case x == nil:
	case unheard != nil:
		p.Detail = unheard.Error()
	case x.method == http.MethodGet || x.method == http.MethodHead:
		p.Detail = "what was asked for cannot be read now"
	case x.attempt.MayHaveChanged():
		p.Applied, p.Detail = api.AppliedMaybe, "the request may have been carried out, wholly or in part"
		p.Help = fmt.Sprintf("look before you send it again, or send it again with the %s that it had", keyHeader)
	}
	return p
}

// explain adds to a problem the fault of the store and its remedy, from the health checks or the error. Callers without a role do not get them; the
// others could read the same in the health checks.
func (s *Server) explain(p *api.Problem, x *exchange, err error) {
	worst, ill := s.control.Monitor.Because(err)
	if !ill || x == nil || x.caller.Role == "" {
		return
	}
	if worst = definition.Granted(x.caller.Audience()).Ailment(worst); !strings.Contains(p.Detail, worst.What) {
		p.Detail += ": " + worst.What
	}
	p.Help = worst.Fix + "; " + p.Help
}
