package simulation

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/swrun/swrun/expr"
	"github.com/swrun/swrun/interpreter"
	"github.com/swrun/swrun/runtime/client"
	"github.com/swrun/swrun/runtime/execution"
	"github.com/swrun/swrun/runtime/store"
)

// audit checks the invariants of the world (docs/engine.md).
func (w *world) audit() {
	for _, r := range w.runs {
		w.auditRun(r)
	}
	w.auditCalls()
	children := map[string]int{}
	for p := range w.knobs.partitions {
		page, err := w.memory.List(context.Background(), p, "", 1000)
		if err != nil {
			w.problem("list: %s", err)
			return
		}
		for _, item := range page.Items {
			w.auditInstance(item)
			if parent, _, ok := strings.Cut(item.Instance.ID, "."); ok {
				children[parent]++
			}
		}
		w.auditIndexes(p)
	}
	if w.kind == outside {
		w.auditLeft()
	}
	w.auditOperated()
	for parent, n := range children {
		if n > 1 {
			w.problem("I18: %s has %d children instead of one", parent, n)
		}
	}
}

// auditRun compares the end of a run with its required end, which does not depend on the faults (I12, I20).
func (w *world) auditRun(r *run) {
	l, err := w.memory.Load(context.Background(), r.instance)
	if err != nil {
		w.problem("I4: %s is gone: %s", r.id, err)
		return
	}
	switch {
	case !l.Lifecycle.Status.Final():
		w.problem("I20: %s (%s) has not ended: %+v", r.id, r.kind.name, l.Lifecycle)
		return
	case r.cancelled && l.Lifecycle.Status == interpreter.StatusCancelled:
		return
	case r.kind.extends && (l.Lifecycle.Status == interpreter.StatusCompleted || l.Lifecycle.Reason == "timed_out"):
		return
	case l.Lifecycle.Status != r.kind.status:
		w.problem("I12: %s (%s) is %s (%s), not %s", r.id, r.kind.name, l.Lifecycle.Status, l.Lifecycle.Reason, r.kind.status)
		return
	}
	if r.kind.reason != "" && l.Lifecycle.Reason != r.kind.reason {
		w.problem("I12: %s (%s) is closed as %s, not %s", r.id, r.kind.name, l.Lifecycle.Reason, r.kind.reason)
	}
	if r.kind.output == "" {
		return
	}
	outcome, _, err := w.client.Outcome(context.Background(), r.instance)
	if err != nil {
		w.problem("I12: %s: %s", r.id, err)
		return
	}
	switch got, _ := expr.Encode(outcome.Output); {
	case string(got) == r.kind.output:
	case r.kind.or == "" || string(got) != r.kind.or:
		w.problem("I12: the output of %s (%s) is %s, not %s", r.id, r.kind.name, got, r.kind.output)
	case w.calm() && !w.called(r.instance) && !w.isCopy(r): // the run of which it is a copy may have sent it
		w.problem("I12: the output of %s (%s) is %s, and nothing was sent", r.id, r.kind.name, got)
	}
}

// calm reports whether every owner was there, and every message arrived, until the owner had handed over its work.
func (w *world) calm() bool {
	return w.knobs.crash+w.knobs.pause+w.knobs.drop == 0 && w.knobs.outage == 0
}

func (w *world) called(i store.Instance) bool {
	return slices.ContainsFunc(w.calls, func(c call) bool { return c.instance == i })
}

// auditCalls checks the requests that reached the outside: no owner sends a request twice, and no owner sends one after it can no longer trust its
// lease (I9, I10).
func (w *world) auditCalls() {
	seen, killed := map[string]bool{}, map[store.Instance]int{}
	for _, c := range w.calls {
		if killed[c.instance] += c.killed; killed[c.instance] > 2*store.DefaultMaxDeaths {
			w.problem("I20: %s has killed %d owners", c.instance, killed[c.instance])
		}
		key := fmt.Sprintf("%s %s of epoch %d", c.instance, c.path, c.epoch)
		if strings.Contains(string(c.path), "once") {
			key = fmt.Sprintf("%s %s, which must not be repeated,", c.instance, c.path)
		}
		if seen[key] {
			w.problem("I10: the effect %s was begun twice", key)
		}
		seen[key] = true
		if !c.held {
			w.problem("I9: the effect %s was begun after the lease was lost", key)
		}
	}
}

// leased notes that the store gave or prolonged a lease.
func (w *world) leased(worker string, partition int, is bool) {
	if key := fmt.Sprint(worker, " ", partition); is {
		w.leases[key] = max(w.leases[key], w.now+w.knobs.lease)
	}
}

