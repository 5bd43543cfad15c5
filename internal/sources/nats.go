package sources

import (
	"cmp"
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"net/url"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/swrun/swrun/errors"
	"github.com/swrun/swrun/internal/cloudevent"
	"github.com/swrun/swrun/internal/eventfile"
	"github.com/swrun/swrun/internal/framing"
)

// natsStream is a durable consumer of a stream of JetStream. All processes share it.
type natsStream struct {
	conn     *NATSConn
	consumer jetstream.Consumer
	from     eventfile.Source
}

func openNATS(ctx context.Context, from eventfile.Source, password string) (broker, error) {
	conn, err := ConnectNATS("swrun source "+from.Name, from.URL, Account{from.Username, password}, mostMessage)
	if err != nil {
		return nil, err
	}
	b := &natsStream{conn: conn, from: from}
	if b.consumer, err = durable(ctx, conn.Conn, from); err != nil {
		conn.Close()
		return nil, conn.why(err)
	}
	return b, nil
}

// Account contains the credentials of a client.
type Account struct{ Username, Password string }

// NATSConn is a connection to a server of NATS. It is closed when the server announces too much.
type NATSConn struct {
	*nats.Conn
	guard  *framing.Guard
	secure bool
}

// ConnectNATS connects to a server of NATS; name is displayed by the server. Without a username, the password is a token. A broken connection is not
// opened again. The connection is closed when the server announces a message of more than most bytes.
func ConnectNATS(name, url string, as Account, most int) (*NATSConn, error) {
	c := &NATSConn{guard: &framing.Guard{Most: most}, secure: strings.HasPrefix(url, "tls:")}
	options := []nats.Option{nats.NoReconnect(), nats.Timeout(ackWithin), nats.Name(name), nats.SetCustomDialer(c)}
	if as.Password != "" && as.Username == "" {
		options = append(options, nats.Token(as.Password))
	} else if as.Password != "" {
		options = append(options, nats.UserInfo(as.Username, as.Password))
	}
	if c.secure {
		options = append(options, nats.Secure()) // never without TLS
	}
	var err error
	c.Conn, err = nats.Connect(url, options...)
	return c, cmp.Or(c.guard.Err(), err)
}

// Dial implements nats.CustomDialer.
func (c *NATSConn) Dial(network, address string) (net.Conn, error) {
	conn, err := net.DialTimeout(network, address, ackWithin)
	if err != nil {
		return nil, err
	}
	if plain := conn; c.secure {
		conn = framing.Late(plain, func() (net.Conn, error) { return secured(plain, address) })
	}
	return c.guard.NATS(conn), nil
}

// SkipTLSHandshake informs the library that the connections set up TLS themselves.
func (c *NATSConn) SkipTLSHandshake() bool { return c.secure }

// secured returns a connection over TLS to a server whose certificate matches its address.
func secured(conn net.Conn, address string) (net.Conn, error) {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return nil, err
	}
	within, cancel := context.WithTimeout(context.Background(), ackWithin)
	defer cancel()
	s := tls.Client(conn, &tls.Config{MinVersion: tls.VersionTLS12, ServerName: host})
	return s, s.HandshakeContext(within)
}

// why returns the reason of a connection's end, if this side has closed it, and otherwise err.
func (c *NATSConn) why(err error) error { return cmp.Or(c.guard.Err(), err) }

