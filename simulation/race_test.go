//go:build race

package simulation

// fewer divides the number of seeds: the race detector makes worlds slow, and finds nothing in a single goroutine.
const fewer = 10
