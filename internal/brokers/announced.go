package brokers

import (
	"net"
	"strconv"
)

// announcedConn is a connection to a server of Redis. The library makes room for what a server announces, before that has come: an answer that
// announces too much ends the connection here.
type announcedConn struct {
	net.Conn
	most    int // bytes of a text
	line    []byte
	skip    int   // bytes of a text that come next
	nesting []int // how many elements are still to come of each list that has begun
}

// The most that a list may have, and how deep lists may stand in others. Nothing that is asked for here has an answer with more.
const (
	mostElements = 1024
	mostNesting  = 8
)

// Read reads what does not announce too much.
func (a *announcedConn) Read(p []byte) (int, error) {
	n, err := a.Conn.Read(p)
	if !a.follow(p[:n]) {
		return 0, ErrTooLarge
	}
	return n, err
}

// follow reports whether what has come announces no more than may come.
func (a *announcedConn) follow(p []byte) bool {
	for len(p) > 0 {
		if skipped := min(a.skip, len(p)); skipped > 0 {
			a.skip -= skipped
			p = p[skipped:]
			continue
		}
		if p[0] != '\n' {
			a.line = append(a.line, p[0])
		} else if !a.announce() {
			return false
		}
		p = p[1:]
	}
	return true
}

// announce takes the first line of a value.
func (a *announcedConn) announce() bool {
	line := string(a.line)
	a.line = a.line[:0]
	if line == "" || line == "\r" {
		return true
	}
	size, err := strconv.Atoi(line[1:max(1, len(line)-1)])
	switch line[0] {
	case '$', '=', '!':
		if err != nil || size > a.most {
			return false
		}
		if size >= 0 {
			a.skip = size + len("\r\n")
		}
	case '*', '~', '>', '%', '|':
		if line[0] == '%' || line[0] == '|' {
			size *= 2 // keys and values
		}
		if err != nil || size > mostElements || len(a.nesting) == mostNesting {
			return false
		}
		if size > 0 {
			a.nesting = append(a.nesting, size)
			return true
		}
	}
	for len(a.nesting) > 0 { // a value is complete
		last := len(a.nesting) - 1
		if a.nesting[last]--; a.nesting[last] > 0 {
			break
		}
		a.nesting = a.nesting[:last]
	}
	return true
}
