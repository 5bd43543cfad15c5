//go:build !race

package pacetest

// Detector is whether the tests run under the race detector.
const Detector = false
