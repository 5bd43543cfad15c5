// Package collector trades memory, which a machine has, for less work of the garbage collector. GOGC overrides it.
//
// Go collects a heap as soon as it is twice as large as the live data, from 4 MB on. The libraries alone allocate that during their initialization,
// and most verbs end soon after; a worker needs 20 MB and makes hundreds of MB a second that it does not need for long. So a heap is collected for
// the first time when it has 64 MB, and then when the garbage is four times as large as the live data. Large answers would then cost five times their
// size, so the ratio falls from 64 MB of live data on, down to half.
//
// This begins before main, which only a package can do: Go initializes packages in the order of their paths, and this package is among the first
// ones, since it imports no other.
package collector

import (
	"runtime"
	"runtime/debug"
	"runtime/metrics"
)

// Percentages of garbage, in relation to the live data.
const (
	usual = 100 // the default of GOGC
	most  = 400
	least = 50
)

const (
	floor = 64 << 20 // size in bytes of the heap at its first collection
	// little is the maximum live data, in bytes, for the highest percentage.
	little = 64 << 20
	// unit is the size in bytes of the heap at Go's first collection with the usual percentage; it is proportional to the percentage.
	unit = 4 << 20
)

var paced = begin()

// begin postpones the first collection. It returns false, and changes nothing, if GOGC is set.
func begin() bool {
	before := debug.SetGCPercent(floor / unit * usual)
	if before != usual {
		debug.SetGCPercent(before)
	}
	return before == usual
}

// Pace adapts the percentage from the first collection on, unless GOGC is set.
func Pace() {
	if paced {
		afterCollection(floor / unit * usual)
	}
}

// afterCollection sets the percentage of garbage after each collection. now is the present percentage.
func afterCollection(now int) {
	runtime.AddCleanup(new([16]byte), func(now int) { // unreferenced: the next collection frees it
		next := percentFor(needed())
		if next < now*9/10 || next > now*11/10 { // because the change stops the world
			debug.SetGCPercent(next)
			now = next
		}
		afterCollection(now)
	}, now)
}

// needed returns the live data after the last collection, in bytes.
func needed() uint64 {
	sample := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	metrics.Read(sample)
	return sample[0].Value.Uint64()
}

// percentFor returns the percentage of garbage for an amount of live data, in bytes.
func percentFor(needed uint64) int {
	return int(min(most, max(least, most*little/max(1, needed))))
}
