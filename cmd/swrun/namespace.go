package main

import (
	"strings"

	"github.com/spf13/cobra"

	"github.com/swrun/swrun/internal/api"
	"github.com/swrun/swrun/internal/terminal"
	"github.com/swrun/swrun/runtime/store"
)

// This file selects the namespace of a verb: for every verb that has -n, in the same way.

// namespaceVariable names the default namespace of verbs.
const namespaceVariable = "SWRUN_NAMESPACE"

// namespaceFlags choose a namespace.
type namespaceFlags struct {
	namespace string // empty for all namespaces
	all       bool
	offered   bool // the verb has these flags
	assumed   bool // the namespace comes from the variable: a name may contain another namespace
}

// within adds -n to a verb about objects in namespaces.
func (f *namespaceFlags) within(cmd *cobra.Command) {
	f.offered = true
	cmd.Flags().StringVarP(&f.namespace, "namespace", "n", "", "namespace to which the command is limited (also "+namespaceVariable+")")
	cmd.Flags().BoolVarP(&f.all, "all-namespaces", "A", false, "all namespaces, even if "+namespaceVariable+" is set")
}

// resolve takes the namespace from the flag or the variable.
func (f *namespaceFlags) resolve(p *program) error {
	if !f.offered {
		return nil
	}
	name := "-n"
	if f.namespace == "" && !f.all {
		if f.namespace, _ = p.env(namespaceVariable); f.namespace != "" {
			f.assumed = true
		}
	}
	if f.assumed {
		name = namespaceVariable
	}
	switch {
	case f.all && f.namespace != "":
		return usagef("leave out one of them", "-n and --all-namespaces contradict each other")
	case f.namespace == "":
		return nil
	}
	if err := store.CheckNamespace(f.namespace); err != nil {
		return usagef("for example -n demo", "%s: %s", name, err)
	}
	return nil
}

// only returns the selected namespace as a list; nil for all.
func (f *namespaceFlags) only() []string {
	if f.namespace == "" {
		return nil
	}
	return []string{f.namespace}
}

// audience returns the namespace as a parameter of a request.
func (f *namespaceFlags) audience() api.AudienceQuery {
	return api.AudienceQuery{Namespace: f.namespace}
}

// qualified returns the name of a workflow with its namespace: the namespace of the flags if the name has none.
func (f *namespaceFlags) qualified(name string) (string, error) {
	namespace, _, full := strings.Cut(name, "/")
	if !full && f.namespace != "" {
		return f.namespace + "/" + name, nil
	}
	if full {
		return name, f.contradicts(namespace, name)
	}
	return name, nil
}

// contradicts refuses a name with another namespace than -n.
func (f *namespaceFlags) contradicts(namespace, name string) error {
	if f.namespace == "" || f.assumed || f.namespace == namespace {
		return nil
	}
	return usagef("leave out -n, or the namespace of the name", "%s is not in the namespace %s of -n", terminal.Printable(name), f.namespace)
}
