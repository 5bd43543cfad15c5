package main

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/hex"
	"encoding/pem"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/swrun/swrun/internal/pacetest"
)

// told is a stream that others may read while it is written.
type told struct {
	mu    sync.Mutex
	b     bytes.Buffer
	lines chan struct{} // signals a write
}

func (w *told) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	select {
	case w.lines <- struct{}{}:
	default:
	}
	return w.b.Write(p)
}

func (w *told) String() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.b.String()
}

// serving is a swrun serve that runs in this process.
type serving struct {
	url     string
	err     *told
	stop    func() int // hands over, and returns the exit code
	hangups chan os.Signal
}

var listeningOn = regexp.MustCompile(`listening on (https?://\S+)`)

// serve starts swrun serve on a free port of this machine, and waits until it listens.
func (h *hosted) serve(args ...string) *serving {
	h.Helper()
	return h.listening(append([]string{"serve", "--listen", "127.0.0.1:0"}, args...)...)
}

// listening starts a command, and waits until it listens.
func (h *hosted) listening(args ...string) *serving {
	h.Helper()
	c := capture(map[string]string{"SWRUN_STORE": h.url, "OTEL_EXPORTER_OTLP_ENDPOINT": os.Getenv("OTEL_EXPORTER_OTLP_ENDPOINT")})
	signals, said, ended := make(chan os.Signal, 1), &told{lines: make(chan struct{}, 1)}, make(chan int, 1)
	c.streams.err, c.streams.now = said, time.Now
	c.streams.signals = func() (<-chan os.Signal, func()) { return signals, func() {} }
	hangups := make(chan os.Signal, 1)
	c.streams.hangups = func() (<-chan os.Signal, func()) { return hangups, func() {} }
	go func() { ended <- run(args, c.streams) }()
	s := &serving{err: said, hangups: hangups, stop: sync.OnceValue(func() int {
		signals <- syscall.SIGTERM
		return <-ended
	})}
	for s.url == "" {
		select {
		case <-said.lines:
			if found := listeningOn.FindStringSubmatch(said.String()); found != nil {
				s.url = found[1]
			}
		case code := <-ended:
			h.Fatalf("it ended with %d: %s", code, said)
		}
	}
	h.Cleanup(func() { s.stop() })
	if servesFolder(args) {
		said.until(h.T, "the documents of the folders are deployed")
	}
	return s
}

// servesFolder reports whether a command serves a folder.
func servesFolder(args []string) bool {
	for n, arg := range args[1:] {
		if info, err := os.Stat(arg); err == nil && info.IsDir() && args[n] != "--secrets" {
			return args[0] == "serve"
		}
	}
	return false
}

// TestServeWithTokensOverTLS: a real server with a certificate, which is replaced while it serves, asks for tokens that were made before.
func TestServeWithTokensOverTLS(t *testing.T) {
	h := &hosted{t, "file:" + filepath.Join(t.TempDir(), "runs.db")}
	token := strings.TrimSpace(h.exits(exitOK, "token", "new", "ada", "--role", "viewer", "-n", "demo"))
	folder := t.TempDir()
	cert, key := filepath.Join(folder, "cert.pem"), filepath.Join(folder, "key.pem")
	first := writeCertificate(t, cert, key, 1)
	s := h.serve("--auth", "--tls-cert", cert, "--tls-key", key)
	if !strings.HasPrefix(s.url, "https://") {
		t.Fatalf("it listens on %s", s.url)
	}
	ask := func(root *x509.Certificate, authorization string) (*http.Response, error) {
		roots := x509.NewCertPool()
		roots.AddCert(root)
		client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots}, DisableKeepAlives: true, ForceAttemptHTTP2: true}}
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.url+"/openapi.json", nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Authorization", authorization)
		response, err := client.Do(r)
		if err == nil {
			response.Body.Close()
		}
		return response, err
	}
	for authorization, want := range map[string]int{"Bearer " + token: 200, "Bearer " + token + "x": 401, "": 401} {
		if r, err := ask(first, authorization); err != nil || r.StatusCode != want || r.ProtoMajor != 2 || r.Header.Get("Strict-Transport-Security") == "" {
			t.Errorf("%.12q: got %v, %v", authorization, r, err)
		}
	}
	old := &tls.Config{InsecureSkipVerify: true, MinVersion: tls.VersionTLS10, MaxVersion: tls.VersionTLS11}
	if c, err := tls.Dial("tcp", strings.TrimPrefix(s.url, "https://"), old); err == nil {
		c.Close()
		t.Error("it speaks TLS 1.1")
	}
	stop := askAllTheTime(t, s.url)
	second := writeCertificate(t, cert, key, 2)
	eventually(t, "the replaced certificate is served", func() bool { _, err := ask(second, "Bearer "+token); return err == nil })
	if err := os.WriteFile(cert, []byte("no certificate"), 0o600); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the log tells of what cannot be used", func() bool {
		if _, err := ask(second, "Bearer "+token); err != nil {
			t.Fatalf("the former certificate has gone: %v", err)
		}
		return strings.Contains(s.err.String(), "the certificate was replaced by one that cannot be used; the former one stays")
	})
	third := writeCertificate(t, cert, key, 3)
	eventually(t, "the mended certificate is served", func() bool { _, err := ask(third, "Bearer "+token); return err == nil })
	if failed := stop(); len(failed) > 0 {
		t.Errorf("connections failed meanwhile: %v", failed)
	}
	if code := s.stop(); code != exitOK && code != exitTerminate {
		t.Errorf("it ended with %d: %s", code, s.err)
	}
	if strings.Contains(s.err.String(), strings.TrimPrefix(token, "swrun_ada_")) {
		t.Error("the log has the token")
	}
}

