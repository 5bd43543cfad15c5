package simulation

import (
	"time"

	"github.com/swrun/swrun/errors"
	"github.com/swrun/swrun/runtime/lease"
	"github.com/swrun/swrun/runtime/matching"
)

// owner does in the simulation the work that a worker.Worker does with goroutines: it claims runs, renews their leases, relays their messages, and
// drives their executions with a limited number of slots.
type owner struct {
	w         *world
	n         int
	name      string        // of this life
	life      int           // counts its crashes: messages for an earlier life are lost
	paused    time.Duration // end of its pause
	rate      float64       // at which its clock runs
	clock     lease.Clock   // its estimate of the store's clock
	leases    *lease.Leases[*executor]
	executors []*executor
	left      map[string]time.Duration // runs that are left to other owners, with the end of that time
	slots     int                      // 0 if it performs nothing
	taken     int                      // of the slots
	matcher   *matching.Matcher        // of its server
	direct    *report                  // reports that the matcher passed to it
	down      bool                     // it has crashed
	polling   bool
	draining  bool // it is about to stop, and claims no more runs
	leaving   bool // it stops the effects in flight
}

var errNoAnswer = errors.New("no answer")

const (
	pollEvery = 300 * time.Millisecond
	opTimeout = 400 * time.Millisecond
	leaveFor  = 200 * time.Millisecond
)

func (o *owner) boot() {
	o.w.note("owner %d boots", o.n)
	o.rate = 1 + o.w.knobs.skew*(2*o.w.rng.Float64()-1)
	o.executors, o.left, o.clock = nil, map[string]time.Duration{}, lease.Clock{}
	o.polling, o.draining, o.leaving, o.down = false, false, false, false
	o.serve()
	o.name = o.w.nonce()
	o.leases = lease.New[*executor](lease.Config{Worker: o.name, Length: o.w.knobs.lease, Poll: pollEvery}, o.w.knobs.partitions)
	o.slots, o.taken = o.w.knobs.slots[o.n], 0
	o.later(time.Duration(o.w.rng.IntN(100))*time.Millisecond, "boot", o.poll)
	o.later(0, "watch", o.watch)
	o.later(o.leases.Interval(), "renew", o.renew)
	o.later(o.leases.Interval(), "compare", o.compare)
	o.later(time.Second, "fate", o.fate)
}

// now is the time by the owner's own clock.
func (o *owner) now() time.Time { return epoch().Add(time.Duration(float64(o.w.now) * o.rate)) }

// later schedules an action of the owner, unless it dies before. During a pause, all actions wait.
func (o *owner) later(d time.Duration, what string, do func()) {
	life := o.life
	var act func()
	act = func() {
		switch {
		case o.life != life:
		case o.w.now < o.paused:
			o.w.after(o.paused-o.w.now, what, act)
		default:
			do()
		}
	}
	o.w.after(d, what, act)
}

// fate makes the owner crash or pause, as the seed decides.
func (o *owner) fate() {
	w := o.w
	if w.faulty && w.rng.Float64() < w.knobs.crash {
		w.note("owner %d crashes", o.n)
		w.crashes++
		o.life++
		o.down = true
		w.after(time.Duration(w.rng.IntN(3000))*time.Millisecond, "reboot", o.boot)
		return
	}
	if w.faulty && !o.draining && w.rng.Float64() < w.knobs.leave {
		o.stop()
	}
	if w.faulty && w.rng.Float64() < w.knobs.pause {
		o.paused = w.now + time.Duration(w.rng.IntN(6000))*time.Millisecond
		w.note("owner %d stands still until %s", o.n, o.paused)
	}
	o.later(time.Second, "fate", o.fate)
}

// stop stops the owner as SIGTERM does. It claims no more runs, waits a while for effects in flight, hands over the rest, and comes back.
func (o *owner) stop() {
	o.w.note("owner %d stops", o.n)
	o.draining = true
	o.leases.Drain()
	o.actAll()
	grace := time.Duration(o.w.rng.IntN(400)) * time.Millisecond
	o.later(grace, "leave", func() {
		o.leaving = true
		o.leases.Leave()
		o.actAll()
	})
	o.later(grace+time.Second, "reboot", func() {
		if o.w.calm() && len(o.executors) > 0 {
			o.w.problem("owner %d has left and still holds %s", o.n, o.executors[0].Instance())
		}
		o.life++
		o.boot()
	})
}

func (o *owner) actAll() {
	for _, x := range append([]*executor{}, o.executors...) {
		o.act(x)
	}
}

// call sends an operation to the store and passes the answer to then. The message may be lost on the way there or back, happen twice, or take long.
func (o *owner) call(what string, operation func() error, then func(err error)) {
	w := o.w
	answered, life := false, o.life
	answer := func(err error) {
		if !answered {
			answered = true
			then(err)
		}
	}
	delay := func() time.Duration { return time.Duration(w.rng.ExpFloat64() * float64(w.knobs.latency)) }
	happens := func() {
		err := operation()
		if err != nil {
			w.note("owner %d: %s: %s", o.n, what, err)
		}
		if w.lose() || o.life != life {
			return
		}
		o.later(delay(), what, func() { answer(err) })
	}
	if !w.lose() {
		w.after(delay(), what, happens)
	}
	if w.faulty && w.rng.Float64() < w.knobs.double {
		w.after(4*delay(), what+" again", happens)
	}
	o.later(opTimeout, what+" times out", func() { answer(errNoAnswer) })
}

// lose reports whether a message is lost.
func (w *world) lose() bool {
	if k := w.knobs; w.now >= k.outageAt && w.now < k.outageAt+k.outage {
		return true
	}
	return w.faulty && w.rng.Float64() < w.knobs.drop
}

// estimate returns the owner's estimate of the store's time.
func (o *owner) estimate() time.Time { return o.clock.Estimate(o.now()) }
