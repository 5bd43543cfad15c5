// Package brokers publishes messages to brokers, and receives them, by the protocols of AsyncAPI documents: one file for each. Every connection uses
// the given dialer, and is closed when it is no longer needed.
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

// Client is a client of the server of a target.
type Client struct {
	asyncapi.Target
	Account
	// Dial opens connections.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)
	// TLS contains the settings of secured connections, if the target requires them: the certificate and the trusted authorities. The name of the server
	// is added.
	TLS *tls.Config
	// MaxRead is the maximum number of bytes that a broker sends for one complete item: an answer to a published message, or a received message.
	MaxRead int
	// Skims reports that of a larger message, up to MaxSkimmed, the client reads the part that is necessary to reject or skip it.
	Skims bool

	allowed int           // number of bytes that the broker may send for one item
	unread  *atomic.Int64 // the rest of them
	alert   *alert
	guard   *framing.Guard // limits the reads of libraries that trust announced sizes
}

// MaxSkimmed is the maximum size of a message that is read only to be rejected. It is the usual maximum of brokers in their default configuration.
const MaxSkimmed = 128 << 20

// ErrTooLarge reports that a broker announced, or sent, more than the maximum size of a message.
var ErrTooLarge = framing.ErrTooLarge

// bounded returns a copy of the client that counts what it reads.
func (c *Client) bounded() *Client {
	counting := *c
	counting.unread, counting.alert, counting.allowed = new(atomic.Int64), new(alert), c.MaxRead
	if c.Skims {
		counting.allowed = MaxSkimmed + amqpFrame // the rest is for the parts of a message besides its payload
	}
	counting.guard = &framing.Guard{Most: counting.allowed}
	counting.more()
	return &counting
}

// more lets the broker send the next item.
func (c *Client) more() { c.unread.Store(int64(c.allowed)) }

// explain returns the cause of an error. Libraries hide why they could not read on.
func (c *Client) explain(err error) error {
	if err == nil {
		return nil
	}
	if said := c.alert.said.Load(); said != nil {
		return said
	}
	return cmp.Or(c.guard.Err(), err)
}

// Account is the account of a client. Without a username, it consists of a password or a token.
type Account struct{ Username, Password, Token string }

// secret is the password, or the token.
func (a Account) secret() string {
	if a.Token != "" {
		return a.Token
	}
	return a.Password
}

// Message is a message of a channel.
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
	// Handle identifies the message at its broker, also if it arrives again over another connection, and identifies no other message; empty if the
	// broker has no such identity.
	Handle string
	// First reports that the message did not arrive before, regardless of its handle.
	First bool
	// Most is the maximum size of a received message in bytes, if this message is larger and its payload is missing; otherwise 0.
	Most int
	// Unfit reports, for an acknowledgment, that the message was not consumed because no task can read it. A broker with a place for such messages moves
	// it there.
	Unfit bool
	tag   any // identifies it in an acknowledgment over this connection
}

// Subscription is a subscription to a channel. One goroutine uses it at a time, except for Close.
type Subscription interface {
	// Receive waits for a message. It may be called again after the end of ctx; after any other error the subscription is broken.
	Receive(ctx context.Context) (*Delivery, error)
	// Acknowledge reports the consumed messages in the order of their arrival. If the broker keeps messages, it sends the other messages again to the
	// next subscription of the same name. Messages that arrived over another connection contain only the handle.
	Acknowledge(ctx context.Context, consumed []*Delivery) error
	// Keeps reports whether the broker keeps messages without an acknowledgment.
	Keeps() bool
	// Close ends the connection, soon and in any case. If over is set, the broker forgets the subscription. Otherwise it keeps the subscription for its
	// next connection.
	Close(over bool)
}

// RefusedError reports that a broker answered, and refused the request.
type RefusedError struct {
	Status int // the similar status of HTTP
	Err    error
}

// Error returns the reason.
func (e *RefusedError) Error() string { return e.Err.Error() }

// Unwrap returns the reason.
func (e *RefusedError) Unwrap() error { return e.Err }

func refused(status int, err error) error { return &RefusedError{status, err} }

// publisher returns a function that publishes a message, and returns when the broker holds it; nil for an unsupported protocol.
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

// subscriber returns a function that begins or continues the subscription of a name; nil for a protocol that cannot receive messages.
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

// Upgrades reports whether connections of a protocol begin without TLS and become secure if a client requires it. The description of such a server
// need not name TLS.
func Upgrades(protocol string) bool { return protocol == "nats" }

// Publish publishes a message and returns when the broker holds it. The connection ends with ctx.
func (c *Client) Publish(ctx context.Context, m Message) error {
	left := ctx.Done()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	counting := c.bounded()
	counting.guard.Refused = cancel
	_, err := ended(ctx, left, func() (struct{}, error) { return struct{}{}, counting.publisher()(ctx, m) }, func(struct{}) {})
	return counting.explain(err)
}

// Subscribe begins or continues the subscription of a name. It receives the messages from then on. Its connection ends with ctx, or when it is
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

// ended calls a library. When its connection ends with ctx, the library gets a moment to report the reason, because some libraries continue to wait
// for an answer. When the caller left, ended does not wait for the library, so that the resources of the caller are free immediately. A late result
// is passed to drop.
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

// explained is a subscription whose errors contain the knowledge of the client.
type explained struct {
	Subscription
	client *Client
	left   <-chan struct{} // closed when its caller left
	cancel func()          // ends the connection
}

// Close implements Subscription. It does not wait for a library that waits for more, or after the caller left: the connection is closed then.
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

// connectWithin is the maximum time in which a broker accepts a client.
const connectWithin = 30 * time.Second

// farewell is the maximum time of the end of a connection.
const farewell = time.Second

// keptFor is the time for which a broker keeps an unused subscription, if the protocol supports such a time.
const keptFor = 7 * 24 * time.Hour

// beat calls ping now and then, until ctx ends or ping fails, and returns the reason.
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

// clientName is the name of swrun at brokers.
const clientName = "swrun"

// dialer returns a function that opens connections that end with ctx, regardless of the library that uses them.
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
		b.release = context.AfterFunc(ctx, func() { conn.Close() }) // the user of the connection sees the end
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

// Read reads, up to the maximum number of bytes.
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

// connect opens a connection to the first reachable address, over TLS if the target requires it.
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
		conn.Close() // the first error counts
		return nil, err
	}
	return secured, nil
}
