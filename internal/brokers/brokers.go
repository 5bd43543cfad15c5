// Package brokers publishes messages to brokers, and receives them, by the protocols that AsyncAPI documents name: one file for each. Every
// connection goes through the dialer that it is given, and is closed when nobody needs it any more.
package brokers

import (
	"cmp"
	"context"
	"crypto/tls"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/swrun/swrun/internal/asyncapi"
	"github.com/swrun/swrun/internal/framing"
)

// Client is somebody who talks to the server of a target.
type Client struct {
	asyncapi.Target
	Account
	// Dial opens connections.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)
	// TLS says how connections are secured if the target wants that, besides the name of the server: with which certificate, and who is trusted.
	TLS *tls.Config
	// MaxRead is how many bytes a broker may send before it has said something that is complete: an answer to what was published, or a message.
	MaxRead int
	// Skims says that of a larger message, up to MaxSkimmed, is read what it takes to reject it, or to pass over it.
	Skims bool

	allowed int           // bytes that it may send at once
	unread  *atomic.Int64 // that it may still send
	alert   *alert
	guard   *framing.Guard // of what is read by libraries that trust what is announced
}

// MaxSkimmed is how large a message may be that is read only to be rejected: what brokers take at most unless they are configured otherwise.
const MaxSkimmed = 128 << 20

// ErrTooLarge says that a broker announces, or has sent, more than a message may have.
var ErrTooLarge = framing.ErrTooLarge

// bounded returns a copy of the client that counts what it reads.
func (c *Client) bounded() *Client {
	counting := *c
	counting.unread, counting.alert, counting.allowed = new(atomic.Int64), new(alert), c.MaxRead
	if c.Skims {
		counting.allowed = MaxSkimmed + amqpFrame // the rest is what the message has besides its payload
	}
	counting.guard = &framing.Guard{Most: counting.allowed}
	counting.more()
	return &counting
}

// more lets the broker send something else.
func (c *Client) more() { c.unread.Store(int64(c.allowed)) }

// explain returns the error of what has failed. Libraries hide why they could not read on.
func (c *Client) explain(err error) error {
	if err == nil {
		return nil
	}
	if said := c.alert.said.Load(); said != nil {
		return said
	}
	return cmp.Or(c.guard.Err(), err)
}

// Account is as whom a client connects. Without a username, a password or a token is all that there is.
type Account struct{ Username, Password, Token string }

// secret is the password, or the token.
func (a Account) secret() string {
	if a.Token != "" {
		return a.Token
	}
	return a.Password
}

// Message is what goes over a channel.
type Message struct {
	Payload       []byte
	ContentType   string
	CorrelationID string
	Headers       map[string]string
	// ID is the same if the message is published again.
	ID string
}

// Delivery is a message that was received.
type Delivery struct {
	Message
	// Handle is what its broker knows it by, also if it comes again over another connection, and no other message; empty if there is no such
	// thing.
	Handle string
	// First says that it has not come before, whatever its handle.
	First bool
	// Most is how many bytes a message may have that is received, if this one has more, and its payload is missing; otherwise 0.
	Most int
	// Unfit says, where it is acknowledged, that it was not consumed: nobody can make anything of it. A broker that has a place for such messages
	// puts it there.
	Unfit bool
	tag   any // what acknowledges it over this connection
}

// Subscription is one to a channel. One goroutine uses it at a time, but for Close.
type Subscription interface {
	// Receive waits for a message. It may be called again when ctx has ended; after any other error the subscription is broken.
	Receive(ctx context.Context) (*Delivery, error)
	// Acknowledge says that messages were consumed, in the order in which they came. Those that were not come again to who subscribes next under
	// the same name, if the broker keeps messages. Of messages that came over another connection there is only the handle.
	Acknowledge(ctx context.Context, consumed []*Delivery) error
	// Keeps reports whether the broker keeps what was not acknowledged.
	Keeps() bool
	// Close ends the connection, soon and in any case. The broker forgets the subscription if it is over, and otherwise keeps it for who goes on.
	Close(over bool)
}

// RefusedError says that a broker has answered, and has not done what it was asked for.
type RefusedError struct {
	Status int // of HTTP, that says about the same
	Err    error
}

