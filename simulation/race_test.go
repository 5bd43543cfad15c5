//go:build race

package simulation

// fewer divides the number of seeds: the race detector makes worlds slow, and finds nothing in what one goroutine does.
const fewer = 10
