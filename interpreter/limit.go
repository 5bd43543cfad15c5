package interpreter

import (
	"github.com/swrun/swrun/errors"
	"github.com/swrun/swrun/expr"
	"github.com/swrun/swrun/limits"
)

// Limits returns the maximum sizes (see package limits).
func (s *Scope) Limits() limits.Set { return s.m.p.config.Limits }

// Limits returns the maximum sizes in runs of p.
func (p *Program) Limits() limits.Set { return p.config.Limits }

// CheckEvent returns an error if an event is too large for runs. Code that accepts events from others calls it, so that the sender gets the error. An
// event that reached a run is not measured again.
func CheckEvent(event map[string]any, bounds limits.Set) error {
	if err := bounds.Check(limits.Event, expr.EncodedSize(event, 1<<40)); err != nil {
		return err
	}
	return nil
}

// checkSize returns an error if v is larger than a limit.
func (m *machine) checkSize(n limits.Name, v any) *errors.Error {
	set := m.p.config.Limits
	return set.Check(n, expr.EncodedSize(v, 1<<40))
}

// CheckSize returns an error if v is larger than a limit.
func (s *Scope) CheckSize(n limits.Name, v any) *errors.Error { return s.m.checkSize(n, v) }

// checkRequest checks a new request of f against the limits, and checks that it exposes no secret; confidential reports that it contains a secret.
func (m *machine) checkRequest(f *taskFrame, n Next, body []byte) (confidential bool, err *errors.Error) {
	set := m.p.config.Limits
	switch f.node.kind.Route {
	case RoutePublish:
		err = set.Check(limits.Event, len(body))
	case RouteActivity:
		err = set.Check(limits.Input, len(body))
	case RouteChild:
		err = set.Check(limits.Input, len(body))
		if err == nil && !n.detach {
			err = set.Check(limits.Children, 1+m.children())
		}
		if err == nil {
			err = m.checkBeside(n)
		}
	}
	if err != nil {
		return false, err
	}
	return m.checkConfidential(f, n, body)
}

// children counts the child runs that tasks wait for.
func (m *machine) children() (n int) {
	for f := range m.s.tasks() {
		if f.Effect != nil && f.node.kind.Route == RouteChild {
			n++
		}
	}
	return n
}

// checkBranches returns an error if a fork has too many branches, or if the run would have too many tasks in progress.
func (m *machine) checkBranches(branches int) *errors.Error {
	set := m.p.config.Limits
	if err := set.Check(limits.Branches, branches); err != nil {
		return err
	}
	inProgress := 0
	for range m.s.tasks() {
		inProgress++
	}
	return set.Check(limits.Tasks, inProgress+branches)
}
