package interpreter

import (
	"github.com/swrun/swrun/errors"
	"github.com/swrun/swrun/expr"
	"github.com/swrun/swrun/limits"
)

// Limits returns how large things may become (see package limits).
func (s *Scope) Limits() limits.Set { return s.m.p.config.Limits }

// Limits returns how large things may become in runs of p.
func (p *Program) Limits() limits.Set { return p.config.Limits }

// checkSize checks how large data is.
func (m *machine) checkSize(n limits.Name, v any) *errors.Error {
	set := m.p.config.Limits
	return set.Check(n, expr.EncodedSize(v, 1<<40))
}

// CheckSize is an error if data is larger than a limit.
func (s *Scope) CheckSize(n limits.Name, v any) *errors.Error { return s.m.checkSize(n, v) }

// checkRequest checks the request that f wants before it counts as wanted; held says that it holds a secret.
func (m *machine) checkRequest(f *taskFrame, n Next, body []byte) (held bool, err *errors.Error) {
	set := m.p.config.Limits
	switch f.node.kind.Route {
	case RoutePublish:
		err = set.Check(limits.Event, len(body))
	case RouteChild:
		err = set.Check(limits.Input, len(body))
		if err == nil && !n.detach {
			err = set.Check(limits.Children, 1+m.children())
		}
	}
	if err != nil {
		return false, err
	}
	return m.checkConfidential(f, n, body)
}

// children counts the runs that tasks wait for.
func (m *machine) children() (n int) {
	for f := range m.s.tasks() {
		if f.Effect != nil && f.node.kind.Route == RouteChild {
			n++
		}
	}
	return n
}

// checkBranches checks that branches can be in progress beside all other tasks.
func (m *machine) checkBranches(branches int) *errors.Error {
	set := m.p.config.Limits
	if err := set.Check(limits.Branches, branches); err != nil {
		return err
	}
	open := 0
	for range m.s.tasks() {
		open++
	}
	return set.Check(limits.Tasks, open+branches)
}
