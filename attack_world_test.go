package swrun_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/net/dns/dnsmessage"

	"github.com/swrun/swrun"
)

// attackWorld contains the targets of the attacks and their helpers: a canary at every address of this machine, a hostile server at 127.0.0.2 that
// may be called, and a name server that resolves every name to this machine.
type attackWorld struct {
	port        string // of the canary
	connections atomic.Int64
	hostile     string       // the URL of the hostile server
	bomb        []byte       // the answer of /bomb
	folder      string       // a catalog that contains a link to a place outside of it
	store       *swrun.Store // in a Redis behind a guard; connections of others count as connections to the canary
	storePort   string       // of the guard
	asked       atomic.Int64
}

func newAttackWorld(t *testing.T) *attackWorld {
	t.Helper()
	w := &attackWorld{folder: t.TempDir(), bomb: zeros(64 << 20)}
	canary, err := net.Listen("tcp", ":0")
	if err != nil {
		t.Fatal(err)
	}
	_, w.port, _ = net.SplitHostPort(canary.Addr().String()) // a host and a port
	var listening sync.WaitGroup
	listening.Go(func() {
		for {
			conn, err := canary.Accept()
			if err != nil {
				return // the test is over
			}
			w.connections.Add(1)
			conn.Close() // no client may connect
		}
	})
	t.Cleanup(func() { canary.Close(); listening.Wait() })
	server := httptest.NewUnstartedServer(http.HandlerFunc(w.serve))
	server.Listener.Close() // the default listener has another address
	if server.Listener, err = net.Listen("tcp", "127.0.0.2:0"); err != nil {
		t.Fatal(err)
	}
	server.Start()
	t.Cleanup(server.Close)
	w.hostile = server.URL
	w.answerNames(t)
	functions := filepath.Join(w.folder, "functions", "link", "1.0.0")
	if err := os.MkdirAll(functions, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("/etc/passwd", filepath.Join(functions, "function.yaml")); err != nil {
		t.Fatal(err)
	}
	return w
}

// fill replaces the placeholders of addresses and folders in a text.
func (w *attackWorld) fill(text string) string {
	return strings.NewReplacer("@PORT", w.port, "@STORE", w.storePort, "@HOSTILE", w.hostile, "@FOLDER", w.folder, "@MARK", attackMark).Replace(text)
}

// zeros returns a gzip stream of size zero bytes.
func zeros(size int) []byte {
	var body bytes.Buffer
	w := gzip.NewWriter(&body)
	_, _ = w.Write(make([]byte, size)) // a buffer accepts every write
	_ = w.Close()
	return body.Bytes()
}

// serve is the hostile server. The last part of the path selects its behaviour.
func (w *attackWorld) serve(rw http.ResponseWriter, r *http.Request) {
	flush := http.NewResponseController(rw).Flush
	switch r.URL.Path {
	case "/redirect":
		var status int
		_, _ = fmt.Sscan(r.URL.Query().Get("status"), &status) // 0 is no status: the test would fail
		rw.Header().Set("Location", r.URL.Query().Get("to"))
		rw.WriteHeader(status)
	case "/bomb":
		rw.Header().Set("Content-Encoding", "gzip")
		_, _ = rw.Write(w.bomb) // the client may have disconnected
	case "/drip":
		for now := time.NewTicker(20 * time.Millisecond); r.Context().Err() == nil; <-now.C {
			_, _ = io.WriteString(rw, "x") // the client may have disconnected
			_ = flush()
		}
	case "/endless":
		rw.Header().Set("Content-Length", "10737418240")
		_ = flush()
	case "/headers":
		for i := range 100_000 {
			rw.Header().Set(fmt.Sprintf("X-%d", i), "some value")
		}
	case "/unauthorized":
		rw.Header().Set("WWW-Authenticate", fmt.Sprintf(`Bearer resource_metadata="http://127.0.0.1:%s/", authorization_endpoint="http://127.0.0.1:%[1]s/$(touch x)"`, w.port))
		rw.WriteHeader(http.StatusUnauthorized)
	default:
		body, _ := io.ReadAll(r.Body) // the test sees a broken body
		rw.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(rw, `{"host": %q, "body": %q, "key": %q, "encoding": %q}`, r.Host, body, r.Header.Get("Idempotency-Key"), strings.Join(r.TransferEncoding, ","))
	}
}

// answerNames answers for all names as a hostile name server: with this machine, or with the metadata service. A name that rebinds resolves to
// another address the first time, and a mixed name resolves to both addresses.
func (w *attackWorld) answerNames(t *testing.T) {
	t.Helper()
	conn, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var answering sync.WaitGroup
	answering.Go(func() {
		buffer := make([]byte, 512)
		for {
			n, from, err := conn.ReadFrom(buffer)
			if err != nil {
				return // the test is over
			}
			var m dnsmessage.Message
			if m.Unpack(buffer[:n]) == nil && len(m.Questions) == 1 {
				m.Response, m.Authoritative, m.Additionals = true, true, nil
				m.Answers = w.answers(m.Questions[0])
				answer, _ := m.Pack() // a message that was parsed can be packed
				_, _ = conn.WriteTo(answer, from)
			}
		}
	})
	known := net.DefaultResolver
	net.DefaultResolver = &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "udp", conn.LocalAddr().String())
	}}
	t.Cleanup(func() { net.DefaultResolver = known; conn.Close(); answering.Wait() })
}

// answers returns the addresses of a name.
func (w *attackWorld) answers(q dnsmessage.Question) (all []dnsmessage.Resource) {
	asked := w.asked.Add(1)
	add := func(text string) {
		address := netip.MustParseAddr(text)
		header := dnsmessage.ResourceHeader{Name: q.Name, Type: q.Type, Class: q.Class} // with a time to live of zero
		switch {
		case address.Is4() && q.Type == dnsmessage.TypeA:
			all = append(all, dnsmessage.Resource{Header: header, Body: &dnsmessage.AResource{A: address.As4()}})
		case address.Is6() && q.Type == dnsmessage.TypeAAAA:
			all = append(all, dnsmessage.Resource{Header: header, Body: &dnsmessage.AAAAResource{AAAA: address.As16()}})
		}
	}
	const elsewhere = "203.0.113.7" // an address that no machine uses
	switch name := q.Name.String(); {
	case strings.HasPrefix(name, "metadata."):
		add("169.254.169.254")
	case strings.HasPrefix(name, "mixed."):
		add(elsewhere)
		add("127.0.0.1")
	case strings.HasPrefix(name, "rebinds.") && asked%2 == 1:
		add(elsewhere)
	default:
		add("127.0.0.1")
		add("::1")
	}
	return all
}

// TestDenyAsksForNoName: if the network policy is deny, no name is looked up, so that a name server learns nothing.
func TestDenyAsksForNoName(t *testing.T) {
	w := newAttackWorld(t)
	a := attack{host: attackHost{Network: swrun.NetworkDeny}, world: w, files: map[string]string{"refused.err": `{"type": "configuration", "status": 400, "detail": "the network policy is deny"}`}}
	a.visit(t, "http://s3cret.example.com/")
	a.visit(t, "https://s3cret.example.com/")
	if n := w.asked.Load(); n > 0 {
		t.Errorf("names were looked up %d times", n)
	}
}