// Error says why.
func (e *RefusedError) Error() string { return e.Err.Error() }

// Unwrap returns why.
func (e *RefusedError) Unwrap() error { return e.Err }

func refused(status int, err error) error { return &RefusedError{status, err} }

// publisher returns what publishes a message, and returns when the broker has it; nil for a protocol that cannot be spoken.
func (c *Client) publisher() func(context.Context, Message) error {
	switch c.Protocol {
	case "amqp":
		return c.publishAMQP
	case "amqp1":
		return c.publishAMQP1
	case "kafka":
		return c.publishKafka
	case "mqtt":
		return c.publishMQTT
	case "mqtt5":
		return c.publishMQTT5
	case "nats":
		return c.publishNATS
	case "redis":
		return c.publishRedis
	case "ws":
		return c.publishWS
	}
	return nil
}

// subscriber returns what begins, or goes on with, the subscription of a name; nil for a protocol by which nothing can be received.
func (c *Client) subscriber() func(ctx context.Context, name string) (Subscription, error) {
	switch c.Protocol {
	case "kafka":
		return c.subscribeKafka
	case "mqtt":
		return c.subscribeMQTT
	case "mqtt5":
		return c.subscribeMQTT5
	case "nats":
		return c.subscribeNATS
	case "amqp":
		return c.subscribeAMQP
	case "amqp1":
		return c.subscribeAMQP1
	case "redis":
		return c.subscribeRedis
	case "ws":
		return c.subscribeWS
	}
	return nil
}

func client(protocol string) *Client { return &Client{Target: asyncapi.Target{Protocol: protocol}} }

// Publishes reports whether messages can be published by a protocol.
func Publishes(protocol string) bool { return client(protocol).publisher() != nil }

// Subscribes reports whether messages can be received by a protocol.
func Subscribes(protocol string) bool { return client(protocol).subscriber() != nil }

// HasHeaders reports whether messages of a protocol have headers.
func HasHeaders(protocol string) bool {
	switch protocol {
	case "mqtt", "redis", "ws":
		return false
	}
	return true
}

// Upgrades reports whether connections of a protocol begin without TLS and become secure if a client wants that, so that a server need not be
// described as one that speaks TLS.
func Upgrades(protocol string) bool { return protocol == "nats" }

// Publish publishes a message and returns when the broker has it. The connection ends with ctx.
func (c *Client) Publish(ctx context.Context, m Message) error {
	left := ctx.Done()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	counting := c.bounded()
	counting.guard.Refused = cancel
	_, err := ended(ctx, left, func() (struct{}, error) { return struct{}{}, counting.publisher()(ctx, m) }, func(struct{}) {})
	return counting.explain(err)
}

// Subscribe begins the subscription of a name, or goes on with it: what comes from then on is received. Its connection ends with ctx, or when it is
// closed.
func (c *Client) Subscribe(ctx context.Context, name string) (Subscription, error) {
	left := ctx.Done()
	ctx, cancel := context.WithCancel(ctx)
	counting := c.bounded()
	counting.guard.Refused = cancel
	s, err := ended(ctx, left, func() (Subscription, error) { return counting.subscriber()(ctx, name) }, func(late Subscription) { late.Close(false) })
	if err != nil {
		cancel()
		return nil, counting.explain(err)
	}
	return &explained{s, counting, left, cancel}, nil
}

// ended calls a library. When its connection ends with ctx, the library has a moment to say why, since some wait on for an answer. When the caller has
// left, nobody waits for the library: whatever the caller holds is free at once. What comes too late is given to drop.
func ended[T any](ctx context.Context, left <-chan struct{}, call func() (T, error), drop func(T)) (T, error) {
	type result struct {
		value T
		err   error
	}
	done, late := make(chan result), make(chan struct{})
	go func() {
		value, err := call()
		select {
		case done <- result{value, err}:
		case <-late:
			if err == nil {
				drop(value)
			}
		}
	}()
	select {
	case r := <-done:
		return r.value, r.err
	case <-ctx.Done():
	case <-left:
	}
	soon := time.NewTimer(farewell)
	defer soon.Stop()
	select {
	case r := <-done:
		return r.value, r.err
	case <-left:
	case <-soon.C:
	}
	close(late)
	return *new(T), cmp.Or(context.Cause(ctx), context.Canceled)
}

