package brokers

import (
	"context"
	"net"
	"net/http"
	"strings"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"

	"github.com/swrun/swrun/errors"
)

// redis returns a client of Redis that has one connection, which ends with ctx.
func (c *Client) redis(ctx context.Context) (*redis.Client, error) {
	conn, err := c.connect(ctx)
	if err != nil {
		return nil, err
	}
	only := make(chan net.Conn, 1)
	only <- &announcedConn{Conn: conn, most: c.MaxRead}
	return redis.NewClient(&redis.Options{
		Addr: c.Addresses[0], Username: c.Username, Password: c.secret(), Protocol: 2, PoolSize: 1, MaxRetries: -1, DialerRetries: 1,
		ReadTimeout: connectWithin, WriteTimeout: connectWithin, ContextTimeoutEnabled: true, DisableIdentity: true,
		MaintNotificationsConfig: &maintnotifications.Config{Mode: maintnotifications.ModeDisabled},
		Dialer: func(context.Context, string, string) (net.Conn, error) {
			select {
			case conn := <-only:
				return conn, nil
			default:
				return nil, net.ErrClosed
			}
		},
	}), nil
}

// publishRedis publishes to a channel of Redis, which says that it has heard the message. Who listens gets it, and nobody keeps it.
func (c *Client) publishRedis(ctx context.Context, m Message) error {
	client, err := c.redis(ctx)
	if err != nil {
		return err
	}
	defer client.Close() // it may be broken already
	return redisFailure(client.Publish(ctx, c.Channel, m.Payload).Err())
}

// redisFailure says which errors are answers.
func redisFailure(err error) error {
	var answered redis.Error
	if !errors.As(err, &answered) {
		return err
	}
	status := http.StatusInternalServerError
	switch text := answered.Error(); {
	case redis.IsAuthError(err), strings.HasPrefix(text, "ERR AUTH"): // the latter for a password that nobody asks for
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
