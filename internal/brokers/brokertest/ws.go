package brokertest

import (
	"net/http"
	"net/http/httptest"
	"strings"

	"github.com/coder/websocket"
)

// WS starts a server of WebSockets. Serve gets each that is opened, and the request that opened it, whose path is the channel.
func WS(serve func(*websocket.Conn, *http.Request)) *Broker {
	running := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		conn, err := websocket.Accept(w, r, nil)
		if err != nil {
			return // it has answered
		}
		defer conn.CloseNow() // it may be closed already
		serve(conn, r)
	}))
	return &Broker{strings.TrimPrefix(running.URL, "http://"), running.Close, atOnce}
}
