package interpreter

import (
	"github.com/swrun/swrun/errors"
	"github.com/swrun/swrun/expr"
	"github.com/swrun/swrun/redact"
)

// This file keeps secrets inside of a run. While the run is in memory, its data holds them as they are. What is stored
// of its state refers to them (redact.Seal); records, errors and the output of the run, which people and other runs
// read, have them hidden; and a request that is stored for others must not hold one.

// redactions returns how the program's secrets are found: nil if its workflow declares none.
func (p *Program) redactions() *redact.Set {
	if p == nil {
		return nil
	}
	return p.redacted.Set(p.Workflow.Use.Secrets, p.config.Secrets)
}

// secret returns a declared secret's value.
func (m *machine) secret(name string) (any, *errors.Error) {
	for _, declared := range m.p.Workflow.Use.Secrets {
		if declared != name || m.p.config.Secrets == nil {
			continue
		}
		if value, ok := m.p.config.Secrets(name); ok {
			return value, nil
		}
	}
	return nil, errors.Authorizationf("the secret %q is not available: declare it in use.secrets and provide it", name)
}

// secrets is $secrets: what is declared and available. That an expression's secrets are among them is checked before
// the task starts.
func (m *machine) secrets() map[string]any {
	values := map[string]any{}
	for _, name := range m.p.Workflow.Use.Secrets {
		if value, err := m.secret(name); err == nil {
			values[name] = value
		}
	}
	return values
}

// requireSecrets checks that every secret which the task's expressions name is there.
func (m *machine) requireSecrets(n *node) *errors.Error {
	for _, name := range n.secrets {
		if _, err := m.secret(name); err != nil {
			return err
		}
	}
	return nil
}

// visibleError returns an error as everybody may see it, with the type's spelling that is configured.
func (m *machine) visibleError(err *errors.Error) *errors.Error {
	return errors.Rebase(m.s.redact.Error(err), m.p.config.ErrorBase)
}

// checkConfidential checks what a task wants of others. What is stored for others to read must not hold a secret; what is only
// sent may, and is then confidential.
func (m *machine) checkConfidential(f *taskFrame, n Next, body []byte) (held bool, err *errors.Error) {
	if m.s.redact == nil {
		return false, nil
	}
	if !f.node.kind.Shared {
		v, _ := expr.Decode(body) // it was just encoded
		return m.s.redact.FindSecret(v, func(string) bool { return false }) != "", nil
	}
	if name := m.s.redact.FindSecret(n.sharedBody, m.publicIn(f.node)); name != "" {
		return true, errors.Authorizationf("%s would hand on the secret %q, and keep it where others read it: %s",
			f.node.kind.Kind, name, "a workflow that needs a secret declares it in its own use.secrets, and what others may read does not belong into one")
	}
	return false, nil
}
