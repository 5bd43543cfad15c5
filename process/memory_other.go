//go:build unix && !linux

package process

// limitMemory leaves it to the engine's own bound.
func limitMemory() (func(), error) { return func() {}, nil }
