// Package pacetest says how many cases a test tries, and how many tests run at a time. Only tests use it.
package pacetest

import (
	"flag"
	"maps"
	"runtime"
	"slices"
	"strconv"
	"time"
)

// Thinned returns all cases. Under the race detector, which makes tests several times slower, it returns the first, the last, and one of n between
// them. It is for tables whose cases take the same path through the code that has goroutines: .ci/run tries all of them without the detector.
func Thinned[T any](all []T, n int) []T {
	if !Detector {
		return all
	}
	return thinned(all, n)
}

// ThinnedMap is Thinned of cases that have names, in the order of these.
func ThinnedMap[T any](all map[string]T, n int) map[string]T {
	if !Detector {
		return all
	}
	some := map[string]T{}
	for _, name := range thinned(slices.Sorted(maps.Keys(all)), n) {
		some[name] = all[name]
	}
	return some
}

func thinned[T any](all []T, n int) (some []T) {
	for at, one := range all {
		if at%n == 0 || at == len(all)-1 {
			some = append(some, one)
		}
	}
	return some
}

// Fewer returns how often a test repeats something: all times, and under the race detector one nth of them, but at least once.
func Fewer(all, n int) int {
	if !Detector {
		return all
	}
	return max(1, all/n)
}

// WaitMuch is for the TestMain of a package whose parallel tests wait for processes and timers most of the time: more of them run at a time than
// there are processors, unless -parallel says how many.
func WaitMuch() {
	const each = 2
	// TestMain calls it before the flags are parsed, and the name is right.
	_ = flag.Set("test.parallel", strconv.Itoa(each*runtime.GOMAXPROCS(0)))
}

// Patience is how long a test waits for something that happens soon, before it says that it does not: long enough for a machine that is busy with much
// else. A test that passes never waits so long.
const Patience = 5 * time.Minute
