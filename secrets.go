package swrun

import (
	"maps"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/swrun/swrun/dsl"
	"github.com/swrun/swrun/expr"
	"github.com/swrun/swrun/interpreter"
	"github.com/swrun/swrun/redact"
)

// Secrets are some values by name, and those of environment variables: SWRUN_SECRET_<NAME>. It knows which of them are used, so
// that it can hide them. Several goroutines may use it.
type Secrets struct {
	values map[string]any
	env    func(name string) (string, bool)
	known  redact.Cache

	mu   sync.Mutex
	used map[string]bool // looked up, or among values
}

const secretPrefix = "SWRUN_SECRET_"

// NewSecrets returns secrets: values, which win, and those of an environment such as os.LookupEnv. Both may be nil.
func NewSecrets(values map[string]any, env func(name string) (string, bool)) *Secrets {
	if env == nil {
		env = func(string) (string, bool) { return "", false }
	}
	s := &Secrets{values: values, env: env, used: map[string]bool{}}
	for name := range values {
		s.used[name] = true
	}
	return s
}

// Lookup returns a secret's value. It is for Host.Secrets.
func (s *Secrets) Lookup(name string) (any, bool) {
	v, ok := s.find(name)
	if ok {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.used[name] = true
	}
	return v, ok
}

// Hide hides in a text the secrets that were looked up until now, and all values.
func (s *Secrets) Hide(text string) string {
	s.mu.Lock()
	names := slices.Sorted(maps.Keys(s.used))
	s.mu.Unlock()
	return s.known.Set(names, s.find).Text(text)
}

// Of returns what hides the secrets of a workflow, and all values; of no workflow, if it is nil, only the values.
func (s *Secrets) Of(w *dsl.Workflow) *redact.Set {
	if w == nil {
		return (&redact.Cache{}).Set(slices.Collect(maps.Keys(s.values)), s.Lookup)
	}
	cache := &redact.Cache{Public: interpreter.PublicInErrors(w)}
	return cache.Set(append(slices.Collect(maps.Keys(s.values)), w.Use.Secrets...), s.Lookup)
}

// find returns a secret's value: values win over the environment, and there the exact name over the usual spelling of
// environment variables. An empty variable, and a value that is null, is not a secret: it stands for one that whoever started
// this program does not have.
func (s *Secrets) find(name string) (any, bool) {
	if v := s.values[name]; v != nil {
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
