package brokers

import (
	"context"
	"crypto/tls"
	"net"
	"sync/atomic"
	"time"

	"github.com/swrun/swrun/errors"
)

// certified reports whether a certificate is the client's only proof of identity.
func (c *Client) certified() bool {
	return c.Secure && len(c.TLS.Certificates) > 0 && c.Account == (Account{})
}

// secure secures a connection to an address.
func (c *Client) secure(ctx context.Context, conn net.Conn, address string) (net.Conn, error) {
	c.alert.said.Store(nil) // the alert of a server that was tried before
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return nil, err
	}
	within, cancel := context.WithTimeout(ctx, connectWithin)
	defer cancel()
	settings := c.TLS.Clone()
	settings.ServerName = host
	s := tls.Client(conn, settings)
	if err := s.HandshakeContext(within); err != nil {
		return nil, err
	}
	return &securedConn{s, c.alert}, nil
}

// alert is the message with which a server ended a secured connection.
type alert struct{ said atomic.Pointer[net.OpError] }

// securedConn is a connection over TLS that remembers why the server ended it. In TLS 1.3, a server refuses a certificate after the client's
// connection is established, and most libraries do not report such data.
type securedConn struct {
	*tls.Conn
	alert *alert
}

// Read implements net.Conn.
func (s *securedConn) Read(p []byte) (int, error) {
	n, err := s.Conn.Read(p)
	s.note(err)
	return n, err
}

// Write implements net.Conn. After a failed write, it looks for the reason.
func (s *securedConn) Write(p []byte) (int, error) {
	n, err := s.Conn.Write(p)
	if err != nil && s.SetReadDeadline(time.Now().Add(farewell)) == nil {
		_, why := s.Conn.Read(make([]byte, 1))
		s.note(why)
	}
	return n, err
}

func (s *securedConn) note(err error) {
	var remote *net.OpError
	if errors.As(err, &remote) && remote.Op == "remote error" { // the name that crypto/tls gives to alerts
		s.alert.said.Store(remote)
	}
}
