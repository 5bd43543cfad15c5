// Package pacetest determines the number of cases of a test, and the number of parallel tests. Only tests use it.
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

// ThinnedMap is Thinned for cases with names, in the order of the names.
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

// Fewer returns the number of repetitions of a test: all of them, and under the race detector one nth, but at least one.
func Fewer(all, n int) int {
	if !Detector {
		return all
	}
	return max(1, all/n)
}

// WaitMuch is for the TestMain of a package whose parallel tests mostly wait for processes and timers: more of them run at a time than there are
// processors, unless -parallel sets the number.
func WaitMuch() {
	const each = 2
	// TestMain calls it before the flags are parsed, and the name is right.
	_ = flag.Set("test.parallel", strconv.Itoa(each*runtime.GOMAXPROCS(0)))
}

// Patience is the time for which a test waits for an expected event before it fails: long enough for a busy machine. A passing test never waits so
// long.
const Patience = 5 * time.Minute
