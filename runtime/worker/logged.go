package worker

import (
	"context"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/swrun/swrun/errors"
	"github.com/swrun/swrun/internal/duration"
	"github.com/swrun/swrun/internal/shorten"
	"github.com/swrun/swrun/interpreter"
	"github.com/swrun/swrun/runtime/execution"
	"github.com/swrun/swrun/runtime/store"
)

// The log of a worker has one line for each start, end, fault, timeout and quarantine, and lists the effects that a stopping worker waits
// for. Secrets in errors are already hidden in the history.

// logClaimed logs that workers were lost before this one took the run.
func (x *executor) logClaimed(r *store.Lifecycle) {
	log := x.Log()
	switch {
	case r.Reason == store.Quarantined:
		log.Error("a run is quarantined: only its deadlines are kept until it is released (swrun retry)", "workersLost", r.Deaths)
	case r.Deaths > 0:
		log.Info("a run is taken over from a worker that was lost", "workersLost", r.Deaths, "quarantinedAt", x.partition.w.c.RecoveryAttempts)
	}
}

// Log returns the log of the run.
func (x *executor) Log() *slog.Logger {
	return x.partition.w.c.Log.With("run", x.instance.String())
}

// logStored logs the contents of a commit.
func (x *executor) logStored(c *store.Commit) {
	if !x.partition.w.c.Log.Enabled(context.Background(), slog.LevelInfo) {
		return
	}
	log := x.Log()
	for _, e := range x.execution.Actions().History {
		logStep(log, e, x.execution.Invocation())
	}
	if !c.Status.Final() {
		return
	}
	outcome := x.execution.Outcome()
	fields := []any{"records", x.execution.Events()}
	if !outcome.StartedAt.IsZero() { // it has been in progress
		fields = append(fields, "took", duration.FormatRough(outcome.Took()))
	}
	if outcome.Fault != nil {
		fields = append(append(fields, "error", inLog(outcome.Fault)), called(outcome.Fault)...)
	}
	log.Info("a run has ended: "+strings.ReplaceAll(c.Reason, "_", " "), fields...)
}

// logStep logs the noteworthy events of a step while the run continues.
func logStep(log *slog.Logger, e interpreter.HistoryStep, info *execution.Invocation) {
	for _, r := range e.Events {
		switch {
		case r.Type == interpreter.WorkflowStarted:
			log.Info("a run has started", "workflow", info.Workflow.String())
		case r.Type == interpreter.WorkflowSuspended:
			log.Info("a run is suspended", "actor", r.Actor, "reason", r.Data)
		case r.Type == interpreter.WorkflowResumed:
			log.Info("a run is resumed", "actor", r.Actor, "reason", r.Data)
		case r.Type == interpreter.WorkflowReleased:
			log.Info("a run is released from quarantine", "actor", r.Actor, "reason", r.Data)
		case r.Type == interpreter.WorkflowCancelled:
			log.Info("a run is cancelled", "actor", r.Actor, "reason", r.Data)
		}
	}
	first := slices.IndexFunc(e.Events, func(r interpreter.HistoryEvent) bool { return r.Type == interpreter.TaskFaulted })
	if first < 0 {
		return
	}
	fields := append([]any{"task", string(e.Events[first].Path), "error", inLog(e.Events[first].Error)}, called(e.Events[first].Error)...)
	caught := slices.IndexFunc(e.Events, func(r interpreter.HistoryEvent) bool { return r.Type == interpreter.ErrorCaught })
	if caught >= 0 {
		fields = append(fields, "caughtBy", string(e.Events[caught].CaughtBy))
	}
	what := "a task has faulted"
	if e.Events[first].Timeout != "" {
		what = "a task has timed out"
	}
	log.Info(what, fields...)
}

// maxLogged is the maximum number of bytes of an error in the log.
const maxLogged = 2000

// inLog returns an error in the form for the log.
func inLog(e *errors.Error) string {
	return shorten.To(e.Error(), maxLogged)
}

// called returns the log attributes of the call that failed with an error; empty for other errors.
func called(e *errors.Error) []any {
	if text := e.Reached().String(); text != "" {
		return []any{"called", shorten.To(text, maxLogged)}
	}
	return nil
}

// attempts are the effects that a worker performs now: it logs them when it stops.
type attempts struct {
	mu  sync.Mutex
	all map[*attempt]inProgress
}

// inProgress is an effect that is performed now.
type inProgress struct {
	effect interpreter.Effect
	run    store.Instance
	since  time.Time // by the worker's clock
	permit *permit   // nil if it needs none
}

func (l *attempts) begin(a *attempt, run store.Instance, at time.Time, p *permit) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.all == nil {
		l.all = map[*attempt]inProgress{}
	}
	l.all[a] = inProgress{a.Effect(), run, at, p}
}

// permit returns the permit of an attempt; nil without one.
func (l *attempts) permit(a *attempt) *permit {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.all[a].permit
}

// perQueue returns how many effects of each task queue are performed.
func (l *attempts) perQueue() map[string]int {
	l.mu.Lock()
	defer l.mu.Unlock()
	var all map[string]int
	for _, one := range l.all {
		if all == nil {
			all = map[string]int{}
		}
		all[one.effect.Queue()]++
	}
	return all
}

func (l *attempts) end(a *attempt) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.all, a)
}

// cancel cancels the attempts in flight.
func (l *attempts) cancel(why error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for a := range l.all {
		a.Cancel(why)
	}
}

// oldest returns the attempts in flight, the oldest first.
func (l *attempts) oldest() []inProgress {
	l.mu.Lock()
	defer l.mu.Unlock()
	all := slices.Collect(maps.Values(l.all))
	slices.SortFunc(all, func(a, b inProgress) int { return a.since.Compare(b.since) })
	return all
}

// namedAttempts is how many effects a worker names that it waits for.
const namedAttempts = 10

// logStopping logs which effects a stopping worker waits for, and how long.
func (w *Worker) logStopping() {
	all := w.attempts.oldest()
	if len(all) == 0 {
		w.c.Log.Info("the worker stops; nothing is in progress")
		return
	}
	w.c.Log.Info("the worker stops, and waits for effects in progress", "inProgress", len(all), "drain", duration.Format(w.c.Drain))
	for _, f := range all[:min(len(all), namedAttempts)] {
		w.c.Log.Info("the worker waits for an effect", "run", f.run.String(), "kind", f.effect.Kind.Words(), "task", string(f.effect.Request.Path),
			"for", duration.FormatRough(w.c.Now().Sub(f.since)))
	}
	if more := len(all) - namedAttempts; more > 0 {
		w.c.Log.Info("the worker waits for more effects", "more", more)
	}
}

// logLeaving logs that the drain time is over.
func (w *Worker) logLeaving() {
	w.c.Log.Info("the drain time is over: effects in progress are given up, and another worker performs them again", "inProgress", len(w.attempts.oldest()))
}
