package main

import (
	"fmt"
	"net/http"
	"net/netip"
	"strings"
	"syscall"

	"code.dny.dev/ssrf"

	"github.com/swrun/swrun/tasks"
)

// This file decides which hosts the tasks of a worker may call.

// The values of --network besides prefixes.
const (
	networkAny    = "any"
	networkPublic = "public"
	networkDeny   = "deny"
)

// network returns a transport that dials only what the policy allows, by the address that is really dialled: names
// that resolve to something else, and redirects, come by here too. It keeps a connection for each of so many calls.
func network(policy string, calls int) (http.RoundTripper, error) {
	control, err := networkControl(policy)
	if err != nil {
		return nil, err
	}
	return tasks.NewTransport(tasks.TransportConfig{Control: control, Connections: calls}), nil
}

// networkControl returns what a dialer asks before it connects; nil allows everything.
func networkControl(policy string) (func(network, address string, c syscall.RawConn) error, error) {
	switch policy {
	case networkAny:
		return nil, nil
	case networkDeny:
		return func(_, address string, _ syscall.RawConn) error {
			return fmt.Errorf("%s must not be called: the worker runs with --network deny", address)
		}, nil
	}
	options := []ssrf.Option{ssrf.WithAnyPort()}
	var v4, v6 []netip.Prefix
	for _, text := range strings.Split(policy, ",") {
		if text == networkPublic {
			continue
		}
		prefix, err := netip.ParsePrefix(text)
		if err != nil {
			return nil, usagef("allowed: any, public, deny, or prefixes such as 10.0.0.0/8,fd00::/8", "--network does not know %q", text)
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
			return fmt.Errorf("%s must not be called: the worker runs with --network %s", address, policy)
		}
		return nil
	}, nil
}
