package simulation

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/swrun/swrun/errors"
	"github.com/swrun/swrun/interpreter"
	"github.com/swrun/swrun/runtime/activity"
	"github.com/swrun/swrun/runtime/execution"
	"github.com/swrun/swrun/runtime/matching"
	"github.com/swrun/swrun/runtime/store"
)

// Outside workers, and the servers that they call. Each owner has a server in its process, as swrun serve does.

// outsider is an outside worker. It polls for activities, performs them as their types specify, and reports to any server that answers.
type outsider struct {
	w      *world
	name   string
	queues []string
	life   int // counts its crashes
}

const (
	outsidePoll = 250 * time.Millisecond
	// outsideTimeout is how long it waits for an answer, longer than a server for its store's.
	outsideTimeout = 900 * time.Millisecond
	queueMail      = "mail"
	queueDefault   = "default"
)

// unreliable is the store as a server sees it: requests and answers may get lost.
type unreliable struct {
	store.Store
	w *world
}

func (s unreliable) ChangeActivities(ctx context.Context, c store.ChangeActivities) (changed []store.ActivityChanged, err error) {
	if s.w.lose() {
		return nil, errNoAnswer
	}
	if changed, err = s.Store.ChangeActivities(ctx, c); err == nil && s.w.lose() {
		return nil, errNoAnswer
	}
	return changed, err
}

func (s unreliable) Available(ctx context.Context, c store.Available) (store.Offered, error) {
	if s.w.lose() {
		return store.Offered{}, errNoAnswer
	}
	return s.Store.Available(ctx, c)
}

func (s unreliable) Deliver(ctx context.Context, d store.Delivery) error {
	if s.w.lose() {
		return errNoAnswer
	}
	return s.Store.Deliver(ctx, d)
}

// report is the end of an attempt on its way to a run that this owner holds.
type report struct {
	matching.Report
	stored func(bool)
}

// serve starts the owner's server.
func (o *owner) serve() {
	o.matcher = matching.New(matching.Config{
		Store: unreliable{o.w.store, o.w}, Nonce: o.w.nonce, Now: o.now, Look: outsidePoll / 2, Turn: o.w.rng.Int,
		Report: func(_ context.Context, r matching.Report) bool {
			for _, x := range o.executors {
				if x.Instance() == r.ID.Run && o.direct == nil {
					o.direct = &report{Report: r}
					return true // for the moment: the caller that asked looks at it
				}
			}
			return false
		},
	})
}

// end passes the end of an attempt to the server: directly if the run is there, and otherwise, or if that fails, by way of the store.
func (o *owner) end(ask func() error, answer func(error)) {
	o.direct = nil
	err := ask()
	r := o.direct
	o.direct = nil
	if r == nil {
		answer(err)
		return
	}
	answered := false
	r.stored = func(stored bool) {
		if answered {
			o.w.problem("a report of %s was answered twice", r.ID)
		}
		answered = true
		if stored {
			answer(nil)
			return
		}
		o.later(0, "report by way of the store", func() { answer(ask()) }) // the server no longer knows the attempt
	}
	for _, x := range o.executors {
		if x.Instance() == r.ID.Run {
			x.reports = append(x.reports, r)
			o.act(x)
			return
		}
	}
	r.stored(false)
}

// takeReports passes the reports for its owner to the execution.
func (x *executor) takeReports() {
	var all []*execution.Report
	for _, r := range x.reports {
		answer := r.stored
		r.stored = nil // the execution answers
		all = append(all, &execution.Report{Effect: r.ID.Effect, Activity: r.Activity, Operation: r.Operation, Answer: answer})
	}
	x.reports = nil
	x.Reported(all...)
}

// refuseReports answers the reports that are left when the execution is over.
func (x *executor) refuseReports() {
	for _, r := range x.reports {
		r.stored(false)
	}
	x.reports = nil
}

