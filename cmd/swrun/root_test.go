package main

import (
	"strings"
	"testing"
)

// TestHelpGroupsEveryVerb: the help shows every verb, each below the title of its group.
func TestHelpGroupsEveryVerb(t *testing.T) {
	c := capture(nil)
	if code := run([]string{"--help"}, c.streams); code != exitOK {
		t.Fatalf("help ended with %d", code)
	}
	shown, group := map[string]string{}, ""
	for line := range strings.Lines(c.stdout.String()) {
		if strings.HasSuffix(line, ":\n") {
			group = strings.TrimSpace(line)
		} else if verb, ok := strings.CutPrefix(line, "  "); ok {
			shown[strings.Fields(verb)[0]] = group
		}
	}
	for verb, want := range map[string]string{
		"validate": "Author documents:", "run": "Run workflows:", "worker": "Run workflows:", "describe": "Operate runs:", "cancel": "Operate runs:", "doctor": "Tools:",
		"completion": "Tools:",
	} {
		if shown[verb] != want {
			t.Errorf("%s is shown below %q, want %q", verb, shown[verb], want)
		}
	}
	p := &program{streams: c.streams}
	for _, verb := range p.root().Commands() {
		if verb.IsAvailableCommand() && shown[verb.Name()] == "" {
			t.Errorf("the help does not show %s", verb.Name())
		}
	}
}
