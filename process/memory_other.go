//go:build unix && !linux

package process

// limitMemory does nothing: only the engine's own limit applies.
func limitMemory() (func(), error) { return func() {}, nil }
