package main

import "testing"

// TestUnusedProxies: a proxy of the environment that calls do not use is reported.
func TestUnusedProxies(t *testing.T) {
	env := func(set string) func(string) (string, bool) {
		return func(name string) (string, bool) {
			return map[string]string{set: "http://proxy:3128"}[name], name == set
		}
	}
	for _, c := range []struct{ network, proxy, set, want string }{
		{"public", "", "", ""}, {"public", "", "HTTP_PROXY", "HTTP_PROXY"}, {"10.0.0.0/8", "", "https_proxy", "https_proxy"},
		{"any", "", "HTTP_PROXY", ""}, {"deny", "", "HTTP_PROXY", ""}, {"public", "none", "HTTP_PROXY", ""}, {"public", "http://other:1", "HTTP_PROXY", ""},
	} {
		if got := (&hostFlags{resourceFlags: resourceFlags{network: c.network, proxy: c.proxy}}).unusedProxy(env(c.set)); got != c.want {
			t.Errorf("%+v: %q", c, got)
		}
	}
}
