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

// standInBrokers are the brokers that cases talk to, by the names of their hosts. They run once there is a case that asks for one.
type standInBrokers struct {
	start     func() error
	addresses map[string]string
	processes map[string]func() (string, error) // those that are processes: each runs once there is a case that asks for it

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
		os.RemoveAll(folder) // the system removes what is left
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
	s.stop = append(s.stop, func() { os.RemoveAll(folder) }) // the system removes what is left
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

// dial reaches the brokers, what they say about where they are, and nothing else.
func (s *standInBrokers) dial(ctx context.Context, network, address string) (net.Conn, error) {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return nil, err
	}
	if strings.HasSuffix(host, ".test") {
		if address, err = s.addressOf(strings.TrimSuffix(host, ".test")); err != nil {
			return nil, err
		}
		address = cmp.Or(address, "127.0.0.1:1") // where nobody is
	}
	return new(net.Dialer).DialContext(ctx, network, address)
}

// addressOf returns where the broker of a protocol is.
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

// announcer is a server of WebSockets that tells everybody who only listens what others say, on the same channel. What is said while nobody listens is told to
// the next one who comes: a client is connected before the server knows of it.
type announcer struct {
	mu    sync.Mutex
	conns map[*websocket.Conn]*visitor
	kept  map[string][]announcement // by channel
}

// visitor is somebody who is connected.
type visitor struct {
	channel string
	speaks  bool           // and does not listen
	told    []announcement // what was kept when they came
}

// announcement is what somebody has said.
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
		_ = conn.Write(r.Context(), one.kind, one.data) // it may have gone
	}
}

func (a *announcer) remove(conn *websocket.Conn) {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.conns, conn)
}

// hear takes what somebody says. What they were told when they came is for another one.
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

// tell tells all who listen; the caller holds the lock.
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

// petsDocument is what the specification's examples call.
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
