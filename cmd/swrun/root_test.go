package main

import (
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
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

// TestGroupsRefuseWhatTheyDoNotHave: a command that only has subcommands shows its help, and refuses an unknown subcommand.
func TestGroupsRefuseWhatTheyDoNotHave(t *testing.T) {
	var groups int
	var check func(*cobra.Command)
	check = func(cmd *cobra.Command) {
		if cmd.HasAvailableSubCommands() {
			groups++
			words := strings.Fields(cmd.CommandPath())[1:]
			for _, c := range []struct {
				args []string
				exit int
			}{{words, exitOK}, {append(slices.Clone(words), "nonsense"), exitUsage}} {
				if out := capture(nil); run(c.args, out.streams) != c.exit {
					t.Errorf("%q: want exit %d: %s%s", c.args, c.exit, out.stdout.String(), out.stderr.String())
				}
			}
		}
		for _, below := range cmd.Commands() {
			check(below)
		}
	}
	check((&program{streams: capture(nil).streams}).root())
	if groups < 5 {
		t.Errorf("only %d groups", groups)
	}
}
