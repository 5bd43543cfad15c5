package framing

import (
	"net"
	"strconv"
)

// Redis follows the data of a server of Redis. The library allocates memory for texts and lists when it has read their lengths. A list may have at
// most elements elements.
func (g *Guard) Redis(conn net.Conn, elements int) net.Conn {
	answers := &redisAnswers{guard: g, elements: elements}
	return g.over(conn, (&lines{take: answers.line}).follow)
}

// redisNesting is the maximum depth of nested lists: an answer to XREADGROUP has five levels.
const redisNesting = 8

// redisExtra is the maximum size of an answer with a message besides the message, in bytes: the name of a channel, for example.
const redisExtra = 64 << 10

// redisAnswers follows the answers of a server of Redis.
type redisAnswers struct {
	guard    *Guard
	elements int
	total    int   // bytes of the texts of an incomplete answer
	nesting  []int // number of missing elements of each incomplete list
}

// line handles the first line of a value.
func (a *redisAnswers) line(line []byte) (skip int, err error) {
	text := string(line)
	if text == "" || text == "\r" {
		return 0, nil
	}
	size, wrong := strconv.Atoi(text[1:max(1, len(text)-1)])
	switch text[0] {
	case '$', '=', '!':
		if wrong != nil || size > a.guard.Most {
			return 0, ErrTooLarge
		}
		if size >= 0 {
			skip = size + len("\r\n")
		}
		if a.total += skip; a.total > a.guard.Most+redisExtra {
			return 0, ErrTooLarge
		}
	case '*', '~', '>', '%', '|':
		if text[0] == '%' || text[0] == '|' {
			size *= 2 // keys and values
		}
		if wrong != nil || size > a.elements || len(a.nesting) == redisNesting {
			return 0, ErrTooLarge
		}
		if size > 0 {
			a.nesting = append(a.nesting, size)
			return 0, nil
		}
	}
	a.complete()
	return skip, nil
}

// complete notes that a value is complete.
func (a *redisAnswers) complete() {
	for len(a.nesting) > 0 {
		last := len(a.nesting) - 1
		if a.nesting[last]--; a.nesting[last] > 0 {
			return
		}
		a.nesting = a.nesting[:last]
	}
	a.total = 0
}
