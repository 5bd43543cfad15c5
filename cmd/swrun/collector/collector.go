// Package collector trades memory, which a machine has, for less work of the garbage collector. GOGC says otherwise.
//
// Go collects a heap as soon as it is twice as large as what is needed, from 4 MB on. The libraries alone allocate that while they are initialized, and
// most verbs end soon after; a worker needs 20 MB and makes hundreds of MB a second that it does not need for long. So a heap is collected for the
// first time when it has 64 MB, and then when there is four times as much garbage as what is needed; but large answers would cost five times their
// size, so that it is less from 64 MB of need on, and half as much at the end.
//
// This begins before main, so that only a package can do it: Go initializes packages in the order of their paths, and before most of the others
// it comes to this one, which needs none of them.
package collector

import (
	"runtime"
	"runtime/debug"
	"runtime/metrics"
)

// Percentages of garbage, of what is needed.
const (
	usual = 100 // where GOGC does not say another
	most  = 400
	least = 50
)

const (
	floor = 64 << 20 // bytes of a heap that is collected first
	// little is up to how many bytes of need there may be most garbage.
	little = 64 << 20
	// unit is the heap, in bytes, that Go collects first with the usual percentage; with another one, it is in proportion.
	unit = 4 << 20
)

var paced = begin()

// begin puts the first collection off. It reports false, and does nothing, where GOGC has been set.
func begin() bool {
	before := debug.SetGCPercent(floor / unit * usual)
	if before != usual {
		debug.SetGCPercent(before)
	}
	return before == usual
}

// Pace goes on with it after the first collection, unless GOGC has been set.
func Pace() {
	if paced {
		afterCollection(floor / unit * usual)
	}
}

// afterCollection says how much garbage may gather, after each collection. now is what was said by then.
func afterCollection(now int) {
	runtime.AddCleanup(new([16]byte), func(now int) { // nobody holds it: it goes with the next collection
		next := percentFor(needed())
		if next < now*9/10 || next > now*11/10 { // since everything stands still for it
			debug.SetGCPercent(next)
			now = next
		}
		afterCollection(now)
	}, now)
}

// needed returns how many bytes the last collection has left.
func needed() uint64 {
	sample := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	metrics.Read(sample)
	return sample[0].Value.Uint64()
}

// percentFor returns how much garbage may gather where so many bytes are needed.
func percentFor(needed uint64) int {
	return int(min(most, max(least, most*little/max(1, needed))))
}
