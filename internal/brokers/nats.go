package brokers

import (
	"cmp"
	"context"
	"net"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/swrun/swrun/errors"
	"github.com/swrun/swrun/internal/framing"
)

// natsDialer gives the library connections that end with a context.
type natsDialer struct {
	*Client
	ctx    func() context.Context
	failed error // error of the last attempt, unless it is nil
}

// Dial implements nats.CustomDialer.
func (d *natsDialer) Dial(network, address string) (net.Conn, error) {
	conn, err := d.dialer(d.ctx())(d.ctx(), network, address)
	if d.failed = err; err != nil {
		return nil, err
	}
	if d.Secure {
		plain := conn
		conn = framing.Late(plain, func() (net.Conn, error) { return d.secure(d.ctx(), plain, address) })
	}
	return d.guard.NATS(conn), nil
}

// SkipTLSHandshake reports to the library that connections become secure automatically.
func (d *natsDialer) SkipTLSHandshake() bool { return d.Secure }

// nats returns a connection that ends with ctx. A broken connection is not replaced.
func (c *Client) nats(ctx context.Context) (*nats.Conn, error) {
	var urls []string
	for _, address := range c.Addresses {
		urls = append(urls, "nats://"+address)
	}
	dialer := &natsDialer{Client: c, ctx: func() context.Context { return ctx }}
	options := []nats.Option{
		nats.NoReconnect(), nats.DontRandomize(), nats.IgnoreDiscoveredServers(), nats.Timeout(connectWithin), nats.Name(clientName),
		nats.ErrorHandler(func(*nats.Conn, *nats.Subscription, error) {}), // otherwise the library prints
		nats.SetCustomDialer(dialer),
	}
	switch {
	case c.Username != "":
		options = append(options, nats.UserInfo(c.Username, c.Password))
	case c.secret() != "":
		options = append(options, nats.Token(c.secret()))
	}
	if c.Secure {
		options = append(options, nats.Secure()) // or not at all
	}
	conn, err := nats.Connect(strings.Join(urls, ","), options...)
	if errors.Is(err, nats.ErrNoServers) && dialer.failed != nil { // which contains no reason
		err = dialer.failed
	}
	return conn, natsFailure(err)
}

func (c *Client) publishNATS(ctx context.Context, m Message) error {
	conn, err := c.nats(ctx)
	if err != nil {
		return err
	}
	defer conn.Close()
	msg := &nats.Msg{Subject: c.Channel, Data: m.Payload, Header: nats.Header{}}
	for _, h := range m.carried() {
		msg.Header.Set(h.name, h.value)
	}
	js, stream, err := natsStream(ctx, conn, c.Channel)
	if err != nil {
		return err
	}
	if stream != "" { // its answer confirms that the message is stored
		if m.ID != "" {
			msg.Header.Set(nats.MsgIdHdr, m.ID)
		}
		_, err := js.PublishMsg(ctx, msg)
		return natsFailure(err)
	}
	if err := conn.PublishMsg(msg); err != nil {
		return natsFailure(err)
	}
	within, cancel := context.WithTimeout(ctx, connectWithin)
	defer cancel()
	if err := conn.FlushWithContext(within); err != nil {
		return natsFailure(err)
	}
	return natsFailure(conn.LastError()) // the server's objection to a message comes before its answer to the flush
}

// natsStream returns the stream of JetStream that keeps a subject; empty if no stream keeps it.
func natsStream(ctx context.Context, conn *nats.Conn, subject string) (jetstream.JetStream, string, error) {
	js, err := jetstream.New(conn)
	if err != nil {
		return nil, "", err
	}
	within, cancel := context.WithTimeout(ctx, connectWithin)
	defer cancel()
	name, err := js.StreamNameBySubject(within, subject)
	switch {
	case errors.Is(err, jetstream.ErrStreamNotFound), errors.Is(err, jetstream.ErrJetStreamNotEnabled), errors.Is(err, jetstream.ErrJetStreamNotEnabledForAccount),
		errors.Is(err, nats.ErrNoResponders):
		return nil, "", nil
	case errors.Is(err, jetstream.ErrInvalidSubject):
		return nil, "", refused(http.StatusBadRequest, err)
	}
	return js, name, natsFailure(err)
}

// natsFailure separates answers of the server from other errors.
func natsFailure(err error) error {
	var answered *jetstream.APIError
	switch {
	case err == nil:
		return nil
	case errors.Is(err, nats.ErrAuthorization), errors.Is(err, nats.ErrAuthExpired), errors.Is(err, nats.ErrAuthRevoked):
		return refused(http.StatusUnauthorized, err)
	case errors.Is(err, nats.ErrPermissionViolation):
		return refused(http.StatusForbidden, err)
	case errors.Is(err, nats.ErrMaxPayload):
		return refused(http.StatusRequestEntityTooLarge, err)
	case errors.As(err, &answered) && answered.Code >= http.StatusBadRequest && answered.Code < 600:
		return refused(answered.Code, err)
	}
	return err
}

// subscribeNATS receives from the stream that keeps the subject, if there is one.
func (c *Client) subscribeNATS(ctx context.Context, name string) (Subscription, error) {
	conn, err := c.nats(ctx)
	if err != nil {
		return nil, err
	}
	s, err := c.natsSubscription(ctx, conn, name)
	if err != nil {
		conn.Close()
		return nil, err
	}
	return s, nil
}

