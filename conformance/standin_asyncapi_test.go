package conformance

import (
	"context"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"sync"

	"github.com/swrun/swrun/internal/brokers/brokertest"
)

// standInBrokers are the brokers that cases talk to, by the names of their hosts. They run once there is a case that asks for one.
type standInBrokers struct {
	start     func() error
	addresses map[string]string
	stop      []func()
}

func newStandInBrokers() *standInBrokers {
	s := &standInBrokers{addresses: map[string]string{}}
	s.start = sync.OnceValue(s.run)
	return s
}

func (s *standInBrokers) run() error {
	folder, err := os.MkdirTemp("", "brokers")
	if err != nil {
		return err
	}
	s.stop = append(s.stop, func() { os.RemoveAll(folder) }) // the system removes what is left
	for host, start := range map[string]func() (*brokertest.Broker, error){
		"kafka.test": func() (*brokertest.Broker, error) { return brokertest.Kafka("orders") },
		"nats.test":  func() (*brokertest.Broker, error) { return brokertest.NATS(folder, "t0ken") },
		"mqtt.test":  func() (*brokertest.Broker, error) { return brokertest.MQTT(nil) },
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
	switch {
	case strings.HasSuffix(host, ".test"):
		if err := s.start(); err != nil {
			return nil, err
		}
		if address = s.addresses[host]; address == "" {
			address = "127.0.0.1:1" // where nobody is
		}
	}
	return new(net.Dialer).DialContext(ctx, network, address)
}

// addressOf returns where the broker of a protocol is.
func (s *standInBrokers) addressOf(protocol string) string {
	return s.addresses[strings.TrimSuffix(protocol, "5")+".test"]
}

func (s *standInBrokers) close() {
	for _, stop := range s.stop {
		stop()
	}
}

// petsDocument is what the specification's examples call.
const petsDocument = `
asyncapi: 3.0.0
defaultContentType: application/json
servers: {staging: {host: fake.com, pathname: /echo, protocol: http}}
channels: {pets: {address: /pets}}
operations: {findPetsByStatus: {action: receive, channel: {$ref: '#/channels/pets'}}}
`

// announced answers with documents of AsyncAPI.
func announced(mux *http.ServeMux) {
	mux.HandleFunc("fake.com/docs/asyncapi.json", func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, petsDocument) })
}
