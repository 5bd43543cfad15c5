package main

import (
	"os"
	"path/filepath"
	"testing"
)

func TestEffectMemory(t *testing.T) {
	for _, c := range []struct {
		given, env string
		want       int64 // 0 for wrong use
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
	if got, err := p.effectMemory(""); err != nil || got < 1<<20 || got > machineMemory()/4 {
		t.Errorf("by itself: %d, %v", got, err)
	}
}

func TestMemoryOfControlGroups(t *testing.T) {
	root := t.TempDir()
	for name, text := range map[string]string{"a/b/memory.max": "max\n", "a/memory.max": "1000000\n", "memory.max": "5000000\n", "c/memory.max": "junk"} {
		file := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for group, want := range map[string]int64{"/a/b": 1000000, "/a": 1000000, "/c": 5000000, "/not/there": 5000000, "/": 5000000} {
		if got := groupMemory(root, group, "memory.max"); got != want {
			t.Errorf("%s may have %d, want %d", group, got, want)
		}
	}
}
