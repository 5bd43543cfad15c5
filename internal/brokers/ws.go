package brokers

import (
	"context"
	"encoding/base64"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/coder/websocket"

	"github.com/swrun/swrun/errors"
)

// ws opens a WebSocket. It ends with ctx.
func (c *Client) ws(ctx context.Context) (*websocket.Conn, error) {
	within, cancel := context.WithTimeout(ctx, connectWithin)
	defer cancel()
	transport := &http.Transport{DialContext: c.dialer(ctx), DialTLSContext: func(_ context.Context, network, address string) (net.Conn, error) {
		return c.open(ctx, network, address)
	}}
	conn, answer, err := websocket.Dial(within, c.URL("ws"), &websocket.DialOptions{
		HTTPClient: &http.Client{Transport: transport, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }},
		HTTPHeader: c.authorization(),
	})
	switch {
	case err == nil:
		conn.SetReadLimit(int64(c.MaxRead))
		return conn, nil
	case answer != nil && answer.StatusCode != http.StatusSwitchingProtocols:
		return nil, refused(answer.StatusCode, errors.New("the server opens no WebSocket: "+answer.Status))
	}
	return nil, err
}

// authorization returns the headers with the credential of the account.
func (a Account) authorization() http.Header {
	switch {
	case a.Token != "":
		return http.Header{"Authorization": {"Bearer " + a.Token}}
	case a != Account{}:
		return http.Header{"Authorization": {"Basic " + base64.StdEncoding.EncodeToString([]byte(a.Username+":"+a.Password))}}
	}
	return nil
}

// publishWS sends a message over a separate WebSocket. Servers read frames in order: the answer to a ping confirms that the server read the frames
// before it.
func (c *Client) publishWS(ctx context.Context, m Message) error {
	conn, err := c.ws(ctx)
	if err != nil {
		return err
	}
	within, cancel := context.WithTimeout(ctx, connectWithin)
	defer cancel()
	ended := make(chan error, 1)
	go func() {
		defer cancel() // without a reader, the answer to a ping would not be received
		ended <- c.unheard(within, conn)
	}()
	if err = conn.Write(within, websocket.MessageText, m.Payload); err == nil {
		err = conn.Ping(within)
	}
	defer time.AfterFunc(farewell, cancel).Stop() // which ends the connection
	if err == nil {
		_ = conn.Close(websocket.StatusNormalClosure, "") // the reader gets the server's answer
	} else {
		cancel()
	}
	code := websocket.CloseStatus(<-ended)
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case code == websocket.StatusNormalClosure, code == websocket.StatusNoStatusRcvd: // servers may end the connection before they see the ping
		return nil
	case code != -1:
		return refused(wsStatus(code), fmt.Errorf("the server ended the connection with code %d", code))
	case errors.Is(err, context.DeadlineExceeded):
		return errors.New("the server does not answer")
	}
	return err
}

// unheard reads the data of a server while a message is published, until the connection ends.
func (c *Client) unheard(ctx context.Context, conn *websocket.Conn) error {
	for {
		_, message, err := conn.Reader(ctx)
		if err == nil {
			_, err = io.Copy(io.Discard, message)
		}
		if err != nil {
			return err
		}
		c.more()
	}
}

// wsStatus returns the status of HTTP that is similar to a WebSocket's close code.
func wsStatus(code websocket.StatusCode) int {
	const unauthorized, forbidden = 3000, 3003 // of the registry of codes
	switch code {
	case websocket.StatusProtocolError, websocket.StatusInvalidFramePayloadData:
		return http.StatusBadRequest
	case unauthorized:
		return http.StatusUnauthorized
	case websocket.StatusPolicyViolation, forbidden:
		return http.StatusForbidden
	case websocket.StatusMessageTooBig:
		return http.StatusRequestEntityTooLarge
	case websocket.StatusUnsupportedData:
		return http.StatusUnsupportedMediaType
	case websocket.StatusBadGateway:
		return http.StatusBadGateway
	case websocket.StatusGoingAway, websocket.StatusServiceRestart, websocket.StatusTryAgainLater:
		return http.StatusServiceUnavailable
	}
	return http.StatusInternalServerError
}

// wsMessages are the messages that a server sends over a WebSocket: messages that are sent while no client is connected are lost.
type wsMessages struct {
	conn  *websocket.Conn
	box   *mailbox
	stop  func()
	ended sync.WaitGroup
}

func (c *Client) subscribeWS(ctx context.Context, _ string) (Subscription, error) {
	conn, err := c.ws(ctx)
	if err != nil {
		return nil, err
	}
	ctx, stop := context.WithCancel(ctx)
	s := &wsMessages{conn: conn, box: newMailbox(), stop: stop}
	s.ended.Go(func() { s.pump(ctx, c) })
	s.ended.Go(func() {
		s.box.end(beat(ctx, s.ping))
		stop()
	})
	return s, nil
}

// pump puts the received messages into the mailbox.
func (s *wsMessages) pump(ctx context.Context, c *Client) {
	defer s.stop()
	for {
		_, data, err := s.conn.Read(ctx)
		if err != nil {
			if code := websocket.CloseStatus(err); code != -1 {
				err = refused(wsStatus(code), fmt.Errorf("the server ended the connection with code %d", code))
			}
			s.box.end(err)
			return
		}
		c.more()
		s.box.put(&Delivery{Message: Message{Payload: data}})
	}
}

// ping waits for the answer of the server.
func (s *wsMessages) ping(ctx context.Context) error {
	within, cancel := context.WithTimeout(ctx, connectWithin)
	defer cancel()
	return s.conn.Ping(within)
}

// Receive implements Subscription.
func (s *wsMessages) Receive(ctx context.Context) (*Delivery, error) { return s.box.receive(ctx) }

// Acknowledge implements Subscription: the server keeps nothing.
func (s *wsMessages) Acknowledge(context.Context, []*Delivery) error { return nil }

// Keeps implements Subscription.
func (*wsMessages) Keeps() bool { return false }

// Close implements Subscription.
func (s *wsMessages) Close(bool) {
	s.box.end(net.ErrClosed)
	defer time.AfterFunc(farewell, s.stop).Stop()
	_ = s.conn.Close(websocket.StatusNormalClosure, "") // it may be broken already
	s.stop()
	s.ended.Wait()
}
