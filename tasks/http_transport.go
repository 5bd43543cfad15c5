package tasks

import (
	"context"
	"crypto/tls"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// TransportConfig specifies how the calls of a process reach the network. The zero value reaches everything.
type TransportConfig struct {
	// Control allows or refuses each connection; nil allows all.
	Control Control
	// Proxy finds the proxy of a request, which dials in the place of Control. If it is nil, there is no proxy with a Control, and the proxy of the
	// environment without a Control.
	Proxy func(*http.Request) (*url.URL, error)
	// Through is the address of a proxy that is dialled although Control may refuse it; empty for none.
	Through string
	// Connections is the maximum number of simultaneous calls. As many connections are kept open for the next calls, and at least 100.
	Connections int
}

// Limits of a connection. The duration of an answer is limited only by the task's timeout.
const (
	maxHandshake = 10 * time.Second // until it speaks TLS
	maxIdle      = 90 * time.Second // how long a connection is kept for the next call
	maxHeader    = 1 << 20          // bytes of an answer's header
)

// NewTransport returns a transport for calls. All calls of a process should share one, because it keeps their connections.
func NewTransport(c TransportConfig) *http.Transport {
	dial := connector{through(c.Through, NewDial(c.Control)), (*clientCertificate)(nil).settings}
	t := &http.Transport{
		DialContext: dial.plain, DialTLSContext: dial.secure, ForceAttemptHTTP2: true, TLSHandshakeTimeout: maxHandshake,
		ExpectContinueTimeout: time.Second, IdleConnTimeout: maxIdle, MaxIdleConnsPerHost: max(c.Connections, 100),
		MaxResponseHeaderBytes: maxHeader, Proxy: c.Proxy,
	}
	if t.Proxy == nil && c.Control == nil {
		t.Proxy = http.ProxyFromEnvironment
	}
	return t
}

// sendOnce sends a request through a transport. If a server ends a used connection without an answer, net/http sends a second copy of a request with
// the header Idempotency-Key or X-Idempotency-Key, regardless of its method. The service may have carried out the first request, and only the author
// may grant the next attempt. Therefore the names of these headers get another spelling, which has the same meaning on a connection.
func sendOnce(transport http.RoundTripper, r *http.Request) (*http.Response, error) {
	if _, connects := transport.(*http.Transport); !connects || r.Header["Idempotency-Key"] == nil && r.Header["X-Idempotency-Key"] == nil {
		return transport.RoundTrip(r)
	}
	once := *r
	once.Header = r.Header.Clone()
	for name, other := range map[string]string{"Idempotency-Key": "Idempotency-key", "X-Idempotency-Key": "X-Idempotency-key"} {
		if values := once.Header[name]; values != nil {
			delete(once.Header, name)
			once.Header[other] = values
		}
	}
	return transport.RoundTrip(&once)
}

// through returns a Dial that does not apply Control to the address of a proxy.
func through(proxy string, dial Dial) Dial {
	if proxy == "" {
		return dial
	}
	toProxy := NewDial(nil)
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		if strings.EqualFold(address, proxy) {
			return toProxy(ctx, network, address)
		}
		return dial(ctx, network, address)
	}
}

// connector opens connections that end with their call. The transport itself would continue to open a connection that no call waits for, because
// another call might use it. With a server that stalls, this takes a long time.
type connector struct {
	dial     Dial
	settings func() *tls.Config // of TLS, besides the name of the server
}

func (d connector) plain(ctx context.Context, network, address string) (net.Conn, error) {
	ctx, done := untilCallEnds(ctx)
	defer done()
	return d.dial(ctx, network, address)
}

func (d connector) secure(ctx context.Context, network, address string) (net.Conn, error) {
	ctx, done := untilCallEnds(ctx)
	defer done()
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return nil, err
	}
	plain, err := d.dial(ctx, network, address)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, maxHandshake)
	defer cancel()
	settings := d.settings()
	settings.ServerName, settings.NextProtos = host, []string{"h2", "http/1.1"}
	secured := tls.Client(plain, settings)
	if err := secured.HandshakeContext(ctx); err != nil {
		plain.Close() // the error of the handshake is more exact
		return nil, err
	}
	return secured, nil
}

// callEnd is the key under which a request's context knows the context of its call.
type callEnd struct{}

// withCall lets the connections that are opened for ctx end with it. The transport passes on values of contexts, but not their end.
func withCall(ctx context.Context) context.Context { return context.WithValue(ctx, callEnd{}, ctx) }

// untilCallEnds returns a context that ends with ctx and, at the latest, with the call that it belongs to.
func untilCallEnds(ctx context.Context) (context.Context, func()) {
	call, ok := ctx.Value(callEnd{}).(context.Context)
	if !ok {
		return ctx, func() {}
	}
	ctx, cancel := context.WithCancelCause(ctx)
	stop := context.AfterFunc(call, func() { cancel(context.Cause(call)) })
	return ctx, func() { stop(); cancel(nil) }
}
