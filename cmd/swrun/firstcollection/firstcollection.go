// Package firstcollection lets the heap of the program grow to 16 MB before memory is collected for the first time, four times what is usual: most verbs have
// ended by then. The libraries alone allocate 3 MB while they are initialized, and to collect what they all still need is an eighth of the time that
// `run` of a small document takes.
//
// That happens before main, so that only a package can put it off; Go initializes packages in the order of their paths, and before most of
// the others it comes to this one, which needs none of them.
package firstcollection

import (
	"runtime"
	"runtime/debug"
)

// usual is the growth of the heap, in percent, between two collections, where GOGC does not say another.
const usual = 100

var postponed = postpone()

// postpone reports whether the first collection comes later now. It does not where GOGC has been set.
func postpone() bool {
	before := debug.SetGCPercent(4 * usual)
	if before != usual {
		debug.SetGCPercent(before)
	}
	return before == usual
}

// Then has all collections after the first one come as usual.
func Then() {
	if postponed {
		runtime.AddCleanup(new([16]byte), func(percent int) { debug.SetGCPercent(percent) }, usual)
	}
}
