//go:build race

package pacetest

// Detector reports whether the tests run under the race detector.
const Detector = true
