package swrun

import (
	"testing"

	"github.com/swrun/swrun/runtime/definition"
)

func TestLatestVersion(t *testing.T) {
	for _, c := range []struct {
		name     string
		versions []string
		want     string
	}{
		{"numbers are compared as numbers", []string{"0.9.0", "0.10.0", "0.2.0"}, "0.10.0"},
		{"a release comes before a later pre-release", []string{"1.0.0", "2.0.0-rc.1"}, "1.0.0"},
		{"the latest pre-release if there is no release", []string{"1.0.0-alpha", "1.0.0-beta"}, "1.0.0-beta"},
		{"what is not a version loses", []string{"newest", "0.0.1"}, "0.0.1"},
	} {
		t.Run(c.name, func(t *testing.T) {
			d := &Documents{}
			for _, v := range c.versions {
				d.known = append(d.known, &titled{Reference: definition.Reference{Namespace: "n", Name: "w", Version: v}}, &titled{Reference: definition.Reference{Namespace: "n", Name: "other", Version: "9.9.9"}})
			}
			got := d.choose(definition.Reference{Namespace: "n", Name: "w", Version: definition.Latest})
			if got == nil || got.Version != c.want {
				t.Errorf("got %+v, want %s", got, c.want)
			}
		})
	}
}
