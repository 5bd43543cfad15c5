// Package shorten cuts texts to a readable length, for messages and logs. Every message with a text of unknown length uses it. It does not consider
// the width of characters on a terminal.
package shorten

import (
	"fmt"
	"strconv"
	"strings"
)

// To returns the beginning of a text, limited to a number of bytes in whole characters, and an ellipsis if the text is longer.
func To(text string, most int) string {
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most], "") + "…"
}

// Panic returns the value of a recovered panic as one line of readable length.
func Panic(recovered any) string {
	const most = 500
	return To(strings.Join(strings.Fields(fmt.Sprint(recovered)), " "), most)
}

// Quoted returns a text in quotes, cut to a readable length.
func Quoted(text string) string {
	const most = 200
	return strconv.Quote(To(text, most))
}
