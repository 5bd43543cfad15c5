package brokers_test

import (
	"crypto/tls"
	"crypto/x509"
	"net"
	"testing"

	"github.com/swrun/swrun/errors"
	"github.com/swrun/swrun/internal/brokers"
	"github.com/swrun/swrun/internal/brokers/brokertest"
	"github.com/swrun/swrun/internal/certtest"
)

func mustAuthority(t *testing.T) *certtest.Authority {
	t.Helper()
	a, err := certtest.New("ours")
	must(t, err)
	return a
}

// mustSecure returns the TLS settings of a client that trusts an authority, with a certificate of a name, or without one.
func mustSecure(t *testing.T, trusted, issuer *certtest.Authority, name string) *tls.Config {
	t.Helper()
	settings := &tls.Config{RootCAs: x509.NewCertPool()}
	settings.RootCAs.AppendCertsFromPEM([]byte(trusted.PEM))
	if issuer != nil {
		certificate, key, err := issuer.Issue(name)
		must(t, err)
		pair, err := tls.X509KeyPair([]byte(certificate), []byte(key))
		must(t, err)
		settings.Certificates = []tls.Certificate{pair}
	}
	return settings
}

// TestCertificates: brokers that require certificates get the certificate of the client. Without a certificate, or with an unknown one, the error is
// the broker's answer. A broker that is not trusted gets nothing.
func TestCertificates(t *testing.T) {
	for _, protocol := range []string{"kafka", "nats", "mqtt", "mqtt5", "redis", "ws"} {
		t.Run(protocol, func(t *testing.T) {
			t.Parallel()
			a := mustAuthority(t)
			b := started(t)(brokertest.Secured(protocol, t.TempDir(), a))
			testCertificates(t, client(protocol, b.Address, "orders"), a)
		})
	}
}

// testCertificates connects a client with different certificates.
func testCertificates(t *testing.T, c *brokers.Client, a *certtest.Authority) {
	t.Helper()
	c.Secure, c.TLS = true, mustSecure(t, a, a, "guest")
	s := mustBegin(t, c, "secured")
	mustSend(t, c, "1")
	if d, err := s.Receive(soon(t)); err != nil || string(d.Payload) != "1" {
		t.Errorf("got %v, %v", d, err)
	}
	stranger := mustAuthority(t)
	for name, settings := range map[string]*tls.Config{"nobody": mustSecure(t, a, nil, ""), "a stranger": mustSecure(t, a, stranger, "guest")} {
		c.TLS = settings
		wantAlert(t, name+" publishes", c.Publish(soon(t), brokers.Message{Payload: []byte("2")}))
		_, err := c.Subscribe(soon(t), "strange")
		wantAlert(t, name+" subscribes", err)
	}
	c.TLS = mustSecure(t, stranger, a, "guest")
	var untrusted *tls.CertificateVerificationError
	if err := c.Publish(soon(t), brokers.Message{}); !errors.As(err, &untrusted) {
		t.Errorf("publishing to who is not trusted: %v", err)
	}
	if _, err := c.Subscribe(soon(t), "strange"); !errors.As(err, &untrusted) {
		t.Errorf("subscribing to who is not trusted: %v", err)
	}
}

// wantAlert checks that a broker refused a certificate.
func wantAlert(t *testing.T, what string, err error) {
	t.Helper()
	var remote *net.OpError
	if !errors.As(err, &remote) || remote.Op != "remote error" {
		t.Errorf("%s: got %T %v", what, err, err)
	}
}

// testCertificatesAMQP: RabbitMQ identifies a user by the certificate alone. The user guest exists, and ada does not.
func testCertificatesAMQP(t *testing.T, b *brokertest.Broker, a *certtest.Authority) {
	t.Parallel() // a broker takes seconds to refuse an account
	for _, c := range []*brokers.Client{client("amqp", b.Secured, "secured"), client("amqp1", b.Secured, "/amq/queue/secured linked")} {
		testCertificates(t, c, a)
		c.TLS = mustSecure(t, a, a, "ada")
		wantStatus(t, c.Publish(soon(t), sent()), 401)
	}
}
