// Package certtest has an authority that issues certificates to clients and servers of this machine, for tests and examples.
package certtest

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"time"
)

// Authority issues certificates, which are good for a day.
type Authority struct {
	PEM string // its own certificate

	certificate *x509.Certificate
	key         *ecdsa.PrivateKey
}

// New returns an authority that nobody knows. Others may have the same name.
func New(name string) (*Authority, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	a := &Authority{key: key, certificate: template(1, name)}
	a.certificate.IsCA, a.certificate.BasicConstraintsValid, a.certificate.KeyUsage = true, true, x509.KeyUsageCertSign
	a.PEM, err = a.sign(a.certificate, key)
	return a, err
}

func template(serial int64, name string) *x509.Certificate {
	now := time.Now()
	return &x509.Certificate{SerialNumber: big.NewInt(serial), Subject: pkix.Name{CommonName: name}, NotBefore: now.Add(-time.Hour), NotAfter: now.Add(24 * time.Hour)}
}

// sign returns a certificate of a key, as PEM.
func (a *Authority) sign(of *x509.Certificate, key *ecdsa.PrivateKey) (string, error) {
	der, err := x509.CreateCertificate(rand.Reader, of, a.certificate, key.Public(), a.key)
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})), err
}

// Issue returns a certificate for a client or server of some name, and its key, as PEM.
func (a *Authority) Issue(name string) (certificate, key string, err error) {
	own, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return "", "", err
	}
	of := template(2, name)
	of.IPAddresses, of.DNSNames = []net.IP{net.IPv4(127, 0, 0, 1)}, []string{"localhost"}
	of.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth, x509.ExtKeyUsageServerAuth}
	if certificate, err = a.sign(of, own); err != nil {
		return "", "", err
	}
	der, err := x509.MarshalPKCS8PrivateKey(own)
	return certificate, string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der})), err
}

// Secret returns a new client's certificate as policies take it: with its key, and the authority by which servers are trusted.
func (a *Authority) Secret(name string) (map[string]any, error) {
	certificate, key, err := a.Issue(name)
	return map[string]any{"certificate": certificate, "key": key, "authority": a.PEM}, err
}

// Server returns how a server speaks TLS that wants certificates of the authority.
func (a *Authority) Server() (*tls.Config, error) {
	certificate, key, err := a.Issue("server")
	if err != nil {
		return nil, err
	}
	pair, err := tls.X509KeyPair([]byte(certificate), []byte(key))
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM([]byte(a.PEM))
	return &tls.Config{MinVersion: tls.VersionTLS12, Certificates: []tls.Certificate{pair}, ClientAuth: tls.RequireAndVerifyClientCert, ClientCAs: pool}, err
}
