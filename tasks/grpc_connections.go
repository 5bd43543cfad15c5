package tasks

import (
	"context"
	"crypto/sha256"
	"net"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/stats"
)

// grpcTarget is the place of a service.
type grpcTarget struct {
	Address   string `json:"address"` // host and port
	Plaintext bool   `json:"plaintext,omitempty"`
}

// grpcConnections are the connections of all calls. Calls of one place share a connection, which is kept a while for the next call.
type grpcConnections struct {
	dial Dial

	mu   sync.Mutex
	open map[grpcPlace]*grpcConnection
}

// grpcPlace is the key for sharing connections: a service, and the identity of the caller.
type grpcPlace struct {
	grpcTarget
	caller [sha256.Size]byte // the key of the certificate; zero without one
}

// grpcConnection is a connection, which is made when the first call needs it.
type grpcConnection struct {
	*grpc.ClientConn
	place   grpcPlace
	users   int
	dropped bool // no further call gets it
	idle    *time.Timer

	mu     sync.Mutex
	failed error // why the last attempt to connect failed
}

// take returns the connection to a service for a certificate, or without one. The caller must give it back.
func (all *grpcConnections) take(target grpcTarget, certificate *clientCertificate) (*grpcConnection, error) {
	place := grpcPlace{grpcTarget: target}
	if certificate != nil {
		place.caller = certificate.key
	}
	all.mu.Lock()
	defer all.mu.Unlock()
	c := all.open[place]
	if c == nil {
		c = &grpcConnection{place: place}
		var err error
		if c.ClientConn, err = grpc.NewClient("passthrough:///"+target.Address, c.options(certificate, all.dial)...); err != nil {
			return nil, err
		}
		if all.open == nil {
			all.open = map[grpcPlace]*grpcConnection{}
		}
		all.open[place] = c
	}
	if c.users++; c.idle != nil {
		c.idle.Stop()
	}
	return c, nil
}

// giveBack gives a connection back. A connection that did not answer is not used again. It is closed when its last call is over.
func (all *grpcConnections) giveBack(c *grpcConnection, answered bool) {
	all.mu.Lock()
	defer all.mu.Unlock()
	if c.users--; !answered {
		c.dropped = true
	}
	if c.dropped && all.open[c.place] == c {
		delete(all.open, c.place)
	}
	switch {
	case c.users > 0:
	case c.dropped:
		_ = c.Close() // it is closed once
	default:
		c.idle = time.AfterFunc(maxIdle, func() { all.forget(c) })
	}
}

// forget closes a connection that was unused for a long time.
func (all *grpcConnections) forget(c *grpcConnection) {
	all.mu.Lock()
	defer all.mu.Unlock()
	if c.users == 0 && all.open[c.place] == c {
		delete(all.open, c.place)
		_ = c.Close() // it is closed once
	}
}

// options returns options for a connection without automatic behaviour: only names of the dialer, no proxies, no repetitions, and no settings that
// others published.
func (c *grpcConnection) options(certificate *clientCertificate, dial Dial) []grpc.DialOption {
	secured := insecure.NewCredentials()
	if !c.place.Plaintext {
		secured = credentials.NewTLS(certificate.settings())
	}
	return []grpc.DialOption{
		grpc.WithContextDialer(func(ctx context.Context, address string) (net.Conn, error) {
			conn, err := dial(ctx, "tcp", address)
			c.note(err)
			return conn, err
		}),
		grpc.WithTransportCredentials(noted{secured, c.note}), grpc.WithNoProxy(), grpc.WithDisableServiceConfig(), grpc.WithDisableRetry(),
		grpc.WithUserAgent(userAgent), grpc.WithMaxHeaderListSize(maxHeader), grpc.WithStatsHandler(answers{}), grpc.WithIdleTimeout(0),
	}
}

// note stores why a connection could not be made; nil if it was made.
func (c *grpcConnection) note(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.failed = err
}

// unmade returns why the connection could not be made, or nil.
func (c *grpcConnection) unmade() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.failed
}

// noted notes handshakes that fail. By TLS 1.3, a server refuses a certificate only afterwards.
type noted struct {
	credentials.TransportCredentials
	note func(error)
}

// ClientHandshake implements credentials.TransportCredentials.
func (n noted) ClientHandshake(ctx context.Context, authority string, conn net.Conn) (net.Conn, credentials.AuthInfo, error) {
	secured, info, err := n.TransportCredentials.ClientHandshake(ctx, authority, conn)
	n.note(err)
	if err == nil {
		secured = notedConn{secured, n.note}
	}
	return secured, info, err
}

// notedConn notes that the server refuses the certificate.
type notedConn struct {
	net.Conn
	note func(error)
}

// Read implements net.Conn.
func (n notedConn) Read(p []byte) (int, error) {
	read, err := n.Conn.Read(p)
	if refusedCertificate(err) != "" {
		n.note(err)
	}
	return read, err
}

// Clone implements credentials.TransportCredentials.
func (n noted) Clone() credentials.TransportCredentials {
	return noted{n.TransportCredentials.Clone(), n.note}
}

// answers notes for a call that its server answered to the end. Without this note, a status may have been made by the library because of a broken
// connection.
type answers struct{}

// answeredKey is the key of the note in the context of a call.
type answeredKey struct{}

// TagRPC implements stats.Handler.
func (answers) TagRPC(ctx context.Context, _ *stats.RPCTagInfo) context.Context { return ctx }

// HandleRPC implements stats.Handler.
func (answers) HandleRPC(ctx context.Context, s stats.RPCStats) {
	if _, ended := s.(*stats.InTrailer); ended {
		ctx.Value(answeredKey{}).(func())()
	}
}

// TagConn implements stats.Handler.
func (answers) TagConn(ctx context.Context, _ *stats.ConnTagInfo) context.Context { return ctx }

// HandleConn implements stats.Handler.
func (answers) HandleConn(context.Context, stats.ConnStats) {}
