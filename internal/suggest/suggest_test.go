package suggest_test

import (
	"strings"
	"testing"

	"github.com/swrun/swrun/internal/suggest"
)

// TestSuggestions checks the suggestions for misspelt names, and the certain replacements: as a word of the language, and as a name of an author.
func TestSuggestions(t *testing.T) {
	for _, c := range []struct{ misspelt, choices, nearest, word, name string }{
		{"second", "seconds hours", "seconds", "seconds", ""},
		{"tri", "try do wait", "try", "try", ""},
		{"cal", "call catch", "call", "call", "call"},
		{"Timeout", "timeout then", "timeout", "timeout", "timeout"},
		{"tiemout", "timeout then", "timeout", "timeout", "timeout"},
		{"tmeot", "timeout then", "timeout", "", ""},
		{"operation", "operationId document", "operationId", "", ""},
		{"outputSchemas", "document output input", "output", "", ""},
		{"xyz", "timeout then", "", "", ""},
		{"", "timeout", "", "", ""},
		{"", "a b", "", "", ""},
		{" ", "a b", "", "", ""},
		{"a", "if do", "", "", ""},
		{"nofn", "JOIN join", "", "", ""},
		{"shipp", "ship pay", "ship", "ship", "ship"},
		{"ordr", "order pay", "order", "order", ""},
		{"c", "a b cc", "cc", "", ""},
		{"step3", "step1 step2", "", "", ""},
		{"step2", "step1 pay", "step1", "step1", ""},
		{"step11", "step1 pay", "step1", "step1", ""},
		{"step12", "step21 pay", "step21", "step21", ""},
		{"items", "item order", "item", "item", ""},
		{"SHIP", "ship pay", "ship", "ship", "ship"},
		{"ship", "Ship SHIP", "", "", ""},
		{"rnu", "run validate lint", "run", "run", "run"},
		{"val", "run validate lint", "validate", "", ""},
		{"no-colour", "progress no-color", "no-color", "no-color", ""},
		{"bsh", "bash zsh fish", "bash", "", ""},
		{"", "", "", "", ""},
		{"pya", "pay pax", "pay", "pay", "pay"},
		{strings.Repeat("x", 1<<20), "xx x", "", "", ""},
		{strings.Repeat("x", 65), strings.Repeat("x", 66), strings.Repeat("x", 66), "", ""},
	} {
		choices := strings.Fields(c.choices)
		if got := suggest.Nearest(c.misspelt, choices); got != c.nearest {
			t.Errorf("Nearest %.20q among %.20q: got %q, want %q", c.misspelt, c.choices, got, c.nearest)
		}
		if got := suggest.Word(c.misspelt, choices); got != c.word {
			t.Errorf("Word %.20q among %.20q: got %q, want %q", c.misspelt, c.choices, got, c.word)
		}
		if got := suggest.Name(c.misspelt, choices); got != c.name {
			t.Errorf("Name %.20q among %.20q: got %q, want %q", c.misspelt, c.choices, got, c.name)
		}
	}
}
