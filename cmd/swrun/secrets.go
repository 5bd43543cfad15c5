package main

import (
	"io"
	"strings"

	"github.com/swrun/swrun"
	"github.com/swrun/swrun/dsl"
	"github.com/swrun/swrun/errors"
	"github.com/swrun/swrun/redact"
)

// readSecrets reads the file of --secrets, a YAML or JSON object; an empty name is not a file.
func readSecrets(env func(string) (string, bool), name string) (*swrun.Secrets, error) {
	none := swrun.NewSecrets(nil, env)
	if name == "" {
		return none, nil
	}
	text, err := readFile("the secrets", name, bound{bytes: maxSecrets})
	if err != nil {
		return none, err
	}
	v, err := decodeData(name, text)
	if err != nil {
		// The decoder's message may quote the text, which is secret.
		return none, usagef("it must be one YAML or JSON object: name: value", "the secrets in %s cannot be read", name)
	}
	object, ok := v.(map[string]any)
	if !ok {
		return none, usagef("it must be one YAML or JSON object: name: value", "the secrets in %s are not an object", name)
	}
	return swrun.NewSecrets(object, env), nil
}

// newMask returns what hides the secrets of a workflow, and everything in the file of --secrets.
func newMask(s *swrun.Secrets, w *dsl.Workflow, ascii bool) *mask {
	return &mask{set: s.Of(w), ascii: ascii}
}

// mask hides secrets in what this process prints. Nil hides nothing.
type mask struct {
	set   *redact.Set
	ascii bool
}

func (m *mask) Text(s string) string {
	if m == nil {
		return s
	}
	return m.look(m.set.Text(s))
}

// look returns a text for a terminal that knows ASCII only.
func (m *mask) look(s string) string {
	if !m.ascii || !strings.Contains(s, "‹redacted") {
		return s
	}
	return strings.NewReplacer("‹", "<", "›", ">").Replace(s)
}

// value returns JSON data without secrets. Data that holds none is returned as it is.
func (m *mask) Value(v any) any {
	if m == nil {
		return v
	}
	return m.set.Value(v)
}

// fault returns e without secrets. It has to come before e's texts are shortened: half a secret is hard to recognise.
func (m *mask) fault(e *errors.Error) *errors.Error {
	if m == nil {
		return e
	}
	return m.set.Error(e)
}

type maskedWriter struct {
	w    io.Writer
	hide func(string) string
}

func (w maskedWriter) Write(p []byte) (int, error) {
	if _, err := io.WriteString(w.w, w.hide(string(p))); err != nil {
		return 0, err
	}
	return len(p), nil
}
