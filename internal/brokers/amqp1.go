package brokers

import (
	"bytes"
	"cmp"
	"context"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/Azure/go-amqp"

	"github.com/swrun/swrun/errors"
)

// wrapped returns a connection that filters the data of another one.
type wrapped = func(net.Conn) net.Conn

// amqp1 connects by AMQP 1.0 under a name, over the wrapped connection. It ends with ctx.
func (c *Client) amqp1(ctx context.Context, container string, over wrapped) (conn *amqp.Conn, session *amqp.Session, err error) {
	for _, proof := range c.amqp1Proofs() {
		if conn, session, err = c.amqp1As(ctx, container, over, proof); err == nil || !strings.Contains(err.Error(), amqp1NotOffered) {
			break
		}
	}
	return conn, session, amqp1Failure(err)
}

// amqp1NotOffered is the library's message if a broker does not support a method of authentication.
const amqp1NotOffered = "no supported auth mechanism"

// amqp1Proofs are the methods by which a client may prove its identity, the better ones first. Brokers that identify clients by their certificates
// offer EXTERNAL.
func (c *Client) amqp1Proofs() []amqp.SASLType {
	switch {
	case c.Account != (Account{}):
		return []amqp.SASLType{amqp.SASLTypePlain(c.Username, c.secret())}
	case c.certified():
		return []amqp.SASLType{amqp.SASLTypeExternal(""), amqp.SASLTypeAnonymous()}
	}
	return []amqp.SASLType{amqp.SASLTypeAnonymous()}
}

// amqp1As connects, and proves the identity of the client by one method.
func (c *Client) amqp1As(ctx context.Context, container string, over wrapped, proof amqp.SASLType) (*amqp.Conn, *amqp.Session, error) {
	raw, err := c.connect(ctx)
	if err != nil {
		return nil, nil, err
	}
	raw = over(raw)
	within, cancel := context.WithTimeout(ctx, connectWithin)
	defer cancel()
	host, _, _ := net.SplitHostPort(c.Addresses[0]) // that it has a port is checked
	conn, err := amqp.NewConn(within, raw, &amqp.ConnOptions{ContainerID: container, HostName: host, SASLType: proof, MaxFrameSize: amqp1Frame})
	if err != nil {
		raw.Close() // the first error counts
		return nil, nil, err
	}
	session, err := conn.NewSession(within, nil)
	if err != nil {
		raw.Close() // the first error counts
		return nil, nil, err
	}
	return conn, session, nil
}

// publishAMQP1 publishes by AMQP 1.0. The broker answers with the outcome of the message.
func (c *Client) publishAMQP1(ctx context.Context, m Message) error {
	conn, session, err := c.amqp1(ctx, "", func(raw net.Conn) net.Conn { return raw })
	if err != nil {
		return err
	}
	defer conn.Close() // it may be broken already
	within, cancel := context.WithTimeout(ctx, connectWithin)
	defer cancel()
	sender, err := session.NewSender(within, c.Channel, nil)
	if err != nil {
		return amqp1Failure(err)
	}
	receipt, err := sender.SendWithReceipt(within, m.amqp1(), nil)
	if err != nil {
		return amqp1Failure(err)
	}
	state, err := receipt.Wait(within)
	if err != nil {
		return amqp1Failure(err)
	}
	switch outcome := state.(type) {
	case *amqp.StateAccepted:
		return nil
	case *amqp.StateRejected:
		if outcome.Error != nil {
			return amqp1Failure(outcome.Error)
		}
		return refused(http.StatusBadRequest, errors.New("the broker rejects the message"))
	case *amqp.StateReleased, *amqp.StateModified:
		return refused(http.StatusNotFound, errors.New("the broker has nowhere to put the message"))
	}
	return errors.New("the broker does not say what has become of the message")
}

