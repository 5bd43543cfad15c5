package main

import (
	"cmp"

	"github.com/spf13/cobra"

	"github.com/swrun/swrun"
)

// hostFlags specify the grants to workflows, and how workflows are read, for verbs that run them.
type hostFlags struct {
	errorTypes errorTypeFlags
	resourceFlags
}

// add adds the flags; network is the default policy.
func (f *hostFlags) add(cmd *cobra.Command, network string) {
	cmd.Flags().StringVar(&f.network, "network", network, "addresses that tasks may call: any, public, deny, or prefixes besides public addresses, 10.0.0.0/8,...")
	cmd.Flags().StringVar(&f.proxy, "proxy", "", "URL of the proxy for HTTP calls, or none (default HTTPS_PROXY, but only with --network any)")
	completeValues(cmd, "network", []string{swrun.NetworkAny, swrun.NetworkPublic, swrun.NetworkDeny})
	f.errorTypes.add(cmd)
	f.catalogFlag.add(cmd)
}

// apply completes the host of a verb.
func (f *hostFlags) apply(p *program, verb string, h *swrun.Host) error {
	if err := cmp.Or(f.errorTypes.apply(p, h), f.resourceFlags.apply(p, verb, h)); err != nil {
		return err
	}
	if variable := f.unusedProxy(p.env); variable != "" && h.Log != nil {
		h.Log.Warn("the proxy of the environment is not used", "variable", variable, "network", h.Network)
	}
	return nil
}

// unusedProxy returns the variable of the environment that names a proxy which calls do not use, because the network policy limits them and no flag
// names a proxy; "" if there is no such variable.
func (f *hostFlags) unusedProxy(env func(name string) (string, bool)) string {
	if f.proxy != "" || f.network == "" || f.network == swrun.NetworkAny || f.network == swrun.NetworkDeny {
		return ""
	}
	for _, name := range []string{"HTTPS_PROXY", "https_proxy", "HTTP_PROXY", "http_proxy"} {
		if proxy, _ := env(name); proxy != "" {
			return name
		}
	}
	return ""
}
