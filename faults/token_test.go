package faults

import (
	"encoding/json"
	"encoding/pem"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/swrun/swrun/internal/oauthtest"
	"github.com/swrun/swrun/internal/pacetest"
	"github.com/swrun/swrun/interpreter"
	"github.com/swrun/swrun/redact/redacttest"
)

const withToken = `do:
- pay:
    call: http
    with:
      method: post
      body: {amount: 3}
      endpoint:
        uri: '@SERVICE/payments'
        authentication: {oauth2: {authority: '@AUTHORITY', grant: client_credentials, client: {id: app, secret: s3cret-of-the-app}}}
`

// issuing is an authority that records the tokens that it issues.
type issuing struct {
	*oauthtest.Server
	mu     sync.Mutex
	tokens []string
}

func startIssuing(t *testing.T) *issuing {
	t.Helper()
	i := &issuing{}
	server := httptest.NewServer(i)
	t.Cleanup(server.Close)
	i.Server = oauthtest.New(server.URL, map[string]oauthtest.Client{"app": {Secret: "s3cret-of-the-app"}})
	return i
}

func (i *issuing) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	answer := httptest.NewRecorder()
	i.Handler().ServeHTTP(answer, r)
	var granted struct {
		Token string `json:"access_token"`
	}
	if json.Unmarshal(answer.Body.Bytes(), &granted) == nil && granted.Token != "" {
		i.mu.Lock()
		i.tokens = append(i.tokens, granted.Token)
		i.mu.Unlock()
	}
	w.Header().Set("Content-Type", answer.Header().Get("Content-Type"))
	w.WriteHeader(answer.Code)
	_, _ = w.Write(answer.Body.Bytes()) // the client may have disconnected
}

// issued returns the tokens as texts for a search.
func (i *issuing) issued() map[string]any {
	i.mu.Lock()
	defer i.mu.Unlock()
	all := map[string]any{}
	for _, token := range i.tokens {
		all["token "+token[:10]] = token
	}
	return all
}

// TestTokens (F1): a worker is killed when it has a token, and before the service receives it. The next worker gets a token of its own, and the
// service receives the same attempt at the same call; neither token is in the store or in a log.
func TestTokens(t *testing.T) {
	w := newWorld(t, 0, redacttest.Redis()...)
	authority := startIssuing(t)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	got := make(chan *http.Request, 10)
	service := httptest.NewUnstartedServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { got <- r }))
	service.Listener.Close() // it gets another listener
	service.Listener = listener
	t.Setenv("SSL_CERT_FILE", certificateFile(t))
	w.start(1, strings.NewReplacer("@AUTHORITY", authority.Issuer, "@SERVICE", "https://"+listener.Addr().String()).Replace(withToken))
	first := w.work("--log-level", "debug")
	conn, err := listener.Accept() // after it got the token, the worker connects, and waits for the certificate of the service
	if err != nil {
		t.Fatal(err)
	}
	time.Sleep(200 * time.Millisecond) // until all data in flight is stored
	if n := len(authority.issued()); n != 1 {
		t.Fatalf("%d tokens are issued: nothing is tested", n)
	}
	first.kill()
	conn.Close()
	service.StartTLS()
	t.Cleanup(service.Close)
	w.work("--log-level", "debug")
	w.settle(pacetest.Patience)
	w.audit(interpreter.StatusCompleted, nil)
	if len(got) != 1 {
		t.Fatalf("the service got %d requests", len(got))
	}
	only := <-got
	if attempt := only.Header.Get("X-Swrun-Attempt"); attempt != "2" || only.Header.Get("Idempotency-Key") == "" {
		t.Errorf("it is attempt %s: %v", attempt, only.Header)
	}
	if claims, err := authority.Verify(only.Header.Get("Authorization")); err != nil || claims.Number != 2 {
		t.Errorf("it came with token %d: %v", claims.Number, err)
	}
	search := redacttest.For(authority.issued())
	if err := w.redisClient().Save(t.Context()).Err(); err != nil {
		t.Fatal(err)
	}
	search.AbsentBelow(t, w.redis.Folder())
	for _, k := range w.workers {
		search.Absent(t, "a log", strings.Join(k.everything(), "\n"))
	}
}

// certificateFile returns a file with the certificate of all servers that tests start.
func certificateFile(t *testing.T) string {
	t.Helper()
	server := httptest.NewTLSServer(nil)
	defer server.Close()
	file := filepath.Join(t.TempDir(), "certificate.pem")
	if err := os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}
