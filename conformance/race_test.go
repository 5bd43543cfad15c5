//go:build race

package conformance

// The tests of documents have one goroutine each: under the race detector, which makes them slow, they take one mutation of twenty. So do those
// that crash at every commit, of which the other half of .ci/run tries all.
const (
	everyNth   = 20
	maxCrashes = 1
)
