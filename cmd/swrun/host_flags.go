package main

import (
	"cmp"

	"github.com/spf13/cobra"

	"github.com/swrun/swrun"
)

// hostFlags say what workflows may use, and how they are read, where they run.
type hostFlags struct {
	errorTypes errorTypeFlags
	catalogFlag
	network string
}

// add adds the flags; network is the policy that holds if none is given.
func (f *hostFlags) add(cmd *cobra.Command, network string) {
	cmd.Flags().StringVar(&f.network, "network", network, "what tasks may call: any, public, deny, or prefixes besides public addresses, 10.0.0.0/8,...")
	completeValues(cmd, "network", []string{swrun.NetworkAny, swrun.NetworkPublic, swrun.NetworkDeny})
	f.errorTypes.add(cmd)
	f.catalogFlag.add(cmd)
}

// apply completes the host of a verb.
func (f *hostFlags) apply(p *program, verb string, h *swrun.Host) error {
	h.Network = f.network
	return cmp.Or(f.errorTypes.apply(p, h), f.catalogFlag.apply(p, h), optionUsage(verb, h.Check()))
}
