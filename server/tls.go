package server

import (
	"crypto/tls"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"time"
)

// certificate is a certificate and its key in files, which may be replaced while a server runs.
type certificate struct {
	certFile, keyFile string
	log               *slog.Logger
	now               func() time.Time

	mu     sync.Mutex
	loaded *tls.Certificate
	stamps [2]stamp  // of the files that were loaded
	looked time.Time // at the files
}

// stamp tells versions of a file apart.
type stamp struct {
	at   time.Time
	size int64
}

// lookEvery is how often connections look whether the files were replaced.
const lookEvery = time.Second

// TLSFiles returns how to serve TLS with a certificate and its key in PEM files. They are read again when they are replaced; if they cannot
// be read then, that is logged, and the former certificate stays.
func TLSFiles(certFile, keyFile string, log *slog.Logger, now func() time.Time) (*tls.Config, error) {
	c := &certificate{certFile: certFile, keyFile: keyFile, log: log, now: now}
	if err := c.load(); err != nil {
		return nil, err
	}
	return &tls.Config{MinVersion: tls.VersionTLS12, NextProtos: []string{"h2", "http/1.1"}, GetCertificate: c.current}, nil
}

// load reads the files.
func (c *certificate) load() error {
	stamps, err := c.stampsNow()
	if err != nil {
		return err
	}
	loaded, err := tls.LoadX509KeyPair(c.certFile, c.keyFile)
	if err != nil {
		return fmt.Errorf("the certificate %s with the key %s cannot be used: %w", c.certFile, c.keyFile, err)
	}
	c.loaded, c.stamps, c.looked = &loaded, stamps, c.now()
	return nil
}

func (c *certificate) stampsNow() (stamps [2]stamp, err error) {
	for n, file := range [2]string{c.certFile, c.keyFile} {
		info, err := os.Stat(file)
		if err != nil {
			return stamps, err
		}
		stamps[n] = stamp{info.ModTime(), info.Size()}
	}
	return stamps, nil
}

// current returns the certificate for a new connection.
func (c *certificate) current(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if now := c.now(); now.Sub(c.looked) >= lookEvery {
		c.looked = now
		if stamps, err := c.stampsNow(); err != nil || stamps != c.stamps {
			c.reload()
		}
	}
	return c.loaded, nil
}

// reload reads files that have changed. They may be replaced one after the other: until both fit, the former ones stay.
func (c *certificate) reload() {
	if err := c.load(); err != nil {
		c.log.Error("the certificate was replaced by one that cannot be used; the former one stays", "error", err)
		return
	}
	c.log.Info("the certificate was replaced", "file", c.certFile)
}
