package main

import (
	"crypto/tls"
	"crypto/x509"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/swrun/swrun/internal/certtest"
)

// TestServeEventsOverTLS: a server reads events from a Kafka broker that requires TLS, if the machine trusts its certificate, and sends events to
// such a broker. If the machine does not trust the certificate, nothing is read, and the health contains the reason.
func TestServeEventsOverTLS(t *testing.T) {
	authority, err := certtest.New("authority")
	if err != nil {
		t.Fatal(err)
	}
	settings, err := authority.Server()
	if err != nil {
		t.Fatal(err)
	}
	settings.ClientAuth = tls.NoClientCert
	cluster, err := kfake.NewCluster(kfake.NumBrokers(1), kfake.SeedTopics(1, "orders", "told"), kfake.TLS(settings))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(cluster.Close)
	trusted := filepath.Join(t.TempDir(), "authority.pem")
	if err := os.WriteFile(trusted, []byte(authority.PEM), 0o600); err != nil {
		t.Fatal(err)
	}
	broker := cluster.ListenAddrs()[0]
	send(t, broker, authority, `{"specversion": "1.0", "id": "1", "source": "/shop", "type": "order"}`)
	events := filepath.Join(t.TempDir(), "events.file")
	text := "sources:\n  orders:\n    kafka: {brokers: [\"" + broker + "\"], topics: [orders], group: swrun, tls: true}\nsinks:\n  told:\n    kafka: {brokers: [\"" + broker + "\"], topic: told, tls: true}\n"
	if err := os.WriteFile(events, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	const shop = "document: {dsl: 1.0.3, namespace: demo, name: shop, version: 1.0.0}\nschedule: {on: {one: {with: {type: order}}}}\ndo:\n- echo: {set: {ok: true}}\n"
	t.Run("not trusted", func(t *testing.T) {
		s := startServerProcess(t, shop, "--events", events, "--network", "any")
		eventually(t, "the health says what is wrong", func() bool {
			return strings.Contains(s.read(t, "/v1/health"), "certificate signed by unknown authority")
		})
	})
	t.Run("trusted", func(t *testing.T) {
		t.Setenv("SSL_CERT_FILE", trusted)
		s := startServerProcess(t, shop, "--events", events, "--network", "any")
		eventually(t, "the event has started a run, and the sink has taken what happened", func() bool {
			health := s.read(t, "/v1/health")
			return strings.Contains(s.read(t, "/v1/runs"), `"completed"`) && strings.Contains(health, "the sink told (kafka) has taken 5 events")
		})
	})
}

// send sends an event to the topic orders.
func send(t *testing.T, broker string, authority *certtest.Authority, event string) {
	t.Helper()
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM([]byte(authority.PEM))
	client, err := kgo.NewClient(kgo.SeedBrokers(broker), kgo.DialTLSConfig(&tls.Config{RootCAs: roots}))
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	if err := client.ProduceSync(t.Context(), &kgo.Record{Topic: "orders", Value: []byte(event), Headers: []kgo.RecordHeader{{Key: "content-type", Value: []byte("application/cloudevents+json")}}}).FirstErr(); err != nil {
		t.Fatal(err)
	}
}

// read returns the body of an answer.
func (s *serverProcess) read(t *testing.T, path string) string {
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.url+path, nil)
	if err != nil {
		return err.Error()
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		return err.Error()
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		return err.Error()
	}
	return string(text)
}
