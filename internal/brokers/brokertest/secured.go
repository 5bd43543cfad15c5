package brokertest

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"sync"

	"github.com/coder/websocket"
	mqtt "github.com/mochi-mqtt/server/v2"
	"github.com/nats-io/nats-server/v2/server"
	"github.com/twmb/franz-go/pkg/kfake"

	"github.com/swrun/swrun/internal/certtest"
)

// Secured starts a broker of a protocol that speaks only TLS, for clients with a certificate of an authority, and keeps its files in a folder. A
// broker of Kafka has the topic orders. A broker of WebSockets sends each message to all connections.
func Secured(protocol, folder string, a *certtest.Authority) (*Broker, error) {
	settings, err := a.Server()
	if err != nil {
		return nil, err
	}
	switch protocol {
	case "kafka":
		return startKafka(kfake.SeedTopics(1, "orders"), kfake.TLS(settings))
	case "nats":
		return startNATS(&server.Options{TLSConfig: settings, TLSVerify: true, TLSTimeout: slowest.Seconds()})
	case "mqtt", "mqtt5":
		return startMQTT(nil, settings, func(*mqtt.Server) error { return nil })
	case "redis":
		f, err := writeFiles(folder, a)
		if err != nil {
			return nil, err
		}
		return startRedis("--tls-port", []string{"--port", "0", "--tls-cert-file", f.certificate, "--tls-key-file", f.key, "--tls-ca-cert-file", f.authority})
	case "ws":
		return startWS(settings, new(relay).serve), nil
	}
	return nil, fmt.Errorf("there is no broker of %s that speaks TLS", protocol)
}

// files are the files of a server in a separate process.
type files struct{ certificate, key, authority string }

// writeFiles writes the files of a server into a folder.
func writeFiles(folder string, a *certtest.Authority) (files, error) {
	f := files{filepath.Join(folder, "server.pem"), filepath.Join(folder, "key.pem"), filepath.Join(folder, "authority.pem")}
	certificate, key, err := a.Issue("server")
	if err != nil {
		return f, err
	}
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return f, err
	}
	for name, text := range map[string]string{f.certificate: certificate, f.key: key, f.authority: a.PEM} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			return f, err
		}
	}
	return f, nil
}

// relay sends each message of one WebSocket to all of them, including those that are opened later.
type relay struct {
	mu   sync.Mutex
	sent [][]byte
	open []*websocket.Conn
}

func (r *relay) serve(conn *websocket.Conn, request *http.Request) {
	r.mu.Lock()
	for _, data := range r.sent {
		_ = conn.Write(request.Context(), websocket.MessageText, data) // the test notices a missing message
	}
	r.open = append(r.open, conn)
	r.mu.Unlock()
	for {
		_, data, err := conn.Read(request.Context())
		if err != nil {
			return
		}
		r.mu.Lock()
		r.sent = append(r.sent, data)
		for _, one := range r.open {
			_ = one.Write(request.Context(), websocket.MessageText, data) // it may be gone
		}
		r.mu.Unlock()
	}
}
