package swrun

import (
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/swrun/swrun/errors"
)

// TestProxies: the requests that a proxy receives, by the network policy and by the source of its name.
func TestProxies(t *testing.T) {
	for _, name := range []string{"HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy", "NO_PROXY", "no_proxy"} {
		t.Setenv(name, "")
	}
	var asked atomic.Value
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked.Store(r.Method + " " + r.Host)
		if r.Method == http.MethodConnect {
			w.WriteHeader(http.StatusForbidden)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"by":"proxy"}`)
	}))
	defer proxy.Close()
	_, port, err := net.SplitHostPort(proxy.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name, network, proxy, endpoint string
		wantAsked, wantErr             string
	}{
		{"named, where only public addresses are allowed", "public", proxy.URL, "http://nowhere.invalid/a", "GET nowhere.invalid", ""},
		{"named, for TLS", "public", proxy.URL, "https://nowhere.invalid/a", "CONNECT nowhere.invalid:443", "Forbidden"},
		{"named, where everything is allowed", "any", proxy.URL, "http://nowhere.invalid/a", "GET nowhere.invalid", ""},
		{"named, and the address is not allowed", "public", proxy.URL, "http://10.1.2.3/a", "", "may not be called here"},
		{"named, and the address is allowed", "10.1.2.0/24", proxy.URL, "http://10.1.2.3/a", "GET 10.1.2.3", ""},
		{"named, and nothing is allowed", "deny", proxy.URL, "http://nowhere.invalid/a", "", "may not be called here"},
		{"named, and itself called", "public", proxy.URL, "http://127.0.0.1:" + port + "/a", "GET 127.0.0.1:" + port, ""},
		{"none", "any", "none", "http://nowhere.invalid/a", "", "nowhere.invalid"},
		{"not said", "public", "", "http://nowhere.invalid/a", "", "nowhere.invalid"},
	} {
		t.Run(c.name, func(t *testing.T) {
			asked.Store("")
			d, err := Parse("a.yaml", []byte("document: {dsl: 1.0.3, namespace: a, name: a, version: 1.0.0}\ndo: [{a: {call: http, with: {method: get, endpoint: '"+c.endpoint+"'}}}]\n"))
			if err != nil {
				t.Fatal(err)
			}
			text := ""
			if _, err := d.Run(t.Context(), nil, RunConfig{Host: Host{Network: c.network, Proxy: c.proxy}}); err != nil {
				text = err.Error()
			}
			if asked.Load() != c.wantAsked || (text == "") != (c.wantErr == "") || !strings.Contains(text, c.wantErr) {
				t.Errorf("the proxy was asked for %q, and the run ends with %q", asked.Load(), text)
			}
		})
	}
	for _, wrong := range []string{"proxy:3128", "ftp://proxy", "http://", "//proxy", "http://a b", "off"} {
		var option *OptionError
		if err := (Host{Proxy: wrong}).Check(); !errors.As(err, &option) || option.Option != "Proxy" {
			t.Errorf("%q: %v", wrong, err)
		}
	}
}
