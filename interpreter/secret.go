package interpreter

import (
	"slices"
	"strings"

	"github.com/swrun/swrun/errors"
	"github.com/swrun/swrun/expr"
	"github.com/swrun/swrun/redact"
)

// This file keeps secrets inside a run. In memory, the run's data contains the secrets themselves. Its stored state contains references to them
// instead (redact.Set.Seal). They are hidden in history events, errors and the output, which people and other runs read. A request that is stored for
// other readers must not contain a secret.

// redactions returns the secrets of the program; nil if its workflow declares none.
func (p *Program) redactions() *redact.Set {
	if p == nil {
		return nil
	}
	return p.redacted.Set(p.Workflow.Use.Secrets, p.config.Secrets)
}

// secret returns a declared secret's value.
func (m *machine) secret(name string) (any, *errors.Error) {
	if !slices.Contains(m.p.Workflow.Use.Secrets, name) {
		return nil, errors.Authorizationf("the secret %q is not available: it is not declared, add it to use.secrets", name)
	}
	if m.refusesSecret(name) {
		namespace := m.p.Workflow.Document.Namespace
		return nil, errors.Authorizationf("the secret %q is not for workflows of the namespace %s: whoever runs the worker grants it, in $namespaces of the file of --secrets", name, namespace)
	}
	if m.p.config.Secrets != nil {
		if value, ok := m.p.config.Secrets(name); ok {
			return value, nil
		}
	}
	return nil, errors.Authorizationf("the secret %q is not available: it has no value, provide it by SWRUN_SECRET_%s or in the file of --secrets", name, strings.ToUpper(name))
}

// refusesSecret reports that the workflow may not use a secret: no driver would give it the value.
func (m *machine) refusesSecret(name string) bool {
	return m.p.config.RefusesSecret != nil && m.p.config.RefusesSecret(name)
}

// secrets returns the value of $secrets: the secrets that are declared and available. Before the task started, requireSecrets checked that they
// include the secrets that an expression names.
func (m *machine) secrets() map[string]any {
	values := map[string]any{}
	for _, name := range m.p.Workflow.Use.Secrets {
		if value, err := m.secret(name); err == nil {
			values[name] = value
		}
	}
	return values
}

// requireSecrets returns an error if a secret that the task's expressions name is not available.
func (m *machine) requireSecrets(n *node) *errors.Error {
	for _, name := range n.secrets {
		if _, err := m.secret(name); err != nil {
			return err
		}
	}
	return nil
}

// missingSecrets returns the secrets that a task names, as needs, if one of them is missing and another driver may hold it.
func (m *machine) missingSecrets(n *node) (needs []string) {
	if !m.p.config.LeaveSecrets {
		return nil
	}
	missing := false
	for _, name := range n.secrets {
		if m.refusesSecret(name) {
			return nil // another driver would not help
		}
		if slices.Contains(m.p.Workflow.Use.Secrets, name) {
			_, err := m.secret(name)
			needs, missing = append(needs, NeedSecret(name)), missing || err != nil
		}
	}
	if !missing {
		return nil
	}
	return needs
}

// visibleError returns an error in the form for people: with hidden secrets, and with the configured spelling of the standard type.
func (m *machine) visibleError(err *errors.Error) *errors.Error {
	return errors.Rebase(m.s.redact.Error(err), m.p.config.ErrorBase)
}

// checkConfidential reports whether a request contains a secret. A request that is only sent may contain one. A request that is stored for other
// readers must not, and leads to an error.
func (m *machine) checkConfidential(f *taskFrame, n Next, body []byte) (confidential bool, err *errors.Error) {
	if m.s.redact == nil {
		return false, nil
	}
	if !f.node.kind.Shared {
		v, _ := expr.Decode(body) // it was just encoded
		return m.s.redact.FindSecret(v, func(string) bool { return false }) != "", nil
	}
	if name := m.s.redact.FindSecret(n.sharedBody, m.publicIn(f.node)); name != "" {
		return true, errors.Authorizationf("%s would store the secret %q where others can read it: %s",
			f.node.kind.Kind, name, "leave it out; a workflow that needs it declares it in its own use.secrets")
	}
	return false, nil
}
