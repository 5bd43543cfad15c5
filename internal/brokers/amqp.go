package brokers

import (
	"cmp"
	"context"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"

	"github.com/swrun/swrun/errors"
)

// amqpAccount is the default account: the account that brokers of AMQP 0.9.1 create at their installation, and admit from their own machine only.
const amqpAccount = "guest"

// amqpFrame is the maximum size of a frame.
const amqpFrame = 128 << 10

// amqpLink is a channel of AMQP 0.9.1 with its own connection.
type amqpLink struct {
	*amqp.Channel
	conn *amqp.Connection
	raw  net.Conn
	// ended gets the reason for the end of the channel, if the broker ended it.
	ended chan *amqp.Error
}

// amqp connects by AMQP 0.9.1. The connection ends with ctx.
func (c *Client) amqp(ctx context.Context) (*amqpLink, error) {
	raw, err := c.connect(ctx)
	if err != nil {
		return nil, err
	}
	within, cancel := context.WithTimeout(ctx, connectWithin)
	defer cancel()
	defer context.AfterFunc(within, func() { raw.Close() })() // which ends the handshake
	properties := amqp.NewConnectionProperties()
	properties.SetClientConnectionName(clientName)
	conn, err := amqp.Open(c.guard.AMQP(raw, amqpFrame), amqp.Config{
		SASL: c.proofs(), Vhost: cmp.Or(strings.TrimPrefix(c.Path, "/"), "/"), FrameSize: amqpFrame, Heartbeat: keepAlive * time.Second,
		Properties: properties,
	})
	if err == nil {
		link := &amqpLink{conn: conn, raw: raw, ended: make(chan *amqp.Error, 1)}
		if link.Channel, err = conn.Channel(); err == nil {
			link.NotifyClose(link.ended)
			return link, nil
		}
	}
	raw.Close() // the first error counts
	if ctx.Err() == nil && within.Err() != nil {
		return nil, errors.New("the broker does not answer")
	}
	return nil, amqpFailure(err)
}

// proofs are the methods by which a client may prove its identity, the better ones first. Brokers that identify clients by their certificates offer
// EXTERNAL.
func (c *Client) proofs() (all []amqp.Authentication) {
	if c.certified() {
		all = append(all, &amqp.ExternalAuth{})
	}
	if c.Account == (Account{}) {
		return append(all, &amqp.PlainAuth{Username: amqpAccount, Password: amqpAccount})
	}
	return append(all, &amqp.PlainAuth{Username: c.Username, Password: c.secret()})
}

// within limits the time of the broker's answer, because the library waits forever.
func (l *amqpLink) within(ctx context.Context, most time.Duration) (answered func()) {
	bound, cancel := context.WithTimeout(ctx, most)
	release := context.AfterFunc(bound, func() { l.raw.Close() })
	return func() {
		release()
		cancel()
	}
}

// close ends the connection, and waits for its end, for at most the time of a farewell.
func (l *amqpLink) close() { _ = l.conn.CloseDeadline(time.Now().Add(farewell)) } // it may be broken already

// why returns the reason for the end of the channel.
func (l *amqpLink) why() error {
	if !l.IsClosed() {
		return refused(http.StatusGone, errors.New("the broker has deleted the queue"))
	}
	if err := <-l.ended; err != nil {
		return amqpFailure(err)
	}
	return errors.New("the broker has ended the connection")
}

// destination is the destination of the channel's messages: a queue, or the queues that are bound to an exchange by a routing key.
func (c *Client) destination() (exchange, key string) {
	if c.Bindings.Routed {
		return c.Bindings.Exchange, c.Channel
	}
	return "", cmp.Or(c.Bindings.Queue, c.Channel)
}

// publishAMQP publishes by AMQP 0.9.1. The broker confirms the message, or answers that there is no queue for it.
func (c *Client) publishAMQP(ctx context.Context, m Message) error {
	publishing, err := m.publishing(c.Bindings.Persistent)
	if err != nil {
		return err
	}
	exchange, key := c.destination()
	if err := shortStrings(exchange, key); err != nil {
		return err
	}
	link, err := c.amqp(ctx)
	if err != nil {
		return err
	}
	returned := link.NotifyReturn(make(chan amqp.Return))
	done := make(chan error, 1)
	go func() {
		defer link.close()
		done <- link.publish(ctx, exchange, key, publishing)
	}()
	// The library blocks until its notifications are read, or until the connection ends.
	var unroutable error
	for r := range returned {
		unroutable = refused(amqpStatus(int(r.ReplyCode)), errors.New("the broker has returned the message: "+r.ReplyText))
	}
	return cmp.Or(unroutable, <-done)
}

