package framing

import (
	"net"
	"strconv"
)

// Redis follows what a server of Redis sends. Its library makes room for texts and lists when it has read how long they are. A list may have
// elements elements at most.
func (g *Guard) Redis(conn net.Conn, elements int) net.Conn {
	answers := &redisAnswers{guard: g, elements: elements}
	return g.over(conn, (&lines{take: answers.line}).follow)
}

// redisNesting is how deep lists may stand in others: an answer to XREADGROUP has five.
const redisNesting = 8

// redisExtra is what the answer with a message may have besides the message: the name of a channel, for example.
const redisExtra = 64 << 10

// redisAnswers follows the answers of a server of Redis.
type redisAnswers struct {
	guard    *Guard
	elements int
	total    int   // bytes of the texts of an answer that has begun
	nesting  []int // how many elements are still to come of each list that has begun
}

// line takes the first line of a value.
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

// complete takes note of a value that is complete.
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
