// Command certificate serves clients with a certificate of its authority. It makes one for examples/authentication_certificate.yaml.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/signal"
	"path/filepath"

	"github.com/swrun/swrun/internal/certtest"
)

func main() {
	fmt.Fprintln(os.Stderr, serve())
	os.Exit(1)
}

func serve() error {
	authority, err := certtest.New("authority")
	if err != nil {
		return err
	}
	settings, err := authority.Server()
	if err != nil {
		return err
	}
	client, err := authority.Secret("ada")
	if err != nil {
		return err
	}
	text, err := json.Marshal(map[string]any{"client": client})
	if err != nil {
		return err
	}
	folder, err := os.MkdirTemp("", "swrun-certificate-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(folder)
	file := filepath.Join(folder, "secrets.json")
	if err := os.WriteFile(file, text, 0o600); err != nil {
		return err
	}
	fmt.Println("swrun run examples/authentication_certificate.yaml --secrets", file)
	server := &http.Server{Addr: "localhost:8098", TLSConfig: settings, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintf(w, "Hello, %s", r.TLS.PeerCertificates[0].Subject.CommonName)
	})}
	ctx, done := signal.NotifyContext(context.Background(), os.Interrupt)
	defer done()
	context.AfterFunc(ctx, func() { _ = server.Close() }) // so that the folder with the key is removed
	return server.ListenAndServeTLS("", "")
}
