package brokers

import (
	"cmp"
	"context"
	"net"
	"net/http"
	"strings"

	"github.com/Azure/go-amqp"

	"github.com/swrun/swrun/errors"
)

// amqp1 connects by AMQP 1.0 under a name. The connection ends with ctx.
func (c *Client) amqp1(ctx context.Context, container string) (*amqp.Conn, *amqp.Session, error) {
	raw, err := c.connect(ctx)
	if err != nil {
		return nil, nil, err
	}
	within, cancel := context.WithTimeout(ctx, connectWithin)
	defer cancel()
	host, _, _ := net.SplitHostPort(c.Addresses[0]) // that it has a port is checked
	options := &amqp.ConnOptions{ContainerID: container, HostName: host, SASLType: amqp.SASLTypeAnonymous()}
	if c.Account != (Account{}) {
		options.SASLType = amqp.SASLTypePlain(c.Username, c.secret())
	}
	conn, err := amqp.NewConn(within, raw, options)
	if err != nil {
		raw.Close() // the error is the first one's
		return nil, nil, amqp1Failure(err)
	}
	session, err := conn.NewSession(within, nil)
	if err != nil {
		raw.Close() // the error is the first one's
		return nil, nil, amqp1Failure(err)
	}
	return conn, session, nil
}

// publishAMQP1 publishes by AMQP 1.0: the broker says what has become of the message.
func (c *Client) publishAMQP1(ctx context.Context, m Message) error {
	conn, session, err := c.amqp1(ctx, "")
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

// amqp1 returns a message as AMQP 1.0 has it.
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

// amqp1Failure says which errors are answers.
func amqp1Failure(err error) error {
	var answered *amqp.Error
	if errors.As(err, &answered) {
		return refused(amqp1Status(answered.Condition), errors.New(cmp.Or(answered.Description, string(answered.Condition))))
	}
	// The library has no type for these.
	if text := err.Error(); strings.Contains(text, "auth failed with code") || strings.Contains(text, "no supported auth mechanism") {
		return refused(http.StatusUnauthorized, errors.New("the broker refuses the account"))
	}
	return err
}

// amqp1Status returns the status of HTTP that says about the same as a condition of AMQP 1.0.
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
