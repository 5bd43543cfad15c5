package simulation

import (
	"flag"
	goruntime "runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
)

var (
	seeds = flag.Uint64("seeds", 600/fewer, "the last seed to play")
	from  = flag.Uint64("from", 1, "the first seed to play")
	seed  = flag.Uint64("seed", 0, "play this one only")
	trace = flag.Bool("tell", false, "with -seed: print everything that happens")
)

// TestSeeds plays many small worlds with all kinds of faults.
func TestSeeds(t *testing.T) { playSeeds(t, inside) }

// TestOutsideSeeds plays worlds with outside workers.
func TestOutsideSeeds(t *testing.T) { playSeeds(t, outside) }

// TestOperatedSeeds plays worlds in which operators migrate, fork, import and hurry runs.
func TestOperatedSeeds(t *testing.T) { playSeeds(t, operated) }

// TestListeningSeeds plays worlds in which events are published.
func TestListeningSeeds(t *testing.T) { playSeeds(t, listening) }

// TestReceivingSeeds plays worlds in which runs wait for data of others.
func TestReceivingSeeds(t *testing.T) { playSeeds(t, receiving) }

func playSeeds(t *testing.T, of kind) {
	t.Helper()
	if *seed != 0 {
		w := newWorld(*seed, of, bug{}, compiler())
		problems := w.play()
		if *trace {
			t.Logf("%+v\n%s", w.knobs, strings.Join(w.trace, "\n"))
		}
		for _, p := range problems {
			t.Error(p)
		}
		return
	}
	last := *seeds
	if of == receiving { // which differs little from worlds that are played anyway
		last /= 4
	}
	found := search(of, bug{}, *from, last)
	if found == nil {
		return
	}
	tail := found.trace[max(0, len(found.trace)-60):]
	t.Errorf("seed %d: %s\n%+v\n%s\nrepeat it: go test ./simulation -run %s -seed %d -tell -v",
		found.seed, strings.Join(found.problems, "\n"), found.knobs, strings.Join(tail, "\n"), t.Name(), found.seed)
}

// TestSameSeedSameWorld: a repeated seed gives the same result, event by event.
func TestSameSeedSameWorld(t *testing.T) {
	for seed := uint64(1); seed <= 20; seed++ {
		first, second := newWorld(seed, kind(seed%5), bug{}, compiler()), newWorld(seed, kind(seed%5), bug{}, compiler())
		first.play()
		second.play()
		if a, b := strings.Join(first.trace, "\n"), strings.Join(second.trace, "\n"); a != b {
			t.Fatalf("seed %d came to two different worlds:\n%s\n\n%s", seed, a, b)
		}
	}
}

// search plays seeds on all processors and returns the first world with a fault in the audits, or nil.
func search(of kind, b bug, from, to uint64) (found *world) {
	var next atomic.Uint64
	var mu sync.Mutex
	var group sync.WaitGroup
	next.Store(from)
	for range goruntime.GOMAXPROCS(0) {
		group.Go(func() {
			compile := compiler()
			for n := next.Add(1) - 1; n <= to; n = next.Add(1) - 1 {
				w := newWorld(n, of, b, compile)
				if len(w.play()) > 0 {
					mu.Lock()
					if found == nil || w.seed < found.seed {
						found = w
					}
					mu.Unlock()
					next.Store(to + 1)
				}
			}
		})
	}
	group.Wait()
	return found
}
