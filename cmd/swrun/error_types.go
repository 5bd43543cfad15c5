package main

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/swrun/swrun"
	"github.com/swrun/swrun/errors"
	"github.com/swrun/swrun/internal/shorten"
)

// This file configures how types of errors are written and read: with flags for verbs that run workflows, and with variables for every verb.

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
	cmd.Flags().StringVar(&f.base, "error-base", "", "base of the URIs of the standard error types that tasks raise (default "+errors.Base+"; also "+errorBaseVariable+")")
	cmd.Flags().StringArrayVar(&f.aliases, "error-alias", nil, "alias OLD=NEW of an error type: errors of type OLD are caught and listed as type NEW (repeatable; also "+errorAliasesVariable+", with commas)")
}

// apply completes a host; the flags take precedence over the variables.
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
	return cmp.Or(addAliases(h.ErrorAliases, errorAliasesVariable, given), addAliases(h.ErrorAliases, "--error-alias", f.aliases))
}

// addAliases adds aliases, OLD=NEW; source is their flag or their variable of the environment.
func addAliases(to errors.Aliases, source string, given []string) error {
	for _, text := range given {
		old, now, ok := strings.Cut(text, "=")
		if !ok || strings.TrimSpace(old) == "" || strings.TrimSpace(now) == "" {
			return usagef("for example https://example.com/errors/old=https://example.com/errors/new", "%s: %s is not an alias: it must be OLD=NEW", source, shorten.Quoted(text))
		}
		to[strings.TrimSpace(old)] = strings.TrimSpace(now)
	}
	if err := to.Check(); err != nil {
		return usagef("", "%s: %s", source, err)
	}
	return nil
}