// amqp1 returns a message in the form of AMQP 1.0.
func (m Message) amqp1() *amqp.Message {
	properties := &amqp.MessageProperties{}
	if m.ID != "" {
		properties.MessageID = m.ID
	}
	if m.CorrelationID != "" {
		properties.CorrelationID = m.CorrelationID
	}
	if m.ContentType != "" {
		properties.ContentType = &m.ContentType
	}
	sent := &amqp.Message{
		Header: &amqp.MessageHeader{Durable: true}, Properties: properties, ApplicationProperties: map[string]any{}, Data: [][]byte{m.Payload},
	}
	for name, value := range m.Headers {
		sent.ApplicationProperties[name] = value
	}
	return sent
}

// amqp1Failure separates answers of the broker from other errors.
func amqp1Failure(err error) error {
	if err == nil {
		return nil
	}
	var answered *amqp.Error
	if errors.As(err, &answered) {
		return refused(amqp1Status(answered.Condition), errors.New(cmp.Or(answered.Description, string(answered.Condition))))
	}
	// The library has no type for these.
	if text := err.Error(); strings.Contains(text, "auth failed with code") || strings.Contains(text, amqp1NotOffered) {
		return refused(http.StatusUnauthorized, errors.New("the broker refuses the account"))
	}
	return err
}

// amqp1Status returns the status of HTTP that is similar to a condition of AMQP 1.0.
func amqp1Status(condition amqp.ErrCond) int {
	switch condition {
	case amqp.ErrCondUnauthorizedAccess, amqp.ErrCondNotAllowed:
		return http.StatusForbidden
	case amqp.ErrCondNotFound:
		return http.StatusNotFound
	case amqp.ErrCondResourceDeleted:
		return http.StatusGone
	case amqp.ErrCondResourceLocked:
		return http.StatusConflict
	case amqp.ErrCondPreconditionFailed:
		return http.StatusPreconditionFailed
	case amqp.ErrCondMessageSizeExceeded:
		return http.StatusRequestEntityTooLarge
	case amqp.ErrCondResourceLimitExceeded, amqp.ErrCondTransferLimitExceeded:
		return http.StatusTooManyRequests
	case amqp.ErrCondConnectionForced, amqp.ErrCondDetachForced:
		return http.StatusServiceUnavailable
	case amqp.ErrCondNotImplemented:
		return http.StatusNotImplemented
	case amqp.ErrCondDecodeError, amqp.ErrCondInvalidField, amqp.ErrCondFramingError:
		return http.StatusBadRequest
	}
	return http.StatusInternalServerError
}

// amqp1Most is the maximum size of a message, unless MaxRead is less. The library recurses into each level of nested data without a limit, and a
// stack that grows too large ends the program.
const amqp1Most = 256 << 10

// amqp1Ahead is the maximum number of received messages without an acknowledgment.
const amqp1Ahead = 10

// amqp1Link receives from an address of AMQP 1.0.
type amqp1Link struct {
	conn     *amqp.Conn
	session  *amqp.Session
	receiver *amqp.Receiver
	over     *trimmedConn
	box      *mailbox
	ahead    chan struct{} // one entry for each message without an acknowledgment
	stop     func()        // ends the reading of messages
	cut      func()        // ends the connection
	pumped   chan struct{}
	closed   sync.Once
}

// subscribeAMQP1 receives from an address of AMQP 1.0, which keeps messages for the name as long as the broker supports it.
func (c *Client) subscribeAMQP1(ctx context.Context, name string) (Subscription, error) {
	c.MaxRead = min(c.MaxRead, amqp1Most)
	c.allowed = c.MaxRead
	c.more()
	ctx, cut := context.WithCancel(ctx)
	over := &trimmedConn{most: c.MaxRead, more: c.more}
	conn, session, err := c.amqp1(ctx, name, over.over)
	if err != nil {
		cut()
		return nil, err
	}
	within, cancel := context.WithTimeout(ctx, connectWithin)
	defer cancel()
	receiver, err := session.NewReceiver(within, c.Channel, &amqp.ReceiverOptions{
		Name: name, Credit: -1, MaxMessageSize: uint64(c.MaxRead), // which brokers may ignore
		SourceDurability: amqp.DurabilityUnsettledState, SourceExpiryPolicy: amqp.ExpiryPolicyNever, SourceExpiryTimeout: uint32(keptFor / time.Second),
	})
	if err != nil {
		cut()
		return nil, amqp1Failure(err)
	}
	reading, stop := context.WithCancel(ctx)
	s := &amqp1Link{conn: conn, session: session, receiver: receiver, over: over, box: newMailbox(), ahead: make(chan struct{}, amqp1Ahead), stop: stop, cut: cut, pumped: make(chan struct{})}
	go s.pump(reading, c)
	return s, nil
}

