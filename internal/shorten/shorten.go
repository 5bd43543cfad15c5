// Package shorten cuts texts to a length that is still read, for messages and logs. Whoever quotes a text of unknown length
// uses it. It knows nothing of the width of characters on a terminal.
package shorten

import (
	"fmt"
	"strconv"
	"strings"
)

// To returns the beginning of a text, at most so many bytes of it in whole characters, and an ellipsis if that is not all.
func To(text string, most int) string {
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most], "") + "…"
}

// Panic returns what a recovered panic says, as one line of a length that is read.
func Panic(recovered any) string {
	const most = 500
	return To(strings.Join(strings.Fields(fmt.Sprint(recovered)), " "), most)
}

// Quoted returns a text in quotes, cut to a length that is read.
func Quoted(text string) string {
	const most = 200
	return strconv.Quote(To(text, most))
}
