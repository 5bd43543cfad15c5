//go:build race

package conformance

// The tests of documents have one goroutine each: under the race detector, which makes them slow, they take one mutation of ten. So do those
// that crash at every commit, of which the other half of .ci/run tries all.
const (
	everyNth   = 10
	maxCrashes = 4
)
