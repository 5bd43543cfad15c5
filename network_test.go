package swrun

import (
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/swrun/swrun/errors"
)

// TestACallThatIsNotAllowed: a forbidden call is an error of the configuration, which no retry repairs.
func TestACallThatIsNotAllowed(t *testing.T) {
	d, err := Parse("", []byte("document: {dsl: 1.0.3, namespace: test, name: a, version: 1.0.0}\n"+
		"do: [{a: {call: http, with: {method: get, endpoint: 'http://127.0.0.1:1/x?token=k'}}}]\n"))
	if err != nil {
		t.Fatal(err)
	}
	_, err = d.Run(t.Context(), nil, RunConfig{Host: Host{Network: NetworkPublic}})
	fault := errors.AsError(err)
	want := "GET http://127.0.0.1:1/x: 127.0.0.1:1 may not be called here: the network policy is public; "
	if fault == nil || !errors.Same(fault.Type, errors.Configuration) || !strings.HasPrefix(fault.Detail, want) || fault.Extensions["request"] == nil {
		t.Errorf("got %v, want a configuration error: %s", err, want)
	}
}

// TestNetworkPolicies: the policy applies to the address that the transport dials, however that address is written or reached (reliability B32 to
// B35, B37, B38).
func TestNetworkPolicies(t *testing.T) {
	var reached atomic.Int64
	private := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		reached.Add(1)
		if r.URL.Path == "/redirect" {
			http.Redirect(w, r, "http://169.254.169.254/latest", http.StatusFound)
		}
	}))
	defer private.Close()
	port := private.URL[strings.LastIndexByte(private.URL, ':'):]
	for _, c := range []struct {
		policy, url string
		allowed     bool
	}{
		{NetworkAny, private.URL, true},
		{NetworkDeny, private.URL, false},
		{NetworkDeny, "http://192.0.2.1" + port, false},
		{NetworkPublic, private.URL, false},
		{NetworkPublic, "http://localhost" + port, false},
		{NetworkPublic, "http://[::1]" + port, false},
		{NetworkPublic, "http://[::ffff:127.0.0.1]" + port, false},
		{NetworkPublic, "http://[64:ff9b::7f00:1]" + port, false},
		{NetworkPublic, "http://0" + port, false},
		{NetworkPublic, "http://[::ffff:7f00:1]" + port, false},
		{NetworkPublic, "http://[::127.0.0.1]" + port, false},
		{NetworkPublic, "http://[fe80::1%25lo]" + port, false},
		{NetworkPublic, "http://[fd00:ec2::254]" + port, false},
		{NetworkPublic, "http://[2002:7f00:1::]" + port, false},
		{NetworkPublic, "http://ok@127.0.0.1" + port, false},
		{NetworkPublic, "http://127.0.0.1" + port + "#@ok", false},
		{NetworkPublic, "http://127.0.0.1" + port + "/\\\\ok", false},
		{NetworkPublic, "http://224.0.0.1", false},
		{NetworkPublic, "http://169.254.169.254", false},
		{NetworkPublic, "http://10.0.0.1", false},
		{NetworkPublic, "http://100.100.100.200", false},
		{"127.0.0.0/8", private.URL, true},
		{"public,127.0.0.0/8", private.URL, true},
		{"127.0.0.0/8", private.URL + "/redirect", false},
		{"10.0.0.0/8", private.URL, false},
	} {
		e, err := Host{Network: c.policy}.environment(1, nil)
		if err != nil {
			t.Fatal(err)
		}
		before := reached.Load()
		response, err := (&http.Client{Transport: e.transport}).Get(c.url)
		if err == nil {
			response.Body.Close() // nothing is read
		}
		if (err == nil) != c.allowed {
			t.Errorf("%s with %s: %v", c.url, c.policy, err)
		}
		if err != nil && c.url != "http://0"+port && !strings.Contains(err.Error(), "; --network any") {
			t.Errorf("%s with %s: %v does not say what to do", c.url, c.policy, err)
		}
		if !c.allowed && !strings.HasSuffix(c.url, "/redirect") && reached.Load() != before {
			t.Errorf("%s with %s was reached", c.url, c.policy)
		}
	}
}

// TestHintsOfPolicies: the error of a refused address contains a policy that would allow it.
func TestHintsOfPolicies(t *testing.T) {
	for policy, want := range map[string]string{
		NetworkDeny:   "; --network any allows it, ",
		NetworkPublic: "; --network any or 127.0.0.1/32 allows it, ",
		"10.0.0.0/8":  "; --network any or 10.0.0.0/8,127.0.0.1/32 allows it, ",
	} {
		if err := notAllowed("127.0.0.1:80", policy); !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", policy, err, want)
		}
	}
	if err := notAllowed("[fe80::1%eth0]:80", NetworkPublic); !strings.Contains(err.Error(), "any or fe80::1/128 allows it, ") {
		t.Error(err)
	}
	if _, err := (Host{Network: "everything"}).environment(1, nil); err == nil {
		t.Error("a policy that does not exist was taken")
	}
}

// storeAt is a store with one address.
type storeAt struct{ netip.AddrPort }

// Serves implements storePlaces.
func (s storeAt) Serves(at netip.AddrPort) bool { return at == s.AddrPort }

// Listens implements storePlaces.
func (s storeAt) Listens(port uint16) bool { return port == s.Port() }

// TestProxiesBesideAStore: a store does not change the proxies of calls, except of calls to the store.
func TestProxiesBesideAStore(t *testing.T) {
	proxy := &url.URL{Scheme: "http", Host: "proxy.test:3128"}
	places := storeAt{netip.MustParseAddrPort("203.0.113.8:6379")}
	find := besideStore(places, func(*http.Request) (*url.URL, error) { return proxy, nil })
	for uri, want := range map[string]*url.URL{
		"http://203.0.113.7/": proxy, "http://203.0.113.8/": proxy, "http://203.0.113.7:6379/": proxy, "http://203.0.113.8:6379/": nil, "https://[::ffff:203.0.113.8]:6379/": nil,
	} {
		request, err := http.NewRequest(http.MethodGet, uri, nil)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := find(request); err != nil || got != want {
			t.Errorf("%s: %v, %v", uri, got, err)
		}
	}
	if err := withoutStore(places, nil)("tcp4", "203.0.113.8:6379", nil); err == nil || !strings.Contains(err.Error(), "stored there") {
		t.Error(err)
	}
}
