package interpreter

import (
	"fmt"
	"regexp"
	"regexp/syntax"
	"strconv"
	"strings"

	"github.com/swrun/swrun/errors"
	"github.com/swrun/swrun/internal/shorten"
)

// unfitPattern returns why the pattern of a schema cannot be used; "" if it can. Any author may write a pattern, so that the time of matching must
// grow only with the text. This excludes lookarounds and back references.
func unfitPattern(text string) string {
	_, err := regexp.Compile(text)
	var wrong *syntax.Error
	if err == nil || !errors.As(err, &wrong) {
		return ""
	}
	for _, around := range []string{"(?=", "(?!", "(?<=", "(?<!"} {
		if strings.Contains(text, around) {
			return fmt.Sprintf("the pattern looks around by `%s`, which is not supported: several patterns in `allOf`, or one in `not`, say the same", around)
		}
	}
	if wrong.Code == syntax.ErrInvalidEscape && len(wrong.Expr) > 1 {
		switch letter := wrong.Expr[1]; {
		case letter >= '1' && letter <= '9', letter == 'k':
			return fmt.Sprintf("the pattern refers back by `%s`, which is not supported", wrong.Expr)
		case letter == 'u':
			return "the pattern has `\\u` and the number of a character, which is not supported: write the character itself, or `\\x{}` with the number"
		}
	}
	return fmt.Sprintf("the pattern is no regular expression: %s: %s", wrong.Code, shorten.Quoted(wrong.Expr))
}

// valueAt returns the value at a JSON pointer of a document; nil if the value is absent.
func valueAt(v any, pointer string) any {
	for _, key := range strings.Split(pointer, "/")[1:] {
		key = strings.NewReplacer("~1", "/", "~0", "~").Replace(key)
		switch of := v.(type) {
		case map[string]any:
			v = of[key]
		case []any:
			i, err := strconv.Atoi(key)
			if err != nil || i < 0 || i >= len(of) {
				return nil
			}
			v = of[i]
		default:
			return nil
		}
	}
	return v
}