// holds reports whether an owner certainly holds a run: by the store's clock its lease lasts, and no other owner took the run because of a missing
// lease.
func (w *world) holds(worker string, x *executor) bool {
	partition := x.Instance().Partition(w.knobs.partitions)
	return w.now < w.leases[fmt.Sprint(worker, " ", partition)] && !w.revoked[x.Instance()][x.Token()]
}

// promote has the store promote, and notes the runs that it takes. While no owner dies, stops or pauses, and each message arrives whenever the store
// can be reached, no lease may count as the lease of a dead owner.
func (w *world) promote(request store.Promote) error {
	before := map[store.Instance]store.Lifecycle{}
	for _, i := range request.Instances {
		if l, err := w.memory.Load(context.Background(), i); err == nil {
			before[i] = l.Lifecycle
		}
	}
	_, err := w.store.Promote(context.Background(), request)
	for _, i := range request.Instances {
		was := before[i]
		if l, err := w.memory.Load(context.Background(), i); err != nil || !was.Held() || l.Lifecycle.Held() {
			continue
		}
		now := epoch().Add(w.now)
		ended := !was.Lease.After(now)
		if hangs := !was.Wake.IsZero() && !was.Wake.Add(store.HangTolerance).After(now); w.peaceful() && ended && !hangs && request.Worker == "" && !w.killed(i) {
			w.problem("I14: %s was taken from %s, which has not died", i, was.Owner)
		}
		if ended {
			if w.revoked[i] == nil {
				w.revoked[i] = map[store.Token]bool{}
			}
			w.revoked[i][store.Token{Epoch: was.Epoch, Nonce: was.Nonce}] = true
		}
	}
	return err
}

// killed reports whether a run killed an owner.
func (w *world) killed(i store.Instance) bool {
	return slices.ContainsFunc(w.calls, func(c call) bool { return c.instance == i && c.killed > 0 })
}

// peaceful reports whether every owner lives and works, and every message arrives except during an outage.
func (w *world) peaceful() bool {
	return w.knobs.crash+w.knobs.pause+w.knobs.drop+w.knobs.leave == 0
}

// auditRenewed checks that only the holder of a lease can prolong it.
func (w *world) auditRenewed(asked store.Renew, renewed []store.Renewed) {
	is, err := w.memory.Renew(context.Background(), asked)
	if err != nil {
		w.problem("renew: %s", err)
	}
	for _, r := range renewed {
		w.leased(asked.Worker, r.Partition, true)
		if !slices.ContainsFunc(is, func(other store.Renewed) bool { return other.Partition == r.Partition }) {
			w.problem("I3: a lease in partition %d was prolonged by who has none", r.Partition)
		}
	}
}

func (w *world) auditInstance(item store.Listed) {
	i := item.Instance
	if !item.Lifecycle.Status.Final() {
		w.problem("I20: %s has not ended: %+v", i, item.Lifecycle)
	}
	var entries []client.HistoryEntry
	if _, err := w.client.History(context.Background(), i, 0, func(e client.HistoryEntry) error {
		entries = append(entries, e)
		return nil
	}); err != nil {
		w.problem("I2: the history of %s cannot be read: %s", i, err)
		return
	}
	w.auditEvents(i, item.Lifecycle, entries)
	w.auditEffects(i, entries)
	w.auditAttempts(i, entries)
	w.auditTimes(i, entries)
	w.auditState(item, entries)
}

// auditEvents checks that history events are numbered without gaps, that a history contains one end with nothing after it, and that owners follow
// each other (I1, I2, I3).
func (w *world) auditEvents(i store.Instance, stored store.Lifecycle, entries []client.HistoryEntry) {
	seq, ended := 0, false
	var epoch int64
	nonces := map[int64]string{}
	for _, e := range entries {
		if known, ok := nonces[e.Token.Epoch]; e.Token.Epoch < epoch || ok && known != e.Token.Nonce {
			w.problem("I3: %s was written by %v after epoch %d", i, e.Token, epoch)
		}
		epoch, nonces[e.Token.Epoch] = e.Token.Epoch, e.Token.Nonce
		for _, r := range e.Events {
			if seq++; r.Seq != seq {
				w.problem("I2: event %d of %s has the number %d", seq, i, r.Seq)
				return
			}
			if ended && !isNote(r.Type) {
				w.problem("I1: %s follows the end of %s", r.Type, i)
			}
			switch r.Type {
			case interpreter.WorkflowCompleted, interpreter.WorkflowFaulted, interpreter.WorkflowCancelled:
				ended = true
			}
		}
	}
	if int64(seq) != stored.Records || !ended && stored.Status.Final() {
		w.problem("I2: %s has %d events, the store counts %d", i, seq, stored.Records)
	}
}

// isNote reports whether an event only reports a late message.
func isNote(t interpreter.HistoryEventType) bool {
	return t == interpreter.ResultLate || t == interpreter.WorkflowDeadlineKept || t == interpreter.TaskDeadlineKept
}

