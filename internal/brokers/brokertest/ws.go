package brokertest

import (
	"crypto/tls"
	"io"
	"log"
	"net/http"
	"net/http/httptest"

	"github.com/coder/websocket"
)

// WS starts a server of WebSockets. Serve gets each opened connection and its request, whose path is the channel.
func WS(serve func(*websocket.Conn, *http.Request)) *Broker { return startWS(nil, serve) }

func startWS(secured *tls.Config, serve func(*websocket.Conn, *http.Request)) *Broker {
	running := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		conn, err := websocket.Accept(w, r, nil)
		if err != nil {
			return // it has answered
		}
		defer conn.CloseNow() // it may be closed already
		serve(conn, r)
	}))
	running.Config.ErrorLog = log.New(io.Discard, "", 0) // refused clients need no log
	if running.TLS = secured; secured != nil {
		running.StartTLS()
	} else {
		running.Start()
	}
	return &Broker{Address: running.Listener.Addr().String(), Stop: running.Close, Forgets: atOnce}
}
