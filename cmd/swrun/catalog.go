package main

import (
	"cmp"
	"net/url"
	"os"

	"github.com/spf13/cobra"

	"github.com/swrun/swrun"
)

const catalogVariable = "SWRUN_CATALOG"

// catalogFlag names the default catalog, for verbs that read documents.
type catalogFlag struct{ catalog string }

func (f *catalogFlag) add(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.catalog, "catalog", "", "folder or URL of the default catalog; call: log:1.0.0 calls functions/log/1.0.0/function.yaml there (also "+catalogVariable+")")
}

// resourceFlags specify the sources of the external resources of documents and functions, and how they are read.
type resourceFlags struct {
	catalogFlag
	network, proxy string
}

// add adds the flags to a verb that reads documents, and does not run them.
func (f *resourceFlags) add(cmd *cobra.Command) {
	f.catalogFlag.add(cmd)
	cmd.Flags().StringVar(&f.network, "network", swrun.NetworkAny, "addresses from which external resources may be read: any, public, deny, or prefixes besides public addresses, 10.0.0.0/8,...")
	cmd.Flags().StringVar(&f.proxy, "proxy", "", "URL of the proxy for external resources, or none (default HTTPS_PROXY, but only with --network any)")
	completeValues(cmd, "network", []string{swrun.NetworkAny, swrun.NetworkPublic, swrun.NetworkDeny})
}

// apply completes a host.
func (f *resourceFlags) apply(p *program, verb string, h *swrun.Host) error {
	h.Network, h.Proxy = f.network, f.proxy
	return cmp.Or(f.catalogFlag.apply(p, h), optionUsage(verb, nil, h.Check()))
}

// apply completes a host; the flag takes precedence over the variable.
func (f *catalogFlag) apply(p *program, h *swrun.Host) error {
	name := "--catalog"
	if h.Catalog = f.catalog; h.Catalog == "" {
		h.Catalog, name = p.variable(catalogVariable), catalogVariable
	}
	if u, err := url.Parse(h.Catalog); h.Catalog == "" || err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Host != "" {
		return nil
	}
	if info, err := os.Stat(h.Catalog); err != nil || !info.IsDir() {
		return usagef("a catalog contains functions/NAME/VERSION/function.yaml for each function", "%s: %s is neither a folder nor a URL", name, h.Catalog)
	}
	return nil
}