// later schedules an action of the outside worker, unless it crashes before.
func (h *outsider) later(d time.Duration, what string, do func()) {
	life := h.life
	h.w.after(d, h.name+" "+what, func() {
		if h.life == life {
			do()
		}
	})
}

// ask sends a request to the server of some owner. Like every message it may get lost, happen twice or take long.
func (h *outsider) ask(what string, do func(o *owner, answer func(error)), then func(error)) {
	w, life, answered := h.w, h.life, false
	o := w.owners[w.rng.IntN(len(w.owners))]
	delay := func() time.Duration { return time.Duration(w.rng.ExpFloat64() * float64(w.knobs.latency)) }
	answer := func(err error) {
		if !answered && h.life == life {
			answered = true
			then(err)
		}
	}
	happens := func() {
		if o.down {
			return
		}
		do(o, func(err error) {
			if err != nil {
				w.note("%s: %s by owner %d: %s", h.name, what, o.n, err)
			}
			if !w.lose() {
				w.after(delay(), what, func() { answer(err) })
			}
		})
	}
	if !w.lose() {
		o.later(delay(), what, happens)
	}
	if w.faulty && w.rng.Float64() < w.knobs.double {
		o.later(4*delay(), what+" again", happens)
	}
	h.later(outsideTimeout, what+" times out", func() { answer(errNoAnswer) })
}

// poll asks for activities repeatedly.
func (h *outsider) poll() {
	var tasks []matching.Task
	h.ask("poll", func(o *owner, answer func(error)) {
		got, err := o.matcher.Poll(context.Background(), matching.Poll{Queues: h.queues, Limit: 1 + h.w.rng.IntN(3), Worker: h.name, Until: closed()})
		tasks = got
		answer(err)
	}, func(err error) {
		if err == nil {
			for _, t := range tasks {
				h.w.note("%s has %s, attempt %d", h.name, t.ID, t.Activity.Attempt)
				h.perform(t)
			}
		}
		h.later(outsidePoll+time.Duration(h.w.rng.IntN(100))*time.Millisecond, "polls", h.poll)
	})
}

func closed() <-chan struct{} {
	c := make(chan struct{})
	close(c)
	return c
}

// crash makes the worker lose all of its work.
func (h *outsider) crash() {
	h.w.note("%s crashes", h.name)
	h.life++
	h.later(time.Duration(h.w.rng.IntN(1500))*time.Millisecond, "reboots", h.poll)
}

// perform performs an activity as its type specifies, unless a fault happens.
func (h *outsider) perform(t matching.Task) {
	w := h.w
	took := time.Duration(w.rng.IntN(200)) * time.Millisecond
	kind, first := t.Activity.Type, t.Activity.Attempt == 1
	if w.faulty {
		switch fault := w.rng.IntN(12); {
		case fault == 0:
			h.later(took, "crashes", h.crash)
			return
		case fault == 1:
			h.later(took, "gives back", func() { h.giveBack(t) })
			return
		case fault == 2 && kind != "hangs" && kind != "refuses": // it reports twice, with different results
			h.later(took, "changes its mind", func() {
				h.fail(t, errors.Communicationf("changed its mind"), false)
				h.complete(t)
			})
			return
		case fault == 3: // it pauses
			took += time.Duration(w.rng.IntN(3000)) * time.Millisecond
		}
	}
	switch {
	case kind == "hangs":
		h.later(time.Duration(2500+w.rng.IntN(2000))*time.Millisecond, "reports late", func() { h.complete(t) })
	case kind == "flaky" && t.Activity.Attempt <= 2:
		h.later(took, "fails", func() { h.fail(t, errors.Communicationf("not yet"), false) })
	case kind == "refuses":
		h.later(took, "refuses", func() { h.fail(t, errors.Communicationf("never"), true) })
	case kind == "beats" && (first || t.Activity.Progress == nil):
		h.beat(t, 1)
	default:
		h.later(took, "completes", func() { h.complete(t) })
	}
}