// publish publishes a message, and waits until the broker confirms it.
func (l *amqpLink) publish(ctx context.Context, exchange, key string, m amqp.Publishing) error {
	defer l.within(ctx, connectWithin)()
	if err := l.Confirm(false); err != nil {
		return amqpFailure(err)
	}
	within, cancel := context.WithTimeout(ctx, connectWithin)
	defer cancel()
	const mandatory, immediate = true, false
	confirmation, err := l.PublishWithDeferredConfirmWithContext(ctx, exchange, key, mandatory, immediate, m)
	if err != nil {
		return amqpFailure(err)
	}
	acknowledged, err := confirmation.WaitContext(within)
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case err != nil:
		return errors.New("the broker does not confirm the message")
	case acknowledged:
		return nil
	case l.IsClosed():
		return l.why()
	}
	return refused(http.StatusServiceUnavailable, errors.New("the broker does not take the message"))
}

// publishing returns a message in the form of AMQP 0.9.1.
func (m Message) publishing(persistent bool) (amqp.Publishing, error) {
	p := amqp.Publishing{ContentType: m.ContentType, CorrelationId: m.CorrelationID, MessageId: m.ID, Headers: amqp.Table{}, DeliveryMode: amqp.Transient, Body: m.Payload}
	if persistent {
		p.DeliveryMode = amqp.Persistent
	}
	if err := shortStrings(p.ContentType, p.CorrelationId, p.MessageId); err != nil {
		return p, err
	}
	for name, value := range m.Headers {
		if err := shortStrings(name); err != nil {
			return p, err
		}
		p.Headers[name] = value
	}
	return p, nil
}

// shortString is the maximum length of names and ids of AMQP 0.9.1.
const shortString = 255

// shortStrings reports texts that are too long for AMQP 0.9.1.
func shortStrings(all ...string) error {
	for _, one := range all {
		if len(one) > shortString {
			return refused(http.StatusBadRequest, errors.New("names, content types and ids of AMQP 0.9.1 have 255 bytes at most"))
		}
	}
	return nil
}

// amqpFailure separates answers of the broker from other errors.
func amqpFailure(err error) error {
	var answered *amqp.Error
	if !errors.As(err, &answered) {
		return err
	}
	switch reason := errors.New(answered.Reason); {
	case answered == amqp.ErrCredentials, answered == amqp.ErrSASL: // brokers send this by ending the connection
		return refused(http.StatusUnauthorized, reason)
	case answered == amqp.ErrVhost, answered.Server:
		return refused(amqpStatus(answered.Code), reason)
	default: // errors of the library, such as a lost connection
		return reason
	}
}

// amqpStatus returns the status of HTTP that is similar to a reply code of AMQP 0.9.1.
func amqpStatus(code int) int {
	switch code {
	case amqp.AccessRefused, amqp.NotAllowed:
		return http.StatusForbidden
	case amqp.NotFound, amqp.NoRoute, amqp.NoConsumers, amqp.InvalidPath:
		return http.StatusNotFound
	case amqp.ContentTooLarge:
		return http.StatusRequestEntityTooLarge
	case amqp.PreconditionFailed:
		return http.StatusPreconditionFailed
	case amqp.ResourceLocked:
		return http.StatusConflict
	case amqp.ConnectionForced, amqp.ResourceError:
		return http.StatusServiceUnavailable
	case amqp.NotImplemented:
		return http.StatusNotImplemented
	case amqp.FrameError, amqp.SyntaxError, amqp.CommandInvalid, amqp.ChannelError, amqp.UnexpectedFrame:
		return http.StatusBadRequest
	}
	return http.StatusInternalServerError
}

// amqpPrefetch is the number of messages that a broker may send ahead. The library reads all of them together, so that their sizes are added.
const amqpPrefetch = 4

