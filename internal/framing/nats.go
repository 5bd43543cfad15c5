package framing

import (
	"bytes"
	"net"
	"strconv"
)

// NATS follows the data of a server of NATS. The library allocates memory for a message when it has read the line before it.
func (g *Guard) NATS(conn net.Conn) net.Conn {
	m := &natsMessages{most: g.Most}
	return g.over(conn, (&lines{take: m.line}).follow)
}

// natsMessages follows the lines of a server of NATS.
type natsMessages struct {
	most   int
	behind bool // the next data follows a message: the library skips one byte, and then everything up to the end of the line
}

// line handles a line. The line of a message ends with its size; the size of the headers, if any, precedes it.
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

// natsSize parses an announced number. A number with more digits than any size is too large, not broken.
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