func (c *Client) natsSubscription(ctx context.Context, conn *nats.Conn, name string) (Subscription, error) {
	js, stream, err := natsStream(ctx, conn, c.Channel)
	if err != nil {
		return nil, err
	}
	within, cancel := context.WithTimeout(ctx, connectWithin)
	defer cancel()
	if stream == "" {
		return c.natsSubject(within, conn)
	}
	consumer, err := js.Consumer(within, stream, name)
	if errors.Is(err, jetstream.ErrConsumerNotFound) {
		consumer, err = js.CreateConsumer(within, stream, jetstream.ConsumerConfig{
			Durable: name, FilterSubject: c.Channel, DeliverPolicy: jetstream.DeliverNewPolicy,
			AckPolicy: jetstream.AckExplicitPolicy, AckWait: natsAgain, InactiveThreshold: keptFor,
		})
	}
	if err != nil {
		return nil, natsFailure(err)
	}
	messages, err := consumer.Messages(jetstream.PullMaxMessages(1), jetstream.PullExpiry(connectWithin), jetstream.WithMessagesErrOnMissingHeartbeat(true))
	if err != nil {
		return nil, natsFailure(err)
	}
	return &natsConsumer{c: c, conn: conn, js: js, stream: stream, name: name, messages: messages}, nil
}

// natsAgain is the time after which a message without an acknowledgment is sent again to a client that requests messages. It is short, so that the
// next client after a crash gets the message soon. While a client handles messages, it requests no others.
const natsAgain = time.Second

// natsConsumer is a durable consumer of a stream of JetStream.
type natsConsumer struct {
	c            *Client
	conn         *nats.Conn
	js           jetstream.JetStream
	stream, name string
	messages     jetstream.MessagesContext
}

// Receive implements Subscription.
func (s *natsConsumer) Receive(ctx context.Context) (*Delivery, error) {
	msg, err := s.next(ctx)
	for err != nil && ctx.Err() == nil && errors.Is(err, context.DeadlineExceeded) {
		s.c.more() // only signs of life arrived
		msg, err = s.next(ctx)
	}
	if ctx.Err() != nil && err != nil {
		return nil, ctx.Err()
	}
	if err != nil {
		return nil, natsFailure(err)
	}
	s.c.more()
	d := natsDelivery(msg.Data(), msg.Headers())
	d.tag = msg
	if meta, err := msg.Metadata(); err == nil { // every message of a stream contains them
		d.Handle = strconv.FormatUint(meta.Sequence.Stream, 10)
	}
	return d, nil
}

// next waits for a message for a limited time.
func (s *natsConsumer) next(ctx context.Context) (jetstream.Msg, error) {
	within, cancel := context.WithTimeout(ctx, connectWithin)
	defer cancel()
	return s.messages.Next(jetstream.NextContext(within))
}

// natsDelivery reads a message.
func natsDelivery(data []byte, headers nats.Header) *Delivery {
	d := &Delivery{Message: Message{Payload: data}}
	for name, values := range headers {
		for _, value := range values {
			d.carry(name, value)
		}
	}
	return d
}

// Acknowledge implements Subscription. Messages of another connection arrive again.
func (s *natsConsumer) Acknowledge(ctx context.Context, consumed []*Delivery) error {
	within, cancel := context.WithTimeout(ctx, connectWithin)
	defer cancel()
	for n, d := range consumed {
		msg, ok := d.tag.(jetstream.Msg)
		if !ok {
			continue
		}
		var err error
		switch {
		case d.Unfit:
			err = cmp.Or(msg.Term(), s.conn.FlushWithContext(within))
		case n == len(consumed)-1: // the server reads them in this order
			err = msg.DoubleAck(within)
		default:
			err = msg.Ack()
		}
		if err != nil {
			return natsFailure(err)
		}
	}
	return nil
}

// Keeps implements Subscription.
func (*natsConsumer) Keeps() bool { return true }

// Close implements Subscription.
func (s *natsConsumer) Close(over bool) {
	s.messages.Stop()
	if over {
		within, cancel := context.WithTimeout(context.Background(), farewell)
		defer cancel()
		_ = s.js.DeleteConsumer(within, s.stream, s.name) // a server that did not receive this forgets the consumer automatically
	}
	s.conn.Close()
}

// natsSubject is a subscription to a subject that no stream keeps: messages that are sent while no client is connected are lost.
type natsSubject struct {
	conn *nats.Conn
	box  *mailbox
}

func (c *Client) natsSubject(ctx context.Context, conn *nats.Conn) (Subscription, error) {
	s := &natsSubject{conn, newMailbox()}
	conn.SetClosedHandler(func(*nats.Conn) { s.box.end(nats.ErrConnectionClosed) })
	if _, err := conn.Subscribe(c.Channel, func(msg *nats.Msg) {
		c.more()
		s.box.put(natsDelivery(msg.Data, msg.Header))
	}); err != nil {
		return nil, natsFailure(err)
	}
	if err := conn.FlushWithContext(ctx); err != nil {
		return nil, natsFailure(err)
	}
	return s, natsFailure(conn.LastError()) // the server's objection comes before its answer to the flush
}

// Receive implements Subscription.
func (s *natsSubject) Receive(ctx context.Context) (*Delivery, error) { return s.box.receive(ctx) }

// Acknowledge implements Subscription: the server keeps nothing.
func (s *natsSubject) Acknowledge(context.Context, []*Delivery) error { return nil }

// Keeps implements Subscription.
func (*natsSubject) Keeps() bool { return false }

// Close implements Subscription.
func (s *natsSubject) Close(bool) {
	s.box.end(nats.ErrConnectionClosed)
	s.conn.Close()
}
