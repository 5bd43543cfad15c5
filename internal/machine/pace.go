package machine

import (
	"runtime"
	"runtime/debug"
	"runtime/metrics"
)

// CollectLess trades memory, which a worker needs little of, for less work of the garbage collector, from now on.
func CollectLess() { pace(0) }

// defaultPace is how much garbage, in percent of what lives, may gather at most.
const defaultPace = 400

// littleHeap is how many bytes of live data there must be before less garbage may gather: large answers would cost five times their
// size.
const littleHeap = 64 << 20

// pace sets how much garbage may gather, and does so again after each collection. now is what was set by then.
func pace(now int) {
	live := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	metrics.Read(live)
	next := min(defaultPace, max(50, int(defaultPace*littleHeap/max(1, live[0].Value.Uint64()))))
	if next < now*9/10 || next > now*11/10 {
		debug.SetGCPercent(next)
		now = next
	}
	runtime.AddCleanup(new([64]byte), pace, now) // nobody holds it: it goes with the next collection
}
