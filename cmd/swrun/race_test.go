//go:build race

package main

// everyNth makes the tests of secrets take one document of five: each document has a goroutine at a time, and the race detector makes it slow.
// The other half of .ci/run takes all of them.
const everyNth = 5
