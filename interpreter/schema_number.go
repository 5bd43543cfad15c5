package interpreter

import (
	"encoding/json"
	"strconv"
	"strings"

	"github.com/swrun/swrun/internal/jsonvalue"
)

// The validator turns each number into a fraction of whole numbers. 1e9999999 would be a number of ten million digits, and the validator would fail
// with a nil pointer. Numbers beyond maxPower, which is far more than any schema needs, are replaced by numbers that compare the same: with the same
// sign, larger or smaller than all others, and whole if the original was whole.
const (
	maxPower         = 1000 // of ten
	maxNumberDigits  = 1000
	maxNumberLetters = 300 // of a number that certainly is not extreme
)

// isExtreme reports whether n has to be replaced.
func isExtreme(n json.Number) bool {
	if !strings.ContainsAny(string(n), "eE") {
		return len(n) > maxNumberLetters
	}
	_, power, _ := strings.Cut(strings.ToLower(string(n)), "e")
	exponent, err := strconv.Atoi(power)
	return err != nil || exponent > maxNumberLetters || exponent < -maxNumberLetters || len(n) > maxNumberLetters
}

// withoutExtremes returns a copy of v with numbers that the validator can calculate with.
func withoutExtremes(v any) any {
	return jsonvalue.Map(v, func(leaf any) any {
		if n, ok := leaf.(json.Number); ok && isExtreme(n) {
			return withinRange(n)
		}
		return leaf
	})
}

func withinRange(n json.Number) json.Number {
	mantissa, power, _ := strings.Cut(strings.ToLower(string(n)), "e")
	unsigned, negative := strings.CutPrefix(mantissa, "-")
	whole, fraction, _ := strings.Cut(unsigned, ".")
	all := strings.TrimLeft(whole+fraction, "0")
	digits := strings.TrimRight(all, "0")
	if digits == "" {
		return "0"
	}
	// The number is 0.digits times ten to the magnitude.
	magnitude := len(all) - len(fraction) + exponentOf(power)
	if len(digits) > maxNumberDigits {
		// The last digit keeps a fraction from becoming whole. A whole number with more digits is beyond maxPower or ends here.
		whole := magnitude >= len(digits)
		if digits = digits[:maxNumberDigits]; !whole {
			digits += "1"
		}
	}
	magnitude = min(max(magnitude, -maxPower), maxPower+maxNumberDigits)
	text := digits + "e" + strconv.Itoa(magnitude-len(digits))
	if negative {
		text = "-" + text
	}
	return json.Number(text)
}

// exponentOf reads a power of ten that may have any number of digits.
func exponentOf(power string) int {
	const most = 1 << 40
	exponent, err := strconv.Atoi(power)
	switch {
	case power == "":
		return 0
	case err == nil:
		return min(max(exponent, -most), most)
	case strings.HasPrefix(power, "-"):
		return -most
	}
	return most
}
