//go:build !race

package conformance

const (
	// everyNth makes the tests of documents take all mutations.
	everyNth = 1
	// everyCase makes the tests that crash take all cases.
	everyCase = 1
	// maxCrashes bounds the cases that commit very often.
	maxCrashes = 40
)
