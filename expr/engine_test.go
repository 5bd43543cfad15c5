package expr

import (
	"os"
	"regexp"
	"testing"
)

// TestVersionOfGojq names the version whose private fields layout accesses. Before you change it, read the changes of gojq's Code and env, run this
// package's fuzzers for some minutes, and check whether gojq offers a hook by now (docs/decisions/0004).
func TestVersionOfGojq(t *testing.T) {
	const known = "v0.12.20"
	data, err := os.ReadFile("../go.mod")
	if err != nil {
		t.Fatal(err)
	}
	found := regexp.MustCompile(`github\.com/itchyny/gojq (\S+)`).FindSubmatch(data)
	if found == nil || string(found[1]) != known {
		t.Errorf("go.mod requires gojq %s, and layout was written for %s", found, known)
	}
}
