//go:build race

package conformance

// The tests of documents have one goroutine each: under the race detector, which makes them slow, they take one mutation of twenty. Those that crash
// take one case of three, and its first commit. The other half of .ci/run tries all.
const (
	everyNth   = 20
	everyCase  = 3
	maxCrashes = 1
)
