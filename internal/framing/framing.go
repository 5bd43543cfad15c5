// Package framing follows the frames of a server, on the connection below a library. It closes the connection before the library allocates memory for
// data that the server only announces, or reads data that would end the process.
package framing

import (
	"bytes"
	"net"
	"sync/atomic"

	"github.com/swrun/swrun/errors"
)

// ErrTooLarge reports that a server announces, or sends, more than the maximum size of a message.
var ErrTooLarge = errors.New("the broker sends more than a message may have")

// ErrBroken reports that a server violates its protocol.
var ErrBroken = errors.New("the broker sends what its protocol does not have")

// Guard follows the connections of one client. It may be used by several goroutines.
type Guard struct {
	// Most is the maximum size of a message, in bytes.
	Most int
	// Refused is called when a connection is closed; it may be nil, and may be called more than once.
	Refused func()

	refused atomic.Pointer[error]
}

// Err returns the reason why a connection was closed; nil if none was. Libraries hide the cause of their read errors.
func (g *Guard) Err() error {
	if why := g.refused.Load(); why != nil {
		return *why
	}
	return nil
}

// Refuse notes the reason why a connection is closed; the first of several reasons is kept.
func (g *Guard) Refuse(why error) {
	g.refused.CompareAndSwap(nil, &why)
	if g.Refused != nil {
		g.Refused()
	}
}

// guardedConn is a connection whose frames are followed.
type guardedConn struct {
	net.Conn
	guard  *Guard
	follow func(p []byte) error
	err    error
}

// over returns a connection that reads the data that follow accepts.
func (g *Guard) over(conn net.Conn, follow func([]byte) error) net.Conn {
	return &guardedConn{Conn: conn, guard: g, follow: follow}
}

// Read implements net.Conn. It reads nothing after a refusal.
func (c *guardedConn) Read(p []byte) (int, error) {
	if c.err != nil {
		return 0, c.err
	}
	n, err := c.Conn.Read(p)
	if c.err = c.follow(p[:n]); c.err != nil {
		c.guard.Refuse(c.err)
		return 0, c.err
	}
	return n, err
}

// mostLine is the maximum length of a line: the description of a server, or the reason of a refusal.
const mostLine = 256 << 10

// lines splits the data into lines, and skips the data that they announce.
type lines struct {
	line []byte
	skip int
	// take handles a line without its end, and returns the number of following bytes that are no line.
	take func(line []byte) (skip int, err error)
}

// follow handles the next bytes.
func (l *lines) follow(p []byte) (err error) {
	for len(p) > 0 {
		if skipped := min(l.skip, len(p)); skipped > 0 {
			l.skip -= skipped
			p = p[skipped:]
			continue
		}
		part, rest, ended := bytes.Cut(p, []byte("\n"))
		if len(l.line)+len(part) > mostLine {
			return ErrTooLarge
		}
		if l.line = append(l.line, part...); !ended {
			return nil
		}
		if l.skip, err = l.take(l.line); err != nil {
			return err
		}
		l.line, p = l.line[:0], rest
	}
	return nil
}
