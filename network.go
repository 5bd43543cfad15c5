package swrun

import (
	"cmp"
	"context"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"code.dny.dev/ssrf"

	"github.com/swrun/swrun/tasks"
)

// The values of Host.Network besides prefixes. The policy applies to the dialled address, also for names that resolve to another address, and for redirects.
const (
	NetworkAny    = "any"
	NetworkPublic = "public"
	NetworkDeny   = "deny"
)

// networkControl returns the check of a dialer before it connects; nil allows everything.
func networkControl(policy string) (tasks.Control, error) {
	switch policy {
	case "", NetworkAny:
		return nil, nil
	case NetworkDeny:
		return func(_, address string, _ syscall.RawConn) error { return notAllowed(address, policy) }, nil
	}
	options := []ssrf.Option{ssrf.WithAnyPort()}
	var v4, v6 []netip.Prefix
	for _, text := range strings.Split(policy, ",") {
		if text == NetworkPublic {
			continue
		}
		prefix, err := netip.ParsePrefix(text)
		if err != nil {
			return nil, &OptionError{"Network", fmt.Sprintf("%q must be any, public or deny, or a prefix such as 10.0.0.0/8", text)}
		}
		if prefix.Addr().Is4() {
			v4 = append(v4, prefix)
		} else {
			v6 = append(v6, prefix)
		}
	}
	guard := ssrf.New(append(options, ssrf.WithAllowedV4Prefixes(v4...), ssrf.WithAllowedV6Prefixes(v6...))...)
	return func(network, address string, c syscall.RawConn) error {
		if err := guard.Safe(network, address, c); err != nil {
			return notAllowed(address, policy)
		}
		return nil
	}, nil
}

// storePlaces are the addresses of a store. No configuration lets workflows call them: the store contains all runs, and trusts every client.
type storePlaces interface {
	Serves(at netip.AddrPort) bool // at this address
	Listens(port uint16) bool      // at this port, of any machine
}

// withoutStore returns a control that refuses the addresses of a store, even if the other control allows them.
func withoutStore(places storePlaces, control tasks.Control) tasks.Control {
	if places == nil {
		return control
	}
	return func(network, address string, c syscall.RawConn) error {
		if at, err := netip.ParseAddrPort(address); err == nil && places.Serves(at) {
			return &tasks.NotAllowedError{Address: address, Nowhere: true, Detail: address + " may not be called: the runs are stored there, so that no network policy can allow it"}
		}
		if control == nil {
			return nil
		}
		return control(network, address, c)
	}
}

// finding finds the proxy of a request, or returns nil.
type finding func(*http.Request) (*url.URL, error)

// besideStore returns a finding that omits the proxy for requests to a store. A proxy would dial in the place of the control. Without a proxy, the
// control refuses these requests.
func besideStore(places storePlaces, find finding) finding {
	if places == nil {
		return find
	}
	return func(r *http.Request) (*url.URL, error) {
		proxy, err := find(r)
		if proxy == nil || err != nil {
			return nil, err
		}
		port, _ := strconv.ParseUint(cmp.Or(r.URL.Port(), map[string]string{"http": "80", "https": "443"}[r.URL.Scheme]), 10, 16) // 0 for none
		if !places.Listens(uint16(port)) {
			return proxy, nil
		}
		all, _ := net.DefaultResolver.LookupNetIP(r.Context(), "ip", r.URL.Hostname()) // empty if only the proxy knows the name
		if slices.ContainsFunc(all, func(at netip.Addr) bool { return places.Serves(netip.AddrPortFrom(at.Unmap(), uint16(port))) }) {
			return nil, nil
		}
		return proxy, nil
	}
}

// connect returns the dialer and the transport of calls under a policy with its control. Under NetworkDeny, not even names are looked up: a name
// server would learn their content.
func connect(policy string, c tasks.TransportConfig) (tasks.Dial, *http.Transport) {
	dial, transport := tasks.NewDial(c.Control), tasks.NewTransport(c)
	if policy == NetworkDeny {
		dial = func(_ context.Context, _, address string) (net.Conn, error) { return nil, notAllowed(address, policy) }
		transport.DialContext, transport.DialTLSContext = dial, dial
	}
	return dial, transport
}

// reaches returns a function that reports whether a policy allows an address, as far as that is known without a lookup of names.
func reaches(policy string, control tasks.Control) func(address string) bool {
	return func(address string) bool {
		dialled, err := netip.ParseAddrPort(address)
		if err != nil {
			return policy != NetworkDeny
		}
		network := "tcp6"
		if dialled.Addr().Unmap().Is4() {
			network = "tcp4"
		}
		return control == nil || control(network, address, nil) == nil
	}
}

// notAllowed returns the error about an address, with the policy that would allow it.
func notAllowed(address, policy string) error {
	allowing := NetworkAny
	if dialled, err := netip.ParseAddrPort(address); err == nil && policy != NetworkDeny {
		host := dialled.Addr().Unmap().WithZone("")
		prefix := netip.PrefixFrom(host, host.BitLen()).String()
		if policy != NetworkPublic {
			prefix = policy + "," + prefix
		}
		allowing += " or " + prefix
	}
	return &tasks.NotAllowedError{Address: address, Detail: fmt.Sprintf("%s may not be called here: the network policy is %s; --network %s allows it, and Host.Network in a Go program",
		address, policy, allowing)}
}