// auditEffects checks that no effect finished twice, and that no child answered twice (I10, I18).
func (w *world) auditEffects(i store.Instance, entries []client.HistoryEntry) {
	finished := map[interpreter.Path]bool{}
	answers := map[interpreter.EffectID]int{} // of children
	for _, e := range entries {
		for _, r := range e.Events {
			ends := r.Type == interpreter.EffectFinished || r.Type == interpreter.ResultLate
			if _, child := answers[r.Effect]; child && ends {
				if answers[r.Effect]++; answers[r.Effect] > 1 {
					w.problem("I18: %s was answered twice by a child", i)
				}
			}
			switch {
			case r.Type == interpreter.EffectStarted && r.Route == interpreter.RouteChild:
				answers[r.Effect] = 0
			case r.Type == interpreter.EffectFinished && finished[r.Path]:
				w.problem("I10: the effect %s of %s finished twice", r.Path, i)
			case r.Type == interpreter.EffectFinished:
				finished[r.Path] = true
			}
		}
	}
}

// auditTimes checks that nothing is early and no result came after its time (I6, I8).
func (w *world) auditTimes(i store.Instance, entries []client.HistoryEntry) {
	waits, deadlines := map[interpreter.Path]time.Time{}, map[interpreter.Path]time.Time{}
	for _, e := range entries {
		if e.CommittedAt.Before(e.At) {
			w.problem("I6: a step of %s at %s was committed at %s", i, e.At, e.CommittedAt)
		}
		for _, r := range e.Events {
			switch r.Type {
			case interpreter.TaskStarted:
				if !r.Until.IsZero() {
					deadlines[r.Path] = r.Until
				}
			case interpreter.TaskDeadlineSet:
				deadlines[r.Path] = r.Until
			case interpreter.TaskWaiting:
				waits[r.Path] = r.Until
			case interpreter.TaskCompleted:
				if until, ok := waits[r.Path]; ok && e.CommittedAt.Before(until) {
					w.problem("I6: the wait %s of %s ended %s early", r.Path, i, until.Sub(e.CommittedAt))
				}
				if deadline, ok := deadlines[r.Path]; ok && !e.CommittedAt.Before(deadline) {
					w.problem("I8: %s of %s was completed at %s, its deadline was %s", r.Path, i, e.CommittedAt, deadline)
				}
			case interpreter.TaskFaulted:
				if deadline, ok := deadlines[r.Path]; ok && r.Error != nil && r.Error.Status == 408 && r.Error.Instance == r.Pointer.Instance() && e.CommittedAt.Before(deadline) {
					w.problem("I6: %s of %s timed out %s early", r.Path, i, deadline.Sub(e.CommittedAt))
				}
			}
		}
	}
}

// auditState folds the history (I2).
func (w *world) auditState(item store.Listed, entries []client.HistoryEntry) {
	i := item.Instance
	info, err := execution.ParseInvocation(item.Invocation)
	if err != nil {
		w.problem("%s: %s", i, err)
		return
	}
	l, err := w.memory.Load(context.Background(), i)
	if err != nil {
		w.problem("%s: %s", i, err)
		return
	}
	plain := make([]interpreter.HistoryStep, len(entries))
	for n, e := range entries {
		plain[n] = e.HistoryStep
	}
	p := w.program(info.Definition)
	past, err := w.client.Past(context.Background(), &client.Description{Instance: i, Invocation: info, Lifecycle: l.Lifecycle}, plain)
	if err != nil {
		w.problem("I2: %s: %s", i, err)
		return
	}
	folded, err := interpreter.Replay(past)
	if err != nil {
		w.problem("I2: the history of %s does not fold: %s", i, err)
		return
	}
	if l.State.Head == nil {
		return // it did not begin
	}
	stored, err := interpreter.Restore(p, info.NewState(i), info.Input.V, l.State)
	if err != nil {
		w.problem("I2: the state of %s cannot be read: %s", i, err)
		return
	}
	stored.NumberFrom(int(l.Lifecycle.Records))
	want, _ := stored.MarshalJSON() // decoded state can be encoded
	got, _ := folded.MarshalJSON()
	if string(want) != string(got) && l.Lifecycle.Status.Final() {
		w.problem("I2: the history of %s makes another state:\n%s\n%s", i, want, got)
	}
}

// auditIndexes compares the indexes with the records (I4, I5).
func (w *world) auditIndexes(p int) {
	done, err := w.memory.Scrub(context.Background(), store.Scrub{Partition: p, N: 1000})
	if err != nil {
		w.problem("scrub: %s", err)
	}
	for _, what := range done.Repaired {
		w.problem("I5: %s", what)
	}
}
