package main

import (
	"io"
	"maps"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/swrun/swrun/dsl"
	"github.com/swrun/swrun/errors"
	"github.com/swrun/swrun/expr"
	"github.com/swrun/swrun/interpreter"
	"github.com/swrun/swrun/redact"
)

// secrets is what a workflow may use as $secrets, and what must never be shown.
type secrets struct {
	env  func(name string) (string, bool)
	file map[string]any
	used *usedNames // that were looked up, or are in the file; nil keeps no account

	known *redact.Cache // of what is used
}

const secretPrefix = "SWRUN_SECRET_"

// readSecrets reads the file of --secrets, a YAML or JSON object; an empty name is no file.
func readSecrets(env func(string) (string, bool), name string) (secrets, error) {
	s := secrets{env: env, used: newUsedNames(), known: new(redact.Cache)}
	if name == "" {
		return s, nil
	}
	text, err := readFile("the secrets", name, bound{bytes: maxSecrets})
	if err != nil {
		return s, err
	}
	v, err := decodeData(name, text)
	if err != nil {
		// The decoder's message may quote the text, which is secret.
		return s, usagef("it must be one YAML or JSON object: name: value", "the secrets in %s cannot be read", name)
	}
	object, ok := v.(map[string]any)
	if !ok {
		return s, usagef("it must be one YAML or JSON object: name: value", "the secrets in %s are no object", name)
	}
	s.file, s.used = object, newUsedNames(slices.Collect(maps.Keys(object))...)
	return s, nil
}

// lookup returns a secret's value, and notes that it is used.
func (s secrets) lookup(name string) (any, bool) {
	v, ok := s.find(name)
	if ok {
		s.used.add(name)
	}
	return v, ok
}

// find returns a secret's value: the file wins over the environment, and there the exact name over the usual
// spelling of environment variables. An empty variable, and null in the file, is no secret: it stands for one that whoever
// started this program does not have.
func (s secrets) find(name string) (any, bool) {
	if v := s.file[name]; v != nil {
		return v, true
	}
	for _, variable := range []string{name, environmentName(name)} {
		if text, _ := s.env(secretPrefix + variable); variable != "" && strings.TrimSpace(text) != "" {
			return secretValue(text), true
		}
	}
	return nil, false
}

// environmentName returns how a name is usually spelt in an environment: api-key and api.key are both API_KEY. Letters
// that no such name has leave none.
func environmentName(name string) string {
	unknown := false
	variable := strings.Map(func(r rune) rune {
		unknown = unknown || r >= utf8.RuneSelf
		if r >= '0' && r <= '9' || r >= 'A' && r <= 'Z' {
			return r
		}
		return '_'
	}, strings.ToUpper(name))
	if unknown {
		return ""
	}
	return variable
}

// secretValue reads JSON objects and arrays; everything else is text.
func secretValue(text string) any {
	if trimmed := strings.TrimSpace(text); strings.HasPrefix(trimmed, "{") || strings.HasPrefix(trimmed, "[") {
		if v, err := expr.Decode([]byte(text)); err == nil {
			return v
		}
	}
	return text
}

// mask returns what hides the secrets of a workflow, and everything in the file.
func (s secrets) mask(w *dsl.Workflow, ascii bool) *mask {
	all := append(slices.Collect(maps.Keys(s.file)), w.Use.Secrets...)
	cache := &redact.Cache{Public: interpreter.PublicInErrors(w)}
	return &mask{set: cache.Set(all, s.lookup), ascii: ascii}
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

// Style returns a text for a terminal that knows ASCII only.
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

// hide hides the secrets in text that were looked up until now, and everything in the file.
func (s secrets) hide(text string) string {
	if s.used == nil {
		return text
	}
	return s.known.Set(s.used.names(), s.find).Text(text)
}

// usedNames is a set of names for several goroutines.
type usedNames struct {
	mu  sync.Mutex
	all map[string]bool
}

func newUsedNames(first ...string) *usedNames {
	n := &usedNames{all: map[string]bool{}}
	for _, name := range first {
		n.all[name] = true
	}
	return n
}

func (n *usedNames) add(name string) {
	if n != nil {
		n.mu.Lock()
		defer n.mu.Unlock()
		n.all[name] = true
	}
}

func (n *usedNames) names() []string {
	n.mu.Lock()
	defer n.mu.Unlock()
	return slices.Sorted(maps.Keys(n.all))
}