// pump puts the received messages into the mailbox.
func (s *amqp1Link) pump(ctx context.Context, c *Client) {
	defer close(s.pumped)
	for {
		m, err := s.next(ctx)
		if err != nil {
			s.box.end(amqp1Failure(err))
			return
		}
		d := amqp1Delivery(m)
		if s.over.trimmed.Load() {
			d.Most = c.MaxRead
		}
		s.box.put(d)
	}
}

// next requests one message, once only a few wait for their acknowledgment. With several messages in flight, the size of each could not be measured.
func (s *amqp1Link) next(ctx context.Context) (*amqp.Message, error) {
	select {
	case s.ahead <- struct{}{}:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	if err := s.receiver.IssueCredit(1); err != nil {
		return nil, err
	}
	return s.receiver.Receive(ctx, nil)
}

// amqp1Delivery reads a message.
func amqp1Delivery(m *amqp.Message) *Delivery {
	d := &Delivery{Message: Message{Payload: bytes.Join(m.Data, nil)}, tag: m}
	switch value := m.Value.(type) {
	case nil:
	case []byte:
		d.Payload = value
	default:
		d.Payload = []byte(headerText(value))
	}
	for name, value := range m.ApplicationProperties {
		d.carry(name, headerText(value))
	}
	if p := m.Properties; p != nil {
		if p.ContentType != nil {
			d.ContentType = *p.ContentType
		}
		if p.CorrelationID != nil {
			d.CorrelationID = headerText(p.CorrelationID)
		}
		if p.MessageID != nil {
			d.ID = headerText(p.MessageID)
		}
	}
	d.Handle, d.First = identity(d.ID, d.Payload), m.Header != nil && m.Header.FirstAcquirer && m.Header.DeliveryCount == 0
	return d
}

// Receive implements Subscription.
func (s *amqp1Link) Receive(ctx context.Context) (*Delivery, error) { return s.box.receive(ctx) }

// Acknowledge implements Subscription. There is no answer.
func (s *amqp1Link) Acknowledge(ctx context.Context, consumed []*Delivery) error {
	within, cancel := context.WithTimeout(ctx, connectWithin)
	defer cancel()
	for _, d := range consumed {
		m, ok := d.tag.(*amqp.Message)
		if !ok {
			continue
		}
		var err error
		if d.Unfit {
			err = s.receiver.RejectMessage(within, m, &amqp.Error{Condition: amqp.ErrCondDecodeError, Description: "it cannot be read, or is too large"})
		} else {
			err = s.receiver.AcceptMessage(within, m)
		}
		if err != nil {
			return amqp1Failure(err)
		}
		<-s.ahead
	}
	return nil
}

// Keeps implements Subscription.
func (*amqp1Link) Keeps() bool { return true }

// Close implements Subscription. The broker forgets a closed link, and keeps a link whose connection ended without a close.
func (s *amqp1Link) Close(over bool) {
	s.closed.Do(func() {
		s.box.end(net.ErrClosed)
		s.stop()
		within, cancel := context.WithTimeout(context.Background(), farewell)
		defer cancel()
		defer context.AfterFunc(within, s.cut)()
		if over {
			brief, cancel := context.WithTimeout(within, farewell/10) // the request is sent before the end, and some brokers do not answer
			defer cancel()
			_ = s.receiver.Close(brief) // a broker that did not receive this forgets the link automatically
		}
		half, cancel := context.WithTimeout(within, farewell/2)
		defer cancel()
		_ = s.session.Close(half) // the broker answers after it has handled the acknowledgments, which the end of the connection could overtake
		s.conn.Close()            // it may be broken already
		s.cut()
		<-s.pumped
	})
}
