package pacetest

import (
	"fmt"
	"testing"
)

// TestThinned: the first case and the last one are always tried.
func TestThinned(t *testing.T) {
	all := []int{0, 1, 2, 3, 4, 5, 6, 7, 8}
	for want, got := range map[string][]int{
		"[]": thinned(all[:0], 5), "[0]": thinned(all[:1], 5), "[0 4]": thinned(all[:5], 5), "[0 5]": thinned(all[:6], 5), "[0 5 8]": thinned(all, 5),
		"[0 1 2 3 4 5 6 7 8]": thinned(all, 1),
	} {
		if fmt.Sprint(got) != want {
			t.Errorf("got %v, want %s", got, want)
		}
	}
	if n := len(Thinned(all, 5)); (n == 3) != Detector || (n == 9) == Detector {
		t.Errorf("it returned %d cases", n)
	}
}
