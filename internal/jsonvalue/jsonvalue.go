// Package jsonvalue reads JSON into the types of a workflow's data: nil, bool, int, float64, json.Number for numbers that neither represents exactly,
// string, []any and map[string]any. It is the one place that decides the type of a number.
package jsonvalue

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Decode reads one JSON value. Anything after the value is an error. The value does not share memory with data.
func Decode(data []byte) (any, error) {
	r := reader{text: data}
	v, ok := r.document()
	if !ok {
		return nil, mistake(data)
	}
	return v, nil
}

// syntaxError describes the mistake in a text that is not JSON, and its place.
type syntaxError struct {
	message string
	offset  int // of the wrong character, in bytes
}

func (e *syntaxError) Error() string { return "invalid JSON: " + e.message }

// mistake returns the error for invalid JSON. It asks encoding/json, which describes errors in full.
func mistake(data []byte) *syntaxError {
	decoder := json.NewDecoder(bytes.NewReader(data))
	var v json.RawMessage
	err := decoder.Decode(&v)
	var syntax *json.SyntaxError
	switch {
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return &syntaxError{endsEarly, len(data)}
	case errors.As(err, &syntax):
		at := min(max(int(syntax.Offset)-1, 0), len(data))
		return &syntaxError{wholeCharacter(reason(syntax), data[at:]), at}
	case err != nil:
		return &syntaxError{err.Error(), 0}
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return &syntaxError{"more text follows the value", int(decoder.InputOffset())}
	}
	return &syntaxError{"it cannot be read", 0}
}

// Reason returns the mistake that an error of encoding/json reports, in words; another error unchanged.
func Reason(err error) error {
	syntax := new(json.SyntaxError)
	switch {
	case errors.Is(err, io.ErrUnexpectedEOF):
		return &syntaxError{message: endsEarly}
	case errors.As(err, &syntax):
		return &syntaxError{message: reason(syntax)}
	}
	return err
}

const endsEarly = "the text ends too early"

func reason(err *json.SyntaxError) string {
	if text := err.Error(); !strings.HasSuffix(text, "exceeded max depth") {
		return text
	}
	return fmt.Sprintf("objects and arrays lie within each other more than %d deep", maxDepth)
}

// wholeCharacter replaces the first byte of text, which encoding/json quotes, with the whole character.
func wholeCharacter(message string, text []byte) string {
	if len(text) == 0 || text[0] < utf8.RuneSelf {
		return message
	}
	whole, size := utf8.DecodeRune(text)
	quoted := strconv.QuoteRune(whole)
	if whole == utf8.RuneError && size == 1 {
		quoted = fmt.Sprintf("0x%02x", text[0])
	}
	return strings.Replace(message, strconv.QuoteRune(rune(text[0])), quoted, 1)
}

// Number returns n as an int or a float64 if one of them represents it exactly, otherwise n.
func Number(n json.Number) any {
	text := n.String()
	if text == "-0" {
		return math.Copysign(0, -1)
	}
	if !strings.ContainsAny(text, ".eE") {
		if i, err := strconv.Atoi(text); err == nil {
			return i
		}
		return n
	}
	f, err := strconv.ParseFloat(text, 64)
	if err == nil && len(text) <= exactDigits && !strings.ContainsAny(text, "eE") {
		return f
	}
	if err != nil || !sameDecimal(text, strconv.FormatFloat(f, 'e', -1, 64)) {
		return n
	}
	return f
}

// sameDecimal reports whether two JSON numbers are the same number.
func sameDecimal(a, b string) bool {
	digitsA, exponentA, okA := decimal(a)
	digitsB, exponentB, okB := decimal(b)
	return okA && okB && digitsA == digitsB && (exponentA == exponentB || strings.Trim(digitsA, "-") == "")
}

// decimal splits a JSON number into its significant digits, with the sign, and the power of ten of the last one.
func decimal(text string) (digits string, exponent int, ok bool) {
	mantissa, power, hasPower := strings.Cut(strings.ToLower(text), "e")
	if hasPower {
		var err error
		if exponent, err = strconv.Atoi(power); err != nil {
			return "", 0, false
		}
	}
	mantissa, negative := strings.CutPrefix(mantissa, "-")
	whole, fraction, _ := strings.Cut(mantissa, ".")
	digits = strings.TrimLeft(whole+fraction, "0")
	exponent -= len(fraction)
	trimmed := strings.TrimRight(digits, "0")
	exponent += len(digits) - len(trimmed)
	if negative {
		trimmed = "-" + trimmed
	}
	return trimmed, exponent, true
}
