package duration_test

import (
	"strings"
	"testing"

	"github.com/swrun/swrun/internal/duration"
)

// TestISOOfManyDigits: a duration of at most 1000 characters is parsed, and a longer one is refused without being parsed.
func TestISOOfManyDigits(t *testing.T) {
	for text, want := range map[string]string{
		"PT0." + strings.Repeat("0", 995) + "S":      "",
		"PT0." + strings.Repeat("0", 996) + "S":      "it has more than 1000 characters",
		"PT" + strings.Repeat("9", 3_000_000) + "S":  "it has more than 1000 characters",
		"P" + strings.Repeat("0", 3_000_000) + ".1Y": "it has more than 1000 characters",
	} {
		_, err := duration.ParseISO(text)
		if (err == nil) != (want == "") || err != nil && (!strings.Contains(err.Error(), want) || len(err.Error()) > 400) {
			t.Errorf("%.10s: %.400v; want %q", text, err, want)
		}
	}
}
