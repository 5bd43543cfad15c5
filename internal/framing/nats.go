package framing

import (
	"bytes"
	"net"
	"strconv"
)

// NATS follows what a server of NATS sends. Its library makes room for a message when it has read the line before it.
func (g *Guard) NATS(conn net.Conn) net.Conn {
	m := &natsMessages{most: g.Most}
	return g.over(conn, (&lines{take: m.line}).follow)
}

// natsMessages follows the lines of a server of NATS.
type natsMessages struct {
	most   int
	behind bool // what comes next is behind a message: the library passes over one byte, and then over all up to the end of the line
}

// line takes a line. The line of a message ends with its size; before it is the size of the headers, if it has some.
func (m *natsMessages) line(line []byte) (int, error) {
	fields := bytes.Fields(line)
	if m.behind || len(fields) == 0 {
		m.behind = false
		return 0, nil
	}
	withHeaders := bytes.EqualFold(fields[0], []byte("HMSG"))
	if !withHeaders && !bytes.EqualFold(fields[0], []byte("MSG")) {
		return 0, nil
	}
	size, err := natsSize(fields[len(fields)-1])
	if err != nil {
		return 0, err
	}
	if withHeaders {
		headers, err := natsSize(fields[len(fields)-2])
		if err != nil || headers > size {
			return 0, ErrBroken
		}
	}
	if size > m.most {
		return 0, ErrTooLarge
	}
	m.behind = true
	return size + 1, nil
}

// natsSize reads a number that a server announces. One with more digits than any size has is too large, not broken.
func natsSize(text []byte) (int, error) {
	const digits = 18
	for _, c := range text {
		if c < '0' || c > '9' {
			return 0, ErrBroken
		}
	}
	if len(text) > digits {
		return 0, ErrTooLarge
	}
	size, err := strconv.Atoi(string(text))
	if err != nil {
		return 0, ErrBroken
	}
	return size, nil
}
