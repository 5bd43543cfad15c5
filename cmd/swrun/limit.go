package main

import (
	"strings"

	"github.com/swrun/swrun/limits"
)

// limitsVariable sets limits for every verb: input=8MiB,items=1000.
const limitsVariable = "SWRUN_LIMITS"

// limits returns the limits of the environment and of --limit; the flags take precedence.
func (p *program) limits(flags []string) (limits.Set, error) {
	set := limits.Set{}
	for _, text := range strings.Split(p.variable(limitsVariable), ",") {
		if err := set.Parse(text); text != "" && err != nil {
			return nil, usagef("", "%s: %s", limitsVariable, err)
		}
	}
	for _, text := range flags {
		if err := set.Parse(text); err != nil {
			return nil, usagef("", "--limit: %s", err)
		}
	}
	return set, nil
}

func (p *program) variable(name string) string {
	text, _ := p.env(name)
	return text
}
