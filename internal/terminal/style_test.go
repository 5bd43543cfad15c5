package terminal

import (
	"testing"
)

func TestColors(t *testing.T) {
	for _, c := range []struct {
		name    string
		tty     bool
		env     map[string]string
		noColor bool
		want    bool
	}{
		{"a terminal", true, nil, false, true},
		{"no terminal", false, nil, false, false},
		{"NO_COLOR", true, map[string]string{"NO_COLOR": "1"}, false, false},
		{"an empty NO_COLOR does not count", true, map[string]string{"NO_COLOR": ""}, false, true},
		{"a dumb terminal", true, map[string]string{"TERM": "dumb"}, false, false},
		{"FORCE_COLOR without a terminal", false, map[string]string{"FORCE_COLOR": "1"}, false, true},
		{"FORCE_COLOR wins over NO_COLOR", true, map[string]string{"FORCE_COLOR": "1", "NO_COLOR": "1"}, false, true},
		{"FORCE_COLOR=0 does not count", false, map[string]string{"FORCE_COLOR": "0"}, false, false},
		{"the flag wins", true, map[string]string{"FORCE_COLOR": "1"}, true, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := NewStyle(func(name string) (string, bool) { v, ok := c.env[name]; return v, ok }, c.tty, c.noColor).Color; got != c.want {
				t.Errorf("got %v, want %v", got, c.want)
			}
		})
	}
}

func TestPrintable(t *testing.T) {
	for _, c := range []struct{ in, want string }{
		{"plain ✔ 名前", "plain ✔ 名前"},
		{"\x1b[2J", `\x1b[2J`},
		{"a\tb\nc\r", `a\tb\nc\r`},
		{"\u009b31m", `\x9b31m`},
		{"\u202etxt", `\u202etxt`},
		{"\xff", `\xff`},
	} {
		if got := Printable(c.in); got != c.want {
			t.Errorf("printable(%q) = %q, want %q", c.in, got, c.want)
		}
	}
}
