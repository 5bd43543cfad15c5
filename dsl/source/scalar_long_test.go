package source

import (
	"encoding/json"
	"math/big"
	"strings"
	"testing"
)

// TestLongNumbers: numbers of many digits keep their digits, and are not converted to binary and back, which would take seconds.
func TestLongNumbers(t *testing.T) {
	digits := strings.Repeat("1234567890", 2000)
	for text, want := range map[string]string{
		digits:               digits,
		"-000" + digits:      "-" + digits,
		"+" + digits:         digits,
		"." + digits:         "0." + digits,
		"-" + digits + ".":   "-" + digits,
		digits + ".5":        digits + ".5",
		"00." + digits:       "0." + digits,
		"1." + digits + "e5": "1." + digits + "e5",
	} {
		convert := float
		if intPattern().MatchString(text) {
			convert = integer
		}
		if got := convert(text); got != json.Number(want) {
			t.Errorf("%.20s... is %.20v..., want %.20s...", text, got, want)
		}
		if n := testing.AllocsPerRun(1, func() { convert(text) }); n > 20 {
			t.Errorf("%.20s... takes %v allocations", text, n)
		}
	}
}

// TestIntegersBeyondInt64 compares integers that do not fit into 64 bits with those of package big.
func TestIntegersBeyondInt64(t *testing.T) {
	for _, text := range []string{
		"9223372036854775808", "-9223372036854775809", "+9223372036854775808", "0009223372036854775808", "-00018446744073709551616", "100000000000000000000000000000",
	} {
		want, _ := new(big.Int).SetString(text, 10)
		if got := integer(text); got != json.Number(want.String()) {
			t.Errorf("%s is %v, want %s", text, got, want)
		}
	}
}
