package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/swrun/swrun"
	"github.com/swrun/swrun/errors"
)

// This file says how types of errors are spelt and read: with flags where workflows run, and with variables for every verb.

const (
	errorBaseVariable    = "SWRUN_ERROR_BASE"
	errorAliasesVariable = "SWRUN_ERROR_ALIASES"
)

// errorTypeFlags are the flags of verbs that run workflows.
type errorTypeFlags struct {
	base    string
	aliases []string
}

func (f *errorTypeFlags) add(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.base, "error-base", "", "base of the standard types of errors that tasks raise; default "+errors.Base+" (also "+errorBaseVariable+")")
	cmd.Flags().StringArrayVar(&f.aliases, "error-alias", nil, "OLD=NEW: catch and list errors of an old type as those of another (repeatable; also "+errorAliasesVariable+", with commas)")
}

// apply completes a host; the flags go before the variables.
func (f *errorTypeFlags) apply(p *program, h *swrun.Host) error {
	name := "--error-base"
	if h.ErrorBase = f.base; h.ErrorBase == "" {
		h.ErrorBase, name = p.variable(errorBaseVariable), errorBaseVariable
	}
	if h.ErrorBase != "" && !errors.IsBase(h.ErrorBase) {
		return usagef(fmt.Sprintf("for example %s or %s", errors.Base, errors.BaseOpenWorkflow), "%s: the standard types are not published under %q", name, h.ErrorBase)
	}
	h.ErrorAliases = errors.Aliases{}
	var given []string
	if text := p.variable(errorAliasesVariable); text != "" {
		given = strings.Split(text, ",")
	}
	for _, text := range append(given, f.aliases...) {
		old, now, ok := strings.Cut(text, "=")
		if !ok || strings.TrimSpace(old) == "" || strings.TrimSpace(now) == "" {
			return usagef("for example --error-alias https://example.com/errors/old=https://example.com/errors/new", "%q is not an alias: it must be OLD=NEW", text)
		}
		h.ErrorAliases[strings.TrimSpace(old)] = strings.TrimSpace(now)
	}
	if err := h.ErrorAliases.Check(); err != nil {
		return usagef("", "--error-alias: %s", err)
	}
	return nil
}
