package machine

import (
	"os"
	"path/filepath"
	"testing"
)

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