// explained is a subscription whose errors say what the client knows.
type explained struct {
	Subscription
	client *Client
	left   <-chan struct{} // closed when its caller has gone
	cancel func()          // ends the connection
}

// Close implements Subscription. A library that waits for more is not waited for, and none is when the caller has gone: the connection has ended then.
func (e *explained) Close(over bool) {
	soon, stop := context.WithTimeout(context.Background(), 2*farewell)
	defer stop()
	defer e.cancel()
	closing := func() (struct{}, error) {
		e.Subscription.Close(over)
		return struct{}{}, nil
	}
	_, _ = ended(soon, e.left, closing, func(struct{}) {}) // it is over in any case
}

// Receive implements Subscription.
func (e *explained) Receive(ctx context.Context) (*Delivery, error) {
	d, err := e.Subscription.Receive(ctx)
	if err == nil && len(d.Payload) > e.client.MaxRead {
		d.Payload, d.Most = nil, e.client.MaxRead
	}
	return d, e.client.explain(err)
}

// Acknowledge implements Subscription.
func (e *explained) Acknowledge(ctx context.Context, consumed []*Delivery) error {
	return e.client.explain(e.Subscription.Acknowledge(ctx, consumed))
}

// connectWithin bounds how long a broker takes to accept a client.
const connectWithin = 30 * time.Second

// farewell bounds how long the end of a connection takes.
const farewell = time.Second

// keptFor is how long a broker keeps a subscription that nobody comes back to, if that can be said.
const keptFor = 7 * 24 * time.Hour

// beat calls ping now and then, until ctx ends or that fails, and says why.
func beat(ctx context.Context, ping func(context.Context) error) error {
	ticker := time.NewTicker(keepAlive * time.Second)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-ticker.C:
			if err := ping(ctx); err != nil {
				return err
			}
		}
	}
}

// clientName is how swrun introduces itself.
const clientName = "swrun"

// dialer returns what opens connections that end with ctx, whatever the library does that uses them.
func (c *Client) dialer(ctx context.Context) func(ctx context.Context, network, address string) (net.Conn, error) {
	return func(dialling context.Context, network, address string) (net.Conn, error) {
		dialling, cancel := context.WithCancel(dialling)
		defer cancel()
		defer context.AfterFunc(ctx, cancel)()
		conn, err := c.Dial(dialling, network, address)
		if err != nil {
			return nil, err
		}
		b := &boundConn{Conn: conn, unread: c.unread, guard: c.guard}
		b.release = context.AfterFunc(ctx, func() { conn.Close() }) // who uses it sees that
		return b, nil
	}
}

// boundConn is a connection that ends with a context.
type boundConn struct {
	net.Conn
	unread  *atomic.Int64
	guard   *framing.Guard
	release func() bool
	once    sync.Once
	err     error
}

// Read reads, as long as there is not too much.
func (b *boundConn) Read(p []byte) (int, error) {
	n, err := b.Conn.Read(p)
	if b.unread.Add(-int64(n)) < 0 {
		b.guard.Refuse(ErrTooLarge)
		return 0, ErrTooLarge
	}
	return n, err
}

// Close closes the connection once.
func (b *boundConn) Close() error {
	b.once.Do(func() {
		b.release()
		b.err = b.Conn.Close()
	})
	return b.err
}

// connect opens a connection to the first address that can be reached, over TLS if the target says so.
func (c *Client) connect(ctx context.Context) (conn net.Conn, err error) {
	for _, address := range c.Addresses {
		if conn, err = c.open(ctx, "tcp", address); err == nil || ctx.Err() != nil {
			return conn, err
		}
	}
	return nil, err
}

// open opens a connection.
func (c *Client) open(ctx context.Context, network, address string) (net.Conn, error) {
	conn, err := c.dialer(ctx)(ctx, network, address)
	if err != nil || !c.Secure {
		return conn, err
	}
	secured, err := c.secure(ctx, conn, address)
	if err != nil {
		conn.Close() // the error is the first one's
		return nil, err
	}
	return secured, nil
}
