//go:build !race

package processtest

// raceDetector is whether the tests run under the race detector.
const raceDetector = false
