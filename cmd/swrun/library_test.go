package main

import "testing"

func TestLatestVersion(t *testing.T) {
	for _, c := range []struct {
		name     string
		versions []string
		want     string
	}{
		{"numbers are compared as numbers", []string{"0.9.0", "0.10.0", "0.2.0"}, "0.10.0"},
		{"a release comes before a later pre-release", []string{"1.0.0", "2.0.0-rc.1"}, "1.0.0"},
		{"the latest pre-release if there is no release", []string{"1.0.0-alpha", "1.0.0-beta"}, "1.0.0-beta"},
		{"what is no version loses", []string{"newest", "0.0.1"}, "0.0.1"},
	} {
		t.Run(c.name, func(t *testing.T) {
			l := &library{}
			for _, v := range c.versions {
				l.books = append(l.books, &book{namespace: "n", name: "w", version: v}, &book{namespace: "n", name: "other", version: "9.9.9"})
			}
			got := l.choose("n", "w", "latest")
			if got == nil || got.version != c.want {
				t.Errorf("got %+v, want %s", got, c.want)
			}
		})
	}
}
