package faults

import (
	"io"
	"net"
	"sync"
	"sync/atomic"
	"testing"
)

// proxy is between workers and Redis, and causes faults.
type proxy struct {
	addr   string
	target string

	// drop makes the proxy swallow each drop-th piece of reply, and break its connection; 0 for never.
	drop    atomic.Int64
	replies atomic.Int64
	dropped atomic.Int64
	// cut makes the other side unreachable.
	cut atomic.Bool
	// bytes counts the data in both directions.
	bytes atomic.Int64

	mu    sync.Mutex
	conns map[net.Conn]bool
}

func startProxy(t *testing.T, target string) *proxy {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &proxy{addr: l.Addr().String(), target: target, conns: map[net.Conn]bool{}}
	var serving sync.WaitGroup
	serving.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			serving.Go(func() { p.serve(conn) })
		}
	})
	t.Cleanup(func() {
		l.Close() // no client connects any more
		p.reset()
		serving.Wait()
	})
	return p
}

func (p *proxy) serve(client net.Conn) {
	server, err := net.Dial("tcp", p.target)
	if err == nil && p.cut.Load() {
		server.Close() // it was not used
		err = net.ErrClosed
	}
	if err != nil {
		client.Close() // as if there were no server
		return
	}
	p.keep(client, server)
	var both sync.WaitGroup
	both.Go(func() { p.pass(server, client, false) })
	both.Go(func() { p.pass(client, server, true) })
	both.Wait()
	p.forget(client, server)
}

// pass copies until one side is closed; a reply may be swallowed, and with it the connection.
func (p *proxy) pass(to, from net.Conn, reply bool) {
	buffer := make([]byte, 32<<10)
	for {
		n, err := from.Read(buffer)
		if n > 0 && reply && p.swallows() {
			p.dropped.Add(1)
			err = io.EOF
		} else if n > 0 {
			p.bytes.Add(int64(n))
			if _, writing := to.Write(buffer[:n]); writing != nil {
				err = writing
			}
		}
		if err != nil {
			to.Close() // the other direction ends too
			from.Close()
			return
		}
	}
}

// swallows reports whether the next piece of reply is swallowed.
func (p *proxy) swallows() bool {
	each := p.drop.Load()
	return each > 0 && p.replies.Add(1)%each == 0
}

func (p *proxy) keep(conns ...net.Conn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range conns {
		p.conns[c] = true
	}
}

func (p *proxy) forget(conns ...net.Conn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range conns {
		delete(p.conns, c)
	}
}

// reset breaks every connection, and returns their number.
func (p *proxy) reset() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	for c := range p.conns {
		if tcp, ok := c.(*net.TCPConn); ok {
			tcp.SetLinger(0) // a reset, not an end
		}
		c.Close() // intended
	}
	return len(p.conns)
}
