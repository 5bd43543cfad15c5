package redisstore_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"log/slog"
	"math/big"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/swrun/swrun/redisstore"
	"github.com/swrun/swrun/redisstore/redistest"
	"github.com/swrun/swrun/runtime/store"
)

// TestURLs: an invalid URL is refused before any server is contacted, and no password is shown.
func TestURLs(t *testing.T) {
	for url, want := range map[string]string{
		"":                               "must begin with",
		" ":                              "must begin with",
		"localhost:6379":                 "must begin with",
		"http://localhost":               "must begin with",
		"redis:":                         "names no host",
		"redis:localhost:6379":           "names no host",
		"redis:/localhost":               "names no host",
		"redis://":                       "names no host",
		"redis://:6379":                  "names no host",
		"redis://:geheim@":               "names no host",
		"redis://localhost:0":            "port",
		"redis://localhost:65536":        "port",
		"redis://localhost:abc":          "cannot be read",
		"redis://:geheim/x@localhost":    "cannot be read",
		"redis://:geheim%zz@localhost":   "cannot be read",
		"redis://:a#geheim@localhost":    "cannot be read",
		"redis://localhost#1":            "%23",
		"redis://localhost/x":            "database",
		"redis://localhost/-1":           "database",
		"redis://localhost/0/1":          "database",
		"redis://localhost/99999999999":  "database",
		"redis+cluster://localhost/1":    "database",
		"redis://localhost?partitions=0": "partitions",
		"redis://localhost?partitions=":  "partitions",
		"redis://localhost?deployment=":  "deployment",
		"redis://localhost?password=x":   "unexpected option",
		"redis://localhost?a=%zz":        "cannot be read",
	} {
		_, err := redisstore.Open(t.Context(), url, redisstore.Config{})
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "geheim") {
			t.Errorf("%q: %v", url, err)
		}
	}
}

// certificate writes a certificate and its key, and returns their files.
func certificate(t *testing.T) (certificate, key string) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour), DNSNames: []string{"localhost"}}
	made, err := x509.CreateCertificate(rand.Reader, template, template, &private.PublicKey, private)
	if err != nil {
		t.Fatal(err)
	}
	secret, err := x509.MarshalECPrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	write := func(name, kind string, data []byte) string {
		path := filepath.Join(t.TempDir(), name)
		if err := os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: data}), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	return write("certificate", "CERTIFICATE", made), write("key", "EC PRIVATE KEY", secret)
}

// TestEncryptedOrNot: a connection with the wrong encryption setting fails immediately with the right one in the error.
func TestEncryptedOrNot(t *testing.T) {
	plain := redistest.Start(t)
	_, err := redisstore.Open(t.Context(), strings.Replace(plain.URL(), "redis:", "rediss:", 1), redisstore.Config{})
	if err == nil || !strings.Contains(err.Error(), "does not encrypt") {
		t.Errorf("rediss to a plain server: %v", err)
	}
	made, key := certificate(t)
	for _, clients := range []string{"no", "yes"} { // whether it wants a certificate of them
		port := redistest.FreePort(t)
		redistest.Start(t, "--tls-port", port, "--tls-cert-file", made, "--tls-key-file", key, "--tls-ca-cert-file", made, "--tls-auth-clients", clients)
		_, err = redisstore.Open(t.Context(), "redis://127.0.0.1:"+port, redisstore.Config{})
		if err == nil || !strings.Contains(err.Error(), "encrypts connections") {
			t.Errorf("redis to an encrypting server: %v", err)
		}
		_, err = redisstore.Open(t.Context(), "rediss://localhost:"+port, redisstore.Config{})
		if err == nil || !strings.Contains(err.Error(), "certificate") {
			t.Errorf("a server whose certificate nobody vouches for: %v", err)
		}
	}
}

// TestSilenceIsTold: the log reports an unresponsive server during the wait, and its recovery. A new silence soon after that is reported
// only if it lasts longer.
func TestSilenceIsTold(t *testing.T) {
	server := redistest.Start(t)
	told := make(notes, 100)
	s := mustOpen(t, server.URL(), redisstore.Config{Log: slog.New(slog.NewTextHandler(told, nil))})
	for _, after := range []string{"700ms", "1.4s"} {
		if err := syscall.Kill(server.Process(), syscall.SIGSTOP); err != nil {
			t.Fatal(err)
		}
		done := make(chan error, 1)
		go func() {
			_, err := s.Load(t.Context(), store.Instance{Namespace: "test", ID: "a"})
			done <- err
		}()
		if text := <-told; !strings.Contains(text, `level=ERROR msg="the store does not answer`) || !strings.Contains(text, "no answer for "+after) {
			t.Errorf("told %s", text)
		}
		if err := syscall.Kill(server.Process(), syscall.SIGCONT); err != nil {
			t.Fatal(err)
		}
		if text := <-told; !strings.Contains(text, `level=INFO msg="the store answers again"`) {
			t.Errorf("told %s", text)
		}
		if err := <-done; store.RefusedAs(err) != store.NoSuch {
			t.Error(err)
		}
	}
}

// notes are the logged messages.
type notes chan string

func (n notes) Write(text []byte) (int, error) { n <- string(text); return len(text), nil }
