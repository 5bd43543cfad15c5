package brokers

import (
	"context"
	"net"
	"net/http"
	"strings"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/swrun/swrun/errors"
)

// natsDialer gives the library connections that end with a context.
type natsDialer func(network, address string) (net.Conn, error)

func (d natsDialer) Dial(network, address string) (net.Conn, error) { return d(network, address) }

// nats returns a connection that ends with ctx. One that ends is not made again.
func (c *Client) nats(ctx context.Context) (*nats.Conn, error) {
	var urls []string
	for _, address := range c.Addresses {
		urls = append(urls, "nats://"+address)
	}
	open := c.dialer(ctx)
	var failed error
	options := []nats.Option{
		nats.NoReconnect(), nats.DontRandomize(), nats.IgnoreDiscoveredServers(), nats.Timeout(connectWithin), nats.Name(clientName),
		nats.ErrorHandler(func(*nats.Conn, *nats.Subscription, error) {}), // otherwise the library prints
		nats.SetCustomDialer(natsDialer(func(network, address string) (net.Conn, error) {
			conn, err := open(ctx, network, address)
			failed = err
			return conn, err
		})),
	}
	switch {
	case c.Username != "":
		options = append(options, nats.UserInfo(c.Username, c.Password))
	case c.secret() != "":
		options = append(options, nats.Token(c.secret()))
	}
	if c.Secure {
		host, _, _ := net.SplitHostPort(c.Addresses[0]) // that it has a port is checked
		options = append(options, nats.Secure(secureConfig(host)))
	}
	conn, err := nats.Connect(strings.Join(urls, ","), options...)
	if errors.Is(err, nats.ErrNoServers) && failed != nil { // which says nothing about why
		err = failed
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
	if stream != "" { // whose answer says that the message is stored
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
	return natsFailure(conn.LastError()) // what the server has against a message comes before its answer to the flush
}

// natsStream returns the stream of JetStream that keeps a subject; empty if none does.
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

// natsFailure says which errors are answers.
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
