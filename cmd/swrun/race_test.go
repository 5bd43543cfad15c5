//go:build race

package main

// everyNth is the fraction of documents that the tests of secrets take: one of five. Each document has a goroutine at a time, and the race detector
// makes it slow. The other half of .ci/run takes all of them.
const everyNth = 5
