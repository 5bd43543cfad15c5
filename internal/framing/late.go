package framing

import "net"

// lateConn is a connection that becomes secure before something is written.
type lateConn struct {
	net.Conn
	secure func() (net.Conn, error) // nil once it is
}

// Late returns a connection that becomes secure before something is written: a server of NATS says first, for all to read, how it wants to be
// talked to. Nobody may read while the first thing is written.
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
