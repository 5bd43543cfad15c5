package main

import (
	"strings"

	"github.com/swrun/swrun/internal/shorten"
)

// maxWord is the maximum length of a word of the command line in a message.
const maxWord = 200

// shortWords shortens each long word of a message, so that the end of the message, which names the fault, stays visible.
func shortWords(message string) string {
	words := strings.Split(message, " ")
	for n, word := range words {
		words[n] = shorten.To(word, maxWord)
	}
	return shorten.To(strings.Join(words, " "), 20*maxWord)
}

// short returns the error with a message that does not repeat all of a long command line.
func (e *exitError) short() *exitError {
	if e.code == exitUsage {
		e.message = shortWords(e.message)
	}
	return e
}