// amqpConsumer receives from a queue.
type amqpConsumer struct {
	link   *amqpLink
	box    *mailbox
	ahead  int           // maximum number of messages without an acknowledgment
	own    string        // the queue, if it was made for the subscription
	pumped chan struct{} // closed once no message is read any more
	closed sync.Once
}

// subscribeAMQP receives from a queue of AMQP 0.9.1: the queue with the name of the channel, or its own queue that is bound to the exchange.
func (c *Client) subscribeAMQP(ctx context.Context, name string) (Subscription, error) {
	exchange, queue := c.destination()
	if err := shortStrings(exchange, queue); err != nil {
		return nil, err
	}
	ahead := amqpPrefetch
	if c.Skims {
		ahead = 1
	}
	c.allowed *= ahead
	c.more()
	link, err := c.amqp(ctx)
	if err != nil {
		return nil, err
	}
	s := &amqpConsumer{link: link, box: newMailbox(), ahead: ahead, pumped: make(chan struct{})}
	deliveries, err := s.consume(ctx, exchange, queue, name)
	if err != nil {
		link.close()
		return nil, amqpFailure(err)
	}
	go func() {
		defer close(s.pumped)
		for d := range deliveries {
			c.more()
			s.box.put(amqpDelivery(d))
		}
		s.box.end(link.why())
	}()
	return s, nil
}

// consume requests the messages of a queue, or of a routing key of an exchange.
func (s *amqpConsumer) consume(ctx context.Context, exchange, key, name string) (<-chan amqp.Delivery, error) {
	defer s.link.within(ctx, connectWithin)()
	queue := key
	if exchange != "" {
		queue, s.own = name, name
		const durable, autoDelete, exclusive, noWait = true, false, false, false
		if _, err := s.link.QueueDeclare(name, durable, autoDelete, exclusive, noWait, amqp.Table{"x-expires": keptFor.Milliseconds()}); err != nil {
			return nil, err
		}
		if err := s.link.QueueBind(name, key, exchange, noWait, nil); err != nil {
			return nil, err
		}
	}
	if err := s.link.Qos(s.ahead, 0, false); err != nil {
		return nil, err
	}
	const autoAck, exclusive, noLocal, noWait = false, false, false, false
	return s.link.Consume(queue, name, autoAck, exclusive, noLocal, noWait, nil)
}

// amqpDelivery reads a message.
func amqpDelivery(d amqp.Delivery) *Delivery {
	got := &Delivery{Message: Message{Payload: d.Body, ID: d.MessageId}, Handle: identity(d.MessageId, d.Body), First: !d.Redelivered, tag: d.DeliveryTag}
	for name, value := range d.Headers {
		got.carry(name, headerText(value))
	}
	got.ContentType, got.CorrelationID = cmp.Or(d.ContentType, got.ContentType), cmp.Or(d.CorrelationId, got.CorrelationID)
	return got
}

// Receive implements Subscription.
func (s *amqpConsumer) Receive(ctx context.Context) (*Delivery, error) { return s.box.receive(ctx) }

// Acknowledge implements Subscription. An acknowledgment has no answer, but the next request has one.
func (s *amqpConsumer) Acknowledge(ctx context.Context, consumed []*Delivery) error {
	defer s.link.within(ctx, connectWithin)()
	for _, d := range consumed {
		tag, ok := d.tag.(uint64)
		if !ok {
			continue
		}
		settle := s.link.Ack
		if d.Unfit {
			settle = s.link.Reject // which means: do not send it again, but move it to the dead-letter exchange, if the queue has one
		}
		if err := settle(tag, false); err != nil {
			return amqpFailure(err)
		}
	}
	return amqpFailure(s.link.Qos(s.ahead, 0, false))
}

// Keeps implements Subscription.
func (*amqpConsumer) Keeps() bool { return true }

// Close implements Subscription.
func (s *amqpConsumer) Close(over bool) {
	s.closed.Do(func() {
		s.box.end(net.ErrClosed)
		defer s.link.within(context.Background(), farewell)()
		if over && s.own != "" {
			_, _ = s.link.QueueDelete(s.own, false, false, false) // a broker that did not receive this deletes the queue automatically
		}
		s.link.close()
		<-s.pumped
	})
}
