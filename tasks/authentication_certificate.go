package tasks

import (
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"net"
	"net/http"
	"sync"

	"github.com/swrun/swrun/errors"
)

// withoutTLS explains why a certificate cannot be used.
const withoutTLS = "it cannot be called with a certificate, since it is called without TLS"

// needsTLS returns an error if the credential is a certificate, and a place is called without TLS.
func (c *credential) needsTLS(place string, secure bool) error {
	if c.ofConnection() == nil || secure {
		return nil
	}
	return errors.Configurationf("%s: %s", place, withoutTLS)
}

// clientCertificate is the proof of identity of a call when it opens a connection (semantics 17.5).
type clientCertificate struct {
	pair  tls.Certificate
	roots *x509.CertPool // authorities that may sign the certificates of servers; nil for the trusted authorities of the machine
	key   [sha256.Size]byte
}

// fillCertificate takes the properties of a certificate: its own text and its key, as PEM, and optionally the authority of trusted servers.
func (c *credential) fillCertificate(properties map[string]any) *errors.Error {
	texts := map[string]string{}
	for _, name := range []string{"certificate", "key", "authority"} {
		text, ok := properties[name].(string)
		if !ok && (name != "authority" || properties[name] != nil) {
			return errors.Authenticationf("certificate authentication needs a %s, as PEM, got %s", name, kindOf(properties[name]))
		}
		texts[name] = text
	}
	pair, err := tls.X509KeyPair([]byte(texts["certificate"]), []byte(texts["key"]))
	if err != nil { // its text may quote the wrong data
		return errors.Authenticationf("the certificate and the key of certificate authentication do not make a pair: both must be PEM, and the key not encrypted")
	}
	certificate := &clientCertificate{pair: pair, key: sha256.Sum256([]byte(texts["certificate"] + nul + texts["key"] + nul + texts["authority"]))}
	if texts["authority"] != "" {
		certificate.roots = x509.NewCertPool()
		if !certificate.roots.AppendCertsFromPEM([]byte(texts["authority"])) {
			return errors.Authenticationf("the authority of certificate authentication must be certificates, as PEM")
		}
	}
	c.certificate = certificate
	return nil
}

// settings returns the TLS settings of connections with the certificate; a nil certificate gives settings without one.
func (c *clientCertificate) settings() *tls.Config {
	if c == nil {
		return &tls.Config{MinVersion: tls.VersionTLS12}
	}
	return &tls.Config{MinVersion: tls.VersionTLS12, Certificates: []tls.Certificate{c.pair}, RootCAs: c.roots}
}

// refusedCertificate returns the objection of a server to the certificate of a call, or to a missing certificate; "" if err has another reason.
func refusedCertificate(err error) string {
	var remote *net.OpError
	if !errors.As(err, &remote) || remote.Op != "remote error" { // the name that crypto/tls gives to alerts of the other side
		return ""
	}
	said := remote.Err.Error()
	if said == tls.AlertError(alertCertificateRequired).Error() {
		return "the server wants a certificate of an authority that it knows"
	}
	for _, alert := range alertsOfCertificates() {
		if said == alert.Error() {
			return "the server does not accept the certificate: " + said
		}
	}
	return ""
}

// alertCertificateRequired is the TLS 1.3 alert for a client that has no certificate, or no certificate of the authorities that the server named.
const alertCertificateRequired = 116

// alertsOfCertificates are the alerts by which servers refuse a certificate: it is bad (or missing, in TLS 1.2), of an unsupported kind, revoked,
// expired, unknown, of an authority that the server does not know, not admitted, or signed by another party with the name of an authority.
func alertsOfCertificates() []tls.AlertError {
	return []tls.AlertError{42, 43, 44, 45, 46, 48, 49, 51}
}

// maxCertified is the maximum number of certificates with their own connections at a time.
const maxCertified = 100

// certified are the transports of certificates. The server of a connection knows the certificate that opened it. Therefore no call may use a
// connection of another certificate.
type certified struct {
	mu  sync.Mutex
	all map[[sha256.Size]byte]*http.Transport
}

// Close closes unused connections.
func (c *Credentials) Close() {
	c.certified.mu.Lock()
	defer c.certified.mu.Unlock()
	for _, t := range c.certified.all {
		t.CloseIdleConnections()
	}
}

// transport returns the transport of a certificate, which reaches the same addresses as base.
func (k *certified) transport(base *http.Transport, c *clientCertificate) *http.Transport {
	k.mu.Lock()
	defer k.mu.Unlock()
	if t := k.all[c.key]; t != nil {
		return t
	}
	if k.all == nil {
		k.all = map[[sha256.Size]byte]*http.Transport{}
	}
	for key, other := range k.all {
		if len(k.all) < maxCertified {
			break
		}
		other.CloseIdleConnections() // calls in progress keep their connections
		delete(k.all, key)
	}
	t := base.Clone()
	t.TLSClientConfig = c.settings()
	t.DialTLSContext = connector{dial: t.DialContext, settings: c.settings}.secure
	k.all[c.key] = t
	return t
}

// transport returns the transport of calls over HTTP.
func (c Config) transport() http.RoundTripper {
	if c.Transport == nil {
		return http.DefaultTransport
	}
	return c.Transport
}

// ofConnection returns the certificate for opening connections; nil for none.
func (c *credential) ofConnection() *clientCertificate {
	if c == nil {
		return nil
	}
	return c.certificate
}

// through returns the sender of a request: a transport, or with a certificate, a transport that presents it.
func (c *credential) through(transport http.RoundTripper) (http.RoundTripper, error) {
	if c.ofConnection() == nil {
		return transport, nil
	}
	base, ok := transport.(*http.Transport)
	if !ok || base.DialContext == nil {
		return nil, errors.Configurationf("the calls here go through something that cannot prove itself with a certificate")
	}
	return c.config.Credentials.certified.transport(base, c.certificate), nil
}
