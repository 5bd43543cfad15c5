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
	stamps [2]stamp  // of the loaded files
	looked time.Time // time of the last check of the files
}

// stamp distinguishes versions of a file.
type stamp struct {
	at   time.Time
	size int64
}

// lookEvery is the minimum time between two checks for replaced files.
const lookEvery = time.Second

// TLSFiles returns a configuration of TLS with a certificate and its key in PEM files. The files are read again when they are replaced. If they
// cannot be read then, the error is logged, and the former certificate stays in use.
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

// reload reads changed files. They may be replaced one after the other: the former files stay in use until the new ones fit together.
func (c *certificate) reload() {
	if err := c.load(); err != nil {
		c.log.Error("the certificate was replaced by one that cannot be used; the former one stays", "error", err)
		return
	}
	c.log.Info("the certificate was replaced", "file", c.certFile)
}
