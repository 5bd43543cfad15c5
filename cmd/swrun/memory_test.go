package main

import (
	"testing"

	"github.com/swrun/swrun/internal/machine"
)

func TestEffectMemory(t *testing.T) {
	for _, c := range []struct {
		given, env string
		want       int64 // 0 for a usage error
	}{
		{"512MiB", "", 512 << 20},
		{"2GiB", "1GiB", 2 << 30},
		{"", "1GiB", 1 << 30},
		{"1MB", "", 0},
		{"0", "", 0},
		{"-1GiB", "", 0},
		{"much", "", 0},
		{" ", "", 0},
		{"99999999999999999999GiB", "", 0},
		{"", "x", 0},
	} {
		p := &program{streams: streams{env: func(name string) (string, bool) { return c.env, name == "SWRUN_EFFECT_MEMORY" && c.env != "" }}}
		got, err := p.effectMemory(c.given)
		if got != c.want || (err != nil) != (c.want == 0) {
			t.Errorf("%q and %q: %d, %v", c.given, c.env, got, err)
		}
	}
	p := &program{streams: streams{env: func(string) (string, bool) { return "", false }}}
	if got, err := p.effectMemory(""); err != nil || got < 1<<20 || got > machine.Memory()/4 {
		t.Errorf("by itself: %d, %v", got, err)
	}
}
