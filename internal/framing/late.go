package framing

import "net"

// lateConn is a connection that becomes secure before the first write.
type lateConn struct {
	net.Conn
	secure func() (net.Conn, error) // nil once the connection is secure
}

// Late returns a connection that becomes secure before the first write: a server of NATS first sends its requirements in plain text. No goroutine may
// read during the first write.
func Late(conn net.Conn, secure func() (net.Conn, error)) net.Conn {
	return &lateConn{conn, secure}
}

// Write implements net.Conn.
func (l *lateConn) Write(p []byte) (int, error) {
	if l.secure != nil {
		secured, err := l.secure()
		if err != nil {
			return 0, err
		}
		l.Conn, l.secure = secured, nil
	}
	return l.Conn.Write(p)
}
