package brokers_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/coder/websocket"

	"github.com/swrun/swrun/errors"
	"github.com/swrun/swrun/internal/brokers"
	"github.com/swrun/swrun/internal/brokers/brokertest"
)

func TestPublishWS(t *testing.T) {
	heard := make(chan string, 1)
	echo := func(conn *websocket.Conn, r *http.Request) {
		for {
			kind, data, err := conn.Read(r.Context())
			if err != nil {
				return
			}
			heard <- strings.Join([]string{r.URL.Path, r.Header.Get("Authorization"), kind.String(), string(data)}, " ")
			if err := conn.Write(r.Context(), kind, data); err != nil { // which the client does not read
				return
			}
		}
	}
	b := started(t)(brokertest.WS(echo), nil)
	c := client("ws", b.Address, "orders")
	c.Path = "/v1"
	for _, one := range []struct {
		account brokers.Account
		want    string
	}{
		{brokers.Account{}, ""}, {brokers.Account{Token: "t0ken"}, "Bearer t0ken"}, {brokers.Account{Username: "a", Password: "b"}, "Basic YTpi"},
	} {
		c.Account = one.account
		must(t, c.Publish(soon(t), sent()))
		if got, want := <-heard, "/v1/orders "+one.want+` MessageText {"a":1}`; got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}

func TestPublishWSRefused(t *testing.T) {
	for code, status := range map[websocket.StatusCode]int{1000: 0, 1001: 503, 1003: 415, 1007: 400, 1008: 403, 1009: 413, 1011: 500, 3000: 401, 4000: 500} {
		b := started(t)(brokertest.WS(func(conn *websocket.Conn, r *http.Request) {
			if _, _, err := conn.Read(r.Context()); err == nil {
				_ = conn.Close(code, "") // the client sees that
			}
		}), nil)
		err := client("ws", b.Address, "orders").Publish(soon(t), sent())
		if status == 0 {
			must(t, err)
		} else {
			wantStatus(t, err, status)
		}
	}
	plain := httptest.NewServer(http.RedirectHandler("/elsewhere", http.StatusFound))
	defer plain.Close()
	wantStatus(t, client("ws", strings.TrimPrefix(plain.URL, "http://"), "orders").Publish(soon(t), sent()), 302)
}

func TestPublishWSToOneThatTalksTooMuch(t *testing.T) {
	b := started(t)(brokertest.WS(func(conn *websocket.Conn, r *http.Request) {
		for conn.Write(r.Context(), websocket.MessageBinary, make([]byte, 2<<20)) == nil {
		}
	}), nil)
	if err := client("ws", b.Address, "orders").Publish(soon(t), sent()); !errors.Is(err, brokers.ErrTooLarge) {
		t.Errorf("got %v", err)
	}
}