// beat sends heartbeats with progress, and then stops.
func (h *outsider) beat(t matching.Task, n int) {
	if n > 4 {
		return
	}
	h.ask("heartbeat", func(o *owner, answer func(error)) {
		progress := interpreter.Value{V: fmt.Sprintf("%s %d", t.Token, n)}
		_, err := o.matcher.Heartbeat(context.Background(), t.Token, &progress)
		answer(err)
	}, func(err error) {
		var superseded *matching.SupersededError
		if !errors.As(err, &superseded) {
			h.later(time.Duration(h.w.rng.IntN(400))*time.Millisecond, "beats", func() { h.beat(t, n+1) })
		}
	})
}

func (h *outsider) complete(t matching.Task) {
	h.report(t, "complete", func(o *owner) error {
		return o.matcher.Complete(context.Background(), t.Token, map[string]any{"at": t.Activity.Pointer})
	})
}

func (h *outsider) fail(t matching.Task, err *errors.Error, nonRetryable bool) {
	h.report(t, "fail", func(o *owner) error { return o.matcher.Fail(context.Background(), t.Token, err, nonRetryable) })
}

func (h *outsider) giveBack(t matching.Task) {
	h.ask("return", func(o *owner, answer func(error)) { answer(o.matcher.Return(context.Background(), t.Token)) }, func(error) {})
}

// report reports the end of an attempt repeatedly until a server answers.
func (h *outsider) report(t matching.Task, what string, do func(*owner) error) {
	h.ask(what, func(o *owner, answer func(error)) {
		o.end(func() error { return do(o) }, answer)
	}, func(err error) {
		if err == nil && h.w.known(t.ID).ended[t.Activity.Nonce] == "" {
			h.w.problem("A3: %s was told that its report about %s counts, and it does not", h.name, t.ID)
		}
		var superseded *matching.SupersededError
		if err != nil && !errors.As(err, &superseded) {
			h.later(100*time.Millisecond, what, func() { h.report(t, what, do) })
		}
	})
}

// beginOutside starts the outside workers.
func (w *world) beginOutside() {
	for n := range 1 + w.rng.IntN(3) {
		h := &outsider{w: w, name: fmt.Sprintf("outsider %d", n), queues: []string{queueDefault, queueMail}}
		if n > 0 && w.rng.IntN(2) == 0 {
			h.queues = h.queues[w.rng.IntN(2):][:1]
		}
		h.later(time.Duration(w.rng.IntN(500))*time.Millisecond, "boots", h.poll)
	}
}

// expire ends the attempts of activities whose deadlines have passed.
func (o *owner) expire(p int, due []store.ActivityID) {
	if len(due) == 0 || o.draining {
		return
	}
	o.call("expire", func() error {
		_, err := o.w.store.ChangeActivities(context.Background(), store.ChangeActivities{Partition: p, Activities: due, Operation: activity.Expire{}})
		return err
	}, func(error) {})
}

// claimNeeding claims runs that wait for a need that the owner meets.
func (o *owner) claimNeeding(p int, work store.Work) {
	needs := slices.DeleteFunc(slices.Clone(work.Needs), func(n store.Need) bool { return !o.has(n) })
	if len(needs) == 0 || o.slots == 0 || o.draining {
		return
	}
	var needing []store.Instance
	o.call("needing", func() error {
		some, err := o.w.store.Needing(context.Background(), store.Needing{Partition: p, Need: needs[0], N: 20})
		needing = nil
		for _, i := range some {
			needing = append(needing, i.Instance)
		}
		return err
	}, func(err error) {
		if err == nil {
			o.claim(p, needing[:min(len(needing), o.slots-o.taken)], true, needs...)
		}
	})
}

// has reports whether the owner takes the task queue that a run needs: the first owner takes all queues.
func (o *owner) has(n store.Need) bool { return o.n == 0 || !strings.Contains(string(n), "gpu") }

// lingering makes each run wait for its activities for a while.
type lingering struct{}

func (lingering) Lingers(string) bool { return true }
func (lingering) Ended(string)        {}
func (lingering) InVain(string)       {}
