// Package framing follows the frames that a server sends, on the connection below a library, and ends the connection before the library makes room
// for what the server only announces, or meets what would end the process.
package framing

import (
	"bytes"
	"net"
	"sync/atomic"

	"github.com/swrun/swrun/errors"
)

// ErrTooLarge says that a server announces, or sends, more than a message may have.
var ErrTooLarge = errors.New("the broker sends more than a message may have")

// ErrBroken says that a server sends what its protocol does not have.
var ErrBroken = errors.New("the broker sends what its protocol does not have")

// Guard follows the connections of one client. It may be used by several goroutines.
type Guard struct {
	// Most is how many bytes a message may have.
	Most int
	// Refused is called when a connection is ended; it may be nil, and be called more than once.
	Refused func()

	refused atomic.Pointer[error]
}

// Err returns why a connection was ended; nil if none was. Libraries hide why they could not read on.
func (g *Guard) Err() error {
	if why := g.refused.Load(); why != nil {
		return *why
	}
	return nil
}

// Refuse notes why a connection is ended; of several reasons the first one is kept.
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

// over returns a connection that reads what follow accepts.
func (g *Guard) over(conn net.Conn, follow func([]byte) error) net.Conn {
	return &guardedConn{Conn: conn, guard: g, follow: follow}
}

// Read implements net.Conn. After a refusal nothing is read any more.
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

// mostLine is how long a line may be: what a server says of itself, or why it refuses something.
const mostLine = 256 << 10

// lines cuts what comes into lines, and passes over what is announced in them.
type lines struct {
	line []byte
	skip int
	// take takes a line without its end, and returns how many bytes come next that are no line.
	take func(line []byte) (skip int, err error)
}

// follow takes the next bytes.
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
