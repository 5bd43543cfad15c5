package main

import (
	"math"

	"github.com/dustin/go-humanize"

	"github.com/swrun/swrun/internal/machine"
)

// This file determines the memory of a worker.

// effectMemory returns the maximum memory for everything that effects read, in bytes: the value of the flag or of SWRUN_EFFECT_MEMORY, or a quarter
// of the memory of this process.
func (p *program) effectMemory(given string) (int64, error) {
	source := "--effect-memory"
	if fromEnv, _ := p.env("SWRUN_EFFECT_MEMORY"); given == "" && fromEnv != "" {
		given, source = fromEnv, "SWRUN_EFFECT_MEMORY"
	}
	if given == "" {
		return machine.Memory() / 4, nil
	}
	n, err := humanize.ParseBytes(given)
	if err != nil || n < 1<<20 || n > math.MaxInt64 {
		return 0, usagef("for example 512MiB or 2GiB", "%s must be a size of at least 1MiB, got %q", source, given)
	}
	return int64(n), nil
}
