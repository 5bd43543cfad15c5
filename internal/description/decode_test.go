package description_test

import (
	"strings"
	"testing"

	"github.com/swrun/swrun/internal/description"
)

// TestLongNumbers: hexadecimal and octal numbers of up to 1000 characters are converted, and longer ones are refused.
func TestLongNumbers(t *testing.T) {
	for text, want := range map[string]string{
		"0x" + strings.Repeat("f", 998): "", "0x" + strings.Repeat("f", 999): "line 2: 0xffff", "0o" + strings.Repeat("7", 3_000_000): "line 2: 0o7777",
	} {
		_, err := description.Decode([]byte("info:\n  maximum: " + text))
		if (err == nil) != (want == "") || err != nil && (!strings.Contains(err.Error(), want) || len(err.Error()) > 200) {
			t.Errorf("%.10s: %.200v; want %q", text, err, want)
		}
	}
}
