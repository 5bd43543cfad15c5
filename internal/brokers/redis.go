package brokers

import (
	"context"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"

	"github.com/swrun/swrun/errors"
)

// redisElements is the maximum number of elements of a list. No answer to a request of this file contains more.
const redisElements = 1024

// redis returns a client of Redis that has one connection, which ends with ctx.
func (c *Client) redis(ctx context.Context) (*redis.Client, error) {
	conn, err := c.connect(ctx)
	if err != nil {
		return nil, err
	}
	only := make(chan net.Conn, 1)
	c.guard.Most = c.MaxRead
	only <- c.guard.Redis(conn, redisElements)
	return redis.NewClient(&redis.Options{
		Addr: c.Addresses[0], Username: c.Username, Password: c.secret(), Protocol: 2, PoolSize: 1, MaxRetries: -1, DialerRetries: 1,
		ReadTimeout: connectWithin, WriteTimeout: connectWithin, ContextTimeoutEnabled: true, DisableIdentity: true,
		MaintNotificationsConfig: &maintnotifications.Config{Mode: maintnotifications.ModeDisabled},
		Dialer: func(context.Context, string, string) (net.Conn, error) {
			select {
			case conn := <-only:
				return conn, nil
			default: // the library prints an error that is returned here
				gone, other := net.Pipe()
				other.Close()
				return gone, nil
			}
		},
	}), nil
}

// publishRedis publishes to a channel of Redis, which confirms that it received the message. Subscribers get the message, and Redis does not keep it.
func (c *Client) publishRedis(ctx context.Context, m Message) error {
	client, err := c.redis(ctx)
	if err != nil {
		return err
	}
	defer client.Close() // it may be broken already
	return redisFailure(client.Publish(ctx, c.Channel, m.Payload).Err())
}

// redisFailure separates answers of the server from other errors.
func redisFailure(err error) error {
	var answered redis.Error
	if !errors.As(err, &answered) {
		return err
	}
	status := http.StatusInternalServerError
	switch text := answered.Error(); {
	case redis.IsAuthError(err), strings.HasPrefix(text, "ERR AUTH"): // the latter for a password that the server does not require
		status = http.StatusUnauthorized
	case redis.IsPermissionError(err):
		status = http.StatusForbidden
	case redis.IsOOMError(err):
		status = http.StatusInsufficientStorage
	case redis.IsLoadingError(err), redis.IsMasterDownError(err), redis.IsClusterDownError(err), redis.IsTryAgainError(err), redis.IsMaxClientsError(err):
		status = http.StatusServiceUnavailable
	}
	return refused(status, err)
}

// redisChannel is a subscription to a channel of Redis: messages that are sent while no client is connected are lost.
type redisChannel struct {
	client *redis.Client
	pubsub *redis.PubSub
	box    *mailbox
	heard  atomic.Bool // data arrived since the last ping
	stop   func()
	ended  sync.WaitGroup
}

func (c *Client) subscribeRedis(ctx context.Context, _ string) (Subscription, error) {
	ctx, stop := context.WithCancel(ctx)
	s := &redisChannel{box: newMailbox(), stop: stop}
	var err error
	if s.client, err = c.redis(ctx); err != nil {
		stop()
		return nil, err
	}
	within, cancel := context.WithTimeout(ctx, connectWithin)
	defer cancel()
	s.pubsub = s.client.Subscribe(within, c.Channel)
	if _, err := s.pubsub.Receive(within); err != nil { // the first message confirms the subscription
		s.Close(true)
		return nil, redisFailure(err)
	}
	s.heard.Store(true)
	s.ended.Go(func() { s.pump(ctx, c) })
	s.ended.Go(func() {
		s.box.end(beat(ctx, s.ping))
		stop()
	})
	return s, nil
}

// pump puts the received messages into the mailbox.
func (s *redisChannel) pump(ctx context.Context, c *Client) {
	for {
		got, err := s.pubsub.Receive(ctx)
		if err != nil {
			s.box.end(redisFailure(err))
			s.stop()
			return
		}
		s.heard.Store(true)
		c.more()
		if m, ok := got.(*redis.Message); ok {
			s.box.put(&Delivery{Message: Message{Payload: []byte(m.Payload)}})
		}
	}
}

// ping sends a ping to the server, if it answered the last ping.
func (s *redisChannel) ping(ctx context.Context) error {
	if !s.heard.Swap(false) {
		return errors.New("the server does not answer")
	}
	return s.pubsub.Ping(ctx)
}

// Receive implements Subscription.
func (s *redisChannel) Receive(ctx context.Context) (*Delivery, error) { return s.box.receive(ctx) }

// Acknowledge implements Subscription: the server keeps nothing.
func (s *redisChannel) Acknowledge(context.Context, []*Delivery) error { return nil }

// Keeps implements Subscription.
func (*redisChannel) Keeps() bool { return false }

// Close implements Subscription.
func (s *redisChannel) Close(bool) {
	s.box.end(net.ErrClosed)
	s.stop()
	s.ended.Wait()
	s.pubsub.Close() // it may be broken already
	s.client.Close() // the same
}