// eventually polls until is returns true.
func eventually(t *testing.T, what string, is func() bool) {
	t.Helper()
	for deadline := time.Now().Add(pacetest.Patience); !is(); {
		if time.Now().After(deadline) {
			t.Fatalf("it is not so that %s", what)
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// askAllTheTime makes one connection after the other, with any certificate, until the returned function is called, which returns the first errors.
func askAllTheTime(t *testing.T, url string) (stop func() []error) {
	t.Helper()
	var failed []error
	asking, ask := make(chan struct{}), sync.WaitGroup{}
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, DisableKeepAlives: true}}
	ask.Go(func() {
		for len(failed) < 5 {
			select {
			case <-asking:
				return
			default:
			}
			response, err := client.Get(url + "/livez")
			if err != nil {
				failed = append(failed, err)
				continue
			}
			response.Body.Close()
		}
	})
	return func() []error { close(asking); ask.Wait(); return failed }
}

// writeCertificate writes a certificate of this machine, which signs itself, and its key.
func writeCertificate(t *testing.T, cert, key string, serial int64) *x509.Certificate {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(serial), Subject: pkix.Name{CommonName: "swrun"}, NotAfter: time.Now().Add(time.Hour), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, private.Public(), private)
	if err != nil {
		t.Fatal(err)
	}
	keyDER, err := x509.MarshalECPrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	for file, block := range map[string]*pem.Block{cert: {Type: "CERTIFICATE", Bytes: der}, key: {Type: "EC PRIVATE KEY", Bytes: keyDER}} {
		if err := os.WriteFile(file, pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	made, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	return made
}

// TestServeTraces: a server exports the spans of its runs as OTLP, in the trace of the request that started them, and passes the trace to calls of tasks.
func TestServeTraces(t *testing.T) {
	exported, _ := newCollector(t)
	called := make(chan string, 1)
	callee := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { called <- r.Header.Get("Traceparent") }))
	defer callee.Close()
	folder := t.TempDir()
	document := "document: {dsl: 1.0.3, namespace: demo, name: calls, version: 1.0.0}\ndo: [{there: {call: http, with: {method: get, endpoint: '" + callee.URL + "'}}}]"
	if err := os.WriteFile(filepath.Join(folder, "calls.yaml"), []byte(document), 0o600); err != nil {
		t.Fatal(err)
	}
	h := &hosted{t, "file:" + filepath.Join(t.TempDir(), "runs.db")}
	s := h.serve("--network", "any", folder)
	const trace = "0af7651916cd43dd8448eb211c80319c"
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.url+"/v1/runs", strings.NewReader(`{"workflow":"demo/calls"}`))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Traceparent", "00-"+trace+"-b7ad6b7169203331-01")
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	answer.Body.Close()
	carried := <-called
	if answer.StatusCode != 201 || !strings.HasPrefix(carried, "00-"+trace+"-") || strings.Contains(carried, "b7ad6b7169203331") {
		t.Errorf("started with %d; the call carried %q", answer.StatusCode, carried)
	}
	if code := s.stop(); code != exitOK && code != exitTerminate {
		t.Errorf("it ended with %d: %s", code, s.err)
	}
	id, err := hex.DecodeString(trace)
	if err != nil {
		t.Fatal(err)
	}
	span, err := hex.DecodeString(strings.Split(carried, "-")[2])
	if err != nil {
		t.Fatal(err)
	}
	for what, part := range map[string]string{"the trace": string(id), "the span of the call": string(span), "the name of the task": "there"} {
		if !strings.Contains(exported.String(), part) {
			t.Errorf("%s was not exported: %q", what, exported)
		}
	}
}
