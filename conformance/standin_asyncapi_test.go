package conformance

import (
	"cmp"
	"context"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"sync"

	"github.com/coder/websocket"

	"github.com/swrun/swrun/internal/brokers/brokertest"
)

// standInBrokers are the brokers of the cases, by the names of their hosts. They start with the first case that uses one.
type standInBrokers struct {
	start     func() error
	addresses map[string]string
	processes map[string]func() (string, error) // brokers that are processes: each starts with the first case that uses it

	mu   sync.Mutex
	stop []func()
}

func newStandInBrokers() *standInBrokers {
	s := &standInBrokers{addresses: map[string]string{}}
	s.start = sync.OnceValue(s.run)
	s.processes = map[string]func() (string, error){
		"amqp.test": sync.OnceValues(func() (string, error) {
			return s.process(func(folder string) (*brokertest.Broker, error) { return brokertest.RabbitMQ(folder, "orders") })
		}),
		"redis.test": sync.OnceValues(func() (string, error) {
			return s.process(func(string) (*brokertest.Broker, error) { return brokertest.Redis() })
		}),
	}
	return s
}

// process starts a broker that may keep files in a folder, and returns its address.
func (s *standInBrokers) process(start func(folder string) (*brokertest.Broker, error)) (string, error) {
	folder, err := os.MkdirTemp("", "broker")
	if err != nil {
		return "", err
	}
	b, err := start(folder)
	if err != nil {
		return "", err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stop = append(s.stop, func() {
		b.Stop()
		os.RemoveAll(folder) // the system removes the rest
	})
	return b.Address, nil
}

func (s *standInBrokers) run() error {
	folder, err := os.MkdirTemp("", "brokers")
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stop = append(s.stop, func() { os.RemoveAll(folder) }) // the system removes the rest
	for host, start := range map[string]func() (*brokertest.Broker, error){
		"kafka.test": func() (*brokertest.Broker, error) { return brokertest.Kafka("orders") },
		"nats.test":  func() (*brokertest.Broker, error) { return brokertest.NATS(folder, "t0ken") },
		"mqtt.test":  func() (*brokertest.Broker, error) { return brokertest.MQTT(nil) },
		"ws.test":    func() (*brokertest.Broker, error) { return brokertest.WS(new(announcer).serve), nil },
	} {
		b, err := start()
		if err != nil {
			return err
		}
		s.addresses[host] = b.Address
		s.stop = append([]func(){b.Stop}, s.stop...)
	}
	return nil
}

// dial reaches the brokers, the addresses that they announce, and nothing else.
func (s *standInBrokers) dial(ctx context.Context, network, address string) (net.Conn, error) {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return nil, err
	}
	if strings.HasSuffix(host, ".test") {
		if address, err = s.addressOf(strings.TrimSuffix(host, ".test")); err != nil {
			return nil, err
		}
		address = cmp.Or(address, "127.0.0.1:1") // an address without a server
	}
	return new(net.Dialer).DialContext(ctx, network, address)
}

// addressOf returns the address of the broker of a protocol.
func (s *standInBrokers) addressOf(protocol string) (string, error) {
	host := strings.TrimRight(protocol, "15") + ".test"
	if start := s.processes[host]; start != nil {
		return start()
	}
	err := s.start()
	return s.addresses[host], err
}

func (s *standInBrokers) close() {
	for _, stop := range s.stop {
		stop()
	}
}

// announcer is a server of WebSockets that sends the messages of its clients to all clients of the same channel that only listen. A message without a
// listener is sent to the next listener: a client is connected before the server knows of it.
type announcer struct {
	mu    sync.Mutex
	conns map[*websocket.Conn]*visitor
	kept  map[string][]announcement // by channel
}

// visitor is a connected client.
type visitor struct {
	channel string
	speaks  bool           // it sends messages and does not listen
	told    []announcement // kept messages that it received on connecting
}

// announcement is a message of a client.
type announcement struct {
	kind websocket.MessageType
	data []byte
}

func (a *announcer) serve(conn *websocket.Conn, r *http.Request) {
	a.add(conn, r)
	defer a.remove(conn)
	for {
		kind, data, err := conn.Read(r.Context())
		if err != nil {
			return
		}
		a.hear(conn, r, announcement{kind, data})
	}
}

func (a *announcer) add(conn *websocket.Conn, r *http.Request) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.conns == nil {
		a.conns, a.kept = map[*websocket.Conn]*visitor{}, map[string][]announcement{}
	}
	v := &visitor{channel: r.URL.Path, told: a.kept[r.URL.Path]}
	a.conns[conn] = v
	delete(a.kept, v.channel)
	for _, one := range v.told {
		_ = conn.Write(r.Context(), one.kind, one.data) // the client may have disconnected
	}
}

func (a *announcer) remove(conn *websocket.Conn) {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.conns, conn)
}

// hear handles a message of a client. The kept messages that this client received on connecting are for another client.
func (a *announcer) hear(conn *websocket.Conn, r *http.Request, said announcement) {
	a.mu.Lock()
	defer a.mu.Unlock()
	v := a.conns[conn]
	v.speaks = true
	for _, one := range append(v.told, said) {
		a.tell(r, v.channel, one)
	}
	v.told = nil
}

// tell sends a message to all listeners; the caller holds the lock.
func (a *announcer) tell(r *http.Request, channel string, one announcement) {
	heard := false
	for conn, v := range a.conns {
		if v.channel == channel && !v.speaks && conn.Write(r.Context(), one.kind, one.data) == nil {
			heard = true
		}
	}
	if !heard {
		a.kept[channel] = append(a.kept[channel], one)
	}
}

// petsDocument is the document that the specification's examples call.
const petsDocument = `
asyncapi: 3.0.0
defaultContentType: application/json
servers: {staging: {host: fake.com, pathname: /echo, protocol: http}}
channels: {pets: {address: /pets}, notifications: {address: notifications}}
operations:
  findPetsByStatus: {action: receive, channel: {$ref: '#/channels/pets'}}
  getNotifications: {action: send, channel: {$ref: '#/channels/notifications'}}
`

// announced answers with documents of AsyncAPI.
func announced(mux *http.ServeMux) {
	mux.HandleFunc("fake.com/docs/asyncapi.json", func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, petsDocument) })
}
