package main

import (
	"net/url"
	"os"

	"github.com/spf13/cobra"

	"github.com/swrun/swrun"
)

const catalogVariable = "SWRUN_CATALOG"

// catalogFlag names the default catalog, where documents are read.
type catalogFlag struct{ catalog string }

func (f *catalogFlag) add(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.catalog, "catalog", "", "the default catalog, a folder or a URL: call: log:1.0.0 is its functions/log/1.0.0/function.yaml (also "+catalogVariable+")")
}

// apply completes a host; the flag goes before the variable.
func (f *catalogFlag) apply(p *program, h *swrun.Host) error {
	name := "--catalog"
	if h.Catalog = f.catalog; h.Catalog == "" {
		h.Catalog, name = p.variable(catalogVariable), catalogVariable
	}
	if u, err := url.Parse(h.Catalog); h.Catalog == "" || err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Host != "" {
		return nil
	}
	if info, err := os.Stat(h.Catalog); err != nil || !info.IsDir() {
		return usagef("it holds functions/NAME/VERSION/function.yaml for each function", "%s: %s is neither a folder nor a URL", name, h.Catalog)
	}
	return nil
}
