package container

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/moby/moby/client"
)

// The limits of the data that an engine sends. The client has no limits: it reads an answer to its end, and the header of an attached stream too.
const (
	mostHeader = 256 << 10 // bytes
	mostBody   = 16 << 20  // bytes of an answer, or of a message of a pull
)

// errTooMuch reports that an engine sends more than swrun reads.
var errTooMuch = errors.New("the container engine sends more than an answer may have")

// reach is the way to connect to the engine.
type reach struct {
	network, address string
	secure           *tls.Config // nil for a connection that is not encrypted
}

// dial connects to the engine.
func (r reach) dial(ctx context.Context) (net.Conn, error) {
	plain := net.Dialer{Timeout: maxAnswer}
	if r.secure == nil {
		return plain.DialContext(ctx, r.network, r.address)
	}
	secure := tls.Dialer{NetDialer: &plain, Config: r.secure}
	return secure.DialContext(ctx, r.network, r.address)
}

// guarded returns the options of a client that reaches an engine by dial, and follows its connections.
func guarded(dial func(context.Context) (net.Conn, error), follow func(net.Conn) net.Conn) []client.Opt {
	transport := &http.Transport{
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			conn, err := dial(ctx)
			if err != nil {
				return nil, err
			}
			return follow(conn), nil
		},
		MaxIdleConns: 6, IdleConnTimeout: 30 * time.Second, MaxResponseHeaderBytes: mostHeader, DisableCompression: true,
	}
	return []client.Opt{client.WithHTTPClient(&http.Client{Transport: transport, CheckRedirect: client.CheckRedirect})}
}

// answerConn is a connection over which each answer has a bound.
type answerConn struct {
	net.Conn
	read atomic.Int64 // since something was written
}

func followAnswers(conn net.Conn) net.Conn { return &answerConn{Conn: conn} }

// Read implements net.Conn.
func (c *answerConn) Read(p []byte) (int, error) {
	if c.read.Load() > mostHeader+mostBody {
		return 0, errTooMuch
	}
	n, err := c.Conn.Read(p)
	c.read.Add(int64(n))
	return n, err
}

// Write implements net.Conn.
func (c *answerConn) Write(p []byte) (int, error) {
	c.read.Store(0)
	return c.Conn.Write(p)
}

// boundedReader is a stream of which at most left bytes can be read until left is set again.
type boundedReader struct {
	io.Reader
	left int
}

// Read implements io.Reader. More bytes than left are an error.
func (b *boundedReader) Read(p []byte) (int, error) {
	if b.left <= 0 {
		return 0, errTooMuch
	}
	n, err := b.Reader.Read(p[:min(len(p), b.left)])
	b.left -= n
	return n, err
}

// headConn is a connection whose first header has a limit. The client reads the header of an attached stream without a limit.
type headConn struct {
	net.Conn
	read  int
	blank bool // the present line is still empty
	ended bool
}

func followHead(conn net.Conn) net.Conn { return &headConn{Conn: conn} }

// Read implements net.Conn.
func (c *headConn) Read(p []byte) (int, error) {
	if c.read > mostHeader && !c.ended {
		return 0, errTooMuch
	}
	n, err := c.Conn.Read(p)
	for _, b := range p[:n] {
		if c.ended {
			break
		}
		c.read++
		c.ended = b == '\n' && c.blank
		c.blank = b == '\n' || b == '\r' && c.blank
	}
	return n, err
}

// CloseWrite reports the end of the input to the engine, if the connection supports it.
func (c *headConn) CloseWrite() error {
	if half, ok := c.Conn.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return fmt.Errorf("a connection of the kind %T cannot be closed for writing alone", c.Conn)
}
