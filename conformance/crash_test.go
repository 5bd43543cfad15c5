package conformance

import (
	"fmt"
	"testing"

	"github.com/swrun/swrun/memstore"
	"github.com/swrun/swrun/runtime/storetest"
)

// TestCrashes runs every case on a store, with the worker lost after each of its commits and with the answer to each
// of them lost: it ends as if nothing had happened.
func TestCrashes(t *testing.T) {
	crashes(t, func(*testing.T) bench {
		clock := &storetest.Clock{At: epoch()}
		return bench{memstore.New(memstore.Config{Partitions: 2, Now: clock.Now}), clock.Now, clock.Advance}
	})
}

func crashes(t *testing.T, open func(*testing.T) bench) {
	for _, c := range mustCases(t) {
		if !c.runs() {
			continue
		}
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			calm := newDurable(t, c, open(t))
			calm.run()
			c.verify(t, calm.ending())
			calm.verifyStore()
			for n := 1; n <= min(calm.commits, maxCrashes); n++ {
				crashed := newDurable(t, c, open(t))
				crashed.crashAt = n
				crashed.verifyAfter(calm, fmt.Sprintf("crash at commit %d of %d", n, calm.commits))
				lost := newDurable(t, c, open(t))
				lost.loseAt = n
				lost.verifyAfter(calm, fmt.Sprintf("lost answer to commit %d of %d", n, calm.commits))
			}
		})
	}
}

// maxCrashes bounds the cases that commit very often.
const maxCrashes = 40

// verifyAfter runs d, and compares it with a run without faults.
func (d *durable) verifyAfter(calm *durable, what string) {
	d.t.Helper()
	d.run()
	d.c.verify(d.t, d.ending())
	d.verifyStore()
	for key, n := range d.calls {
		if n > calm.calls[key]+d.lost {
			d.t.Errorf("%s: the effect %s was begun %d times", what, key, n)
		}
	}
	if d.t.Failed() {
		d.t.Fatalf("%s", what)
	}
}
