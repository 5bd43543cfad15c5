package swrun

import (
	"cmp"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"os"
	"strings"

	"golang.org/x/net/http/httpproxy"

	"github.com/swrun/swrun/errors"
	"github.com/swrun/swrun/tasks"
)

// ProxyNone is the value of Host.Proxy with which calls go through no proxy, whatever the environment specifies.
const ProxyNone = "none"

// proxies sets which proxy a request goes through. The control belongs to the network policy; nil allows everything.
func (h Host) proxies(c *tasks.TransportConfig, places storePlaces, control tasks.Control) error {
	switch {
	case h.Proxy == ProxyNone, h.Proxy == "" && control != nil:
		c.Proxy = func(*http.Request) (*url.URL, error) { return nil, nil }
		return nil
	case h.Proxy == "":
		c.Proxy = besideStore(places, http.ProxyFromEnvironment)
		return nil
	}
	proxy, err := url.Parse(h.Proxy)
	if err != nil || proxy.Hostname() == "" || proxy.Scheme != "http" && proxy.Scheme != "https" && proxy.Scheme != "socks5" {
		return &OptionError{"Proxy", fmt.Sprintf("must be none or the URL of a proxy such as http://proxy.example.com:3128, got %q", errors.MaskURL(h.Proxy))}
	}
	c.Proxy, c.Through = besideStore(places, named(proxy, control)), proxyAddress(proxy)
	return nil
}

// named finds a proxy that is named, except for the hosts that NO_PROXY excludes, as localhost always is. An address that the control refuses is
// dialled without the proxy, so that the control refuses it.
func named(proxy *url.URL, control tasks.Control) finding {
	find := (&httpproxy.Config{HTTPProxy: proxy.String(), HTTPSProxy: proxy.String(), NoProxy: cmp.Or(os.Getenv("NO_PROXY"), os.Getenv("no_proxy"))}).ProxyFunc()
	return func(r *http.Request) (*url.URL, error) {
		if address := proxyAddress(r.URL); address == proxyAddress(proxy) {
			return proxy, nil // only a proxy is dialled without a check by the control
		}
		if at, err := netip.ParseAddr(r.URL.Hostname()); err == nil && control != nil {
			network := map[bool]string{true: "tcp4", false: "tcp6"}[at.Unmap().Is4()]
			if control(network, proxyAddress(r.URL), nil) != nil {
				return nil, nil
			}
		}
		return find(r.URL)
	}
}

// proxyAddress returns the address at which a URL is dialled.
func proxyAddress(u *url.URL) string {
	port := cmp.Or(u.Port(), map[string]string{"http": "80", "https": "443", "socks5": "1080"}[u.Scheme])
	return net.JoinHostPort(strings.ToLower(u.Hostname()), port)
}
