package brokers_test

import (
	"io"
	"net"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/swrun/swrun/errors"
	"github.com/swrun/swrun/internal/brokers"
	"github.com/swrun/swrun/internal/brokers/brokertest"
)

func TestPublishRedis(t *testing.T) {
	b := started(t)(brokertest.Redis("--requirepass", "s3cret", "--user", "reader", "on", ">pass", "~*", "&*", "+@all", "-publish"))
	reader := redis.NewClient(&redis.Options{Addr: b.Address, Password: "s3cret"})
	defer reader.Close()
	heard := reader.Subscribe(soon(t), "orders")
	defer heard.Close()
	_, err := heard.Receive(soon(t))
	must(t, err)
	c := client("redis", b.Address, "orders")
	wantStatus(t, c.Publish(soon(t), sent()), 401)
	c.Account = brokers.Account{Password: "wrong"}
	wantStatus(t, c.Publish(soon(t), sent()), 401)
	c.Account = brokers.Account{Username: "reader", Password: "pass"}
	wantStatus(t, c.Publish(soon(t), sent()), 403)
	c.Account = brokers.Account{Token: "s3cret"}
	must(t, c.Publish(soon(t), sent()))
	got, err := heard.ReceiveMessage(soon(t))
	must(t, err)
	if got.Payload != `{"a":1}` {
		t.Errorf("got %s", got.Payload)
	}
}

// TestPublishRedisToOneThatAnnouncesTooMuch: servers announce large data that never comes, for which a client would reserve memory.
func TestPublishRedisToOneThatAnnouncesTooMuch(t *testing.T) {
	for _, answer := range []string{
		"$9223372036854775807\r\n", "$4000000000\r\n", "*2000000000\r\n", "%2000000000\r\n", "$\r\n", "*x\r\n", "=999999999999999999999\r\n",
		strings.Repeat("*1\r\n", 1<<18), "+" + strings.Repeat("a", 2<<20),
	} {
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		must(t, err)
		go func() {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			_, _ = io.WriteString(conn, answer) // it may be cut
			_, _ = io.Copy(io.Discard, conn)
		}()
		if err := client("redis", listener.Addr().String(), "orders").Publish(soon(t), sent()); !errors.Is(err, brokers.ErrTooLarge) {
			t.Errorf("%.20q: got %v", answer, err)
		}
		listener.Close()
	}
}
