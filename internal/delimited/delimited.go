// Package delimited distinguishes runtime expressions from other text. It does not examine the text between the delimiters.
package delimited

import "strings"

// Is reports whether the whole of s is one expression: ${ ... }, with or without white space around it (semantics 2.1).
func Is(s string) bool {
	s = strings.TrimSpace(s)
	return strings.HasPrefix(s, "${") && strings.HasSuffix(s, "}")
}

// Inside returns the text between the delimiters of an expression, and other text unchanged.
func Inside(s string) string {
	if !Is(s) {
		return s
	}
	s = strings.TrimSpace(s)
	return s[len("${") : len(s)-len("}")]
}