// durable returns the consumer, which it creates if it is missing.
func durable(ctx context.Context, conn *nats.Conn, from eventfile.Source) (jetstream.Consumer, error) {
	js, err := jetstream.New(conn)
	if err != nil {
		return nil, err
	}
	consumer, err := js.Consumer(ctx, from.Stream, from.Group)
	if errors.Is(err, jetstream.ErrConsumerNotFound) {
		consumer, err = js.CreateConsumer(ctx, from.Stream, jetstream.ConsumerConfig{Durable: from.Group, AckPolicy: jetstream.AckExplicitPolicy, FilterSubject: from.Subject})
	}
	if err != nil {
		return nil, fmt.Errorf("the consumer %s of the stream %s: %w", from.Group, from.Stream, err)
	}
	if policy := consumer.CachedInfo().Config.AckPolicy; policy != jetstream.AckExplicitPolicy {
		return nil, fmt.Errorf("the consumer %s of the stream %s has the acknowledgement policy %s, and needs explicit", from.Group, from.Stream, policy)
	}
	if subject := consumer.CachedInfo().Config.FilterSubject; from.Subject != "" && subject != from.Subject {
		return nil, fmt.Errorf("the consumer %s of the stream %s is there already, for the subject %q: give another name or the same subject", from.Group, from.Stream, subject)
	}
	return consumer, nil
}

func (b *natsStream) receive(ctx context.Context) ([]message, error) {
	first, err := b.consumer.Next(jetstream.FetchMaxWait(waits))
	switch {
	case ctx.Err() != nil && err != nil:
		return nil, nil
	case !b.conn.IsConnected():
		return nil, b.conn.why(errors.New("the connection to NATS has ended"))
	case errors.Is(err, nats.ErrTimeout):
		return nil, nil
	case err != nil:
		return nil, err
	}
	all := []message{natsMessage(first)}
	more, err := b.consumer.FetchNoWait(atATime - 1)
	if err != nil {
		return nil, err
	}
	for msg := range more.Messages() {
		all = append(all, natsMessage(msg))
	}
	return all, nil
}

// natsMessage reads a message: attributes are headers ce-NAME, in the encoding of HTTP.
func natsMessage(msg jetstream.Msg) message {
	m := message{handle: msg, headers: msg.Headers(), place: msg.Subject(), Message: cloudevent.Message{Body: msg.Data(), Attributes: map[string]any{}}}
	if meta, err := msg.Metadata(); err == nil {
		m.place = fmt.Sprintf("%s #%d", msg.Subject(), meta.Sequence.Stream)
	}
	had := map[string]bool{}
	for name, values := range msg.Headers() {
		name = strings.ToLower(name)
		attribute, ok := strings.CutPrefix(name, "ce-")
		switch {
		case (ok || name == "content-type") && (had[name] || len(values) != 1):
			m.broken = fmt.Errorf("the header %s stands twice", name)
		case name == "content-type":
			m.ContentType = values[0]
		case name == whyOf:
			m.dead = true
		case ok:
			text, err := url.PathUnescape(values[0])
			if err != nil {
				m.broken = fmt.Errorf("%s: %w", name, err)
			}
			m.Attributes[attribute] = text
		}
		had[name] = true
	}
	if text, ok := m.Attributes["datacontenttype"].(string); ok && m.ContentType == "" {
		m.ContentType = text
	}
	return m
}

func (b *natsStream) acknowledge(_ context.Context, done []message) error {
	for _, m := range done {
		if err := m.handle.(jetstream.Msg).Ack(); err != nil {
			return err
		}
	}
	return b.conn.FlushTimeout(ackWithin)
}

// keep waits until a stream has stored the copy.
func (b *natsStream) keep(ctx context.Context, m message, why string) error {
	js, err := jetstream.New(b.conn.Conn)
	if err != nil {
		return err
	}
	header := nats.Header{}
	for name, values := range m.handle.(jetstream.Msg).Headers() {
		if !strings.HasPrefix(strings.ToLower(name), "nats-") { // they concern the original message, such as its id for deduplication
			header[name] = values
		}
	}
	header.Set(whyOf, why)
	header.Set(placeOf, m.place)
	_, err = js.PublishMsg(ctx, &nats.Msg{Subject: b.from.DeadLetters, Data: m.Body, Header: header})
	return err
}

func (b *natsStream) close() {
	b.conn.FlushTimeout(time.Second) // unacknowledged messages come again
	b.conn.Close()
}
