package swrun

import (
	"maps"
	"reflect"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/swrun/swrun/dsl"
	"github.com/swrun/swrun/expr"
	"github.com/swrun/swrun/internal/jsonvalue"
	"github.com/swrun/swrun/interpreter"
	"github.com/swrun/swrun/redact"
)

// Secrets are values by name, and values of environment variables: SWRUN_SECRET_<NAME>. It records which secrets are used, so that it can hide them.
// Several goroutines may use it.
type Secrets struct {
	env   func(name string) (string, bool)
	known redact.Cache

	mu      sync.Mutex
	values  map[string]any
	former  map[string][]any    // values that were replaced, the newest first
	used    map[string]bool     // looked up, or in values
	allowed map[string][]string // the namespaces that may use a secret, for restricted secrets
}

// EveryNamespace represents all namespaces in a restriction of a secret.
const EveryNamespace = "*"

// maxFormer is the maximum number of former values of a secret.
const maxFormer = 10

const secretPrefix = "SWRUN_SECRET_"

// NewSecrets returns secrets of values, which take precedence, and of an environment such as os.LookupEnv. Both may be nil.
func NewSecrets(values map[string]any, env func(name string) (string, bool)) *Secrets {
	if env == nil {
		env = func(string) (string, bool) { return "", false }
	}
	s := &Secrets{values: values, env: env, used: map[string]bool{}, former: map[string][]any{}, allowed: map[string][]string{}}
	s.known.Former = s.Former
	for name := range values {
		s.used[name] = true
	}
	return s
}

// Replace replaces the values, and returns the sorted names of the changed values. The former values stay hidden as long as the program runs.
func (s *Secrets) Replace(values map[string]any) (changed []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for name := range values {
		if s.used[name] = true; !reflect.DeepEqual(values[name], s.values[name]) {
			changed = append(changed, name)
		}
	}
	for name, was := range s.values {
		if reflect.DeepEqual(values[name], was) || was == nil {
			continue
		}
		if _, there := values[name]; !there {
			changed = append(changed, name)
		}
		s.former[name] = append([]any{was}, s.former[name]...)
		s.former[name] = s.former[name][:min(maxFormer, len(s.former[name]))]
	}
	s.values = values
	slices.Sort(changed)
	return changed
}

// Former returns the former values of a secret, the newest first. It is for Host.FormerSecrets.
func (s *Secrets) Former(name string) []any {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.former[name])
}

// names returns the names of the values.
func (s *Secrets) names() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Collect(maps.Keys(s.values))
}

// Lookup returns the value of a secret. It is for Host.Secrets.
func (s *Secrets) Lookup(name string) (any, bool) {
	v, ok := s.find(name)
	if ok {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.used[name] = true
	}
	return v, ok
}

// Restrict sets the namespaces that may use a secret: EveryNamespace represents all namespaces, and no namespace is for secrets that only this
// program uses. All namespaces may use a secret without a restriction.
func (s *Secrets) Restrict(name string, namespaces ...string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.allowed[name] = namespaces
}

// Restricted reports whether Restrict was called for a secret.
func (s *Secrets) Restricted(name string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, said := s.allowed[name]
	return said
}

// Allows reports whether workflows of a namespace may use a secret. It is for Host.AllowSecret. Several names may refer to one variable of the
// environment: a restriction of one of them applies to all.
func (s *Secrets) Allows(namespace, name string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, own := s.values[name]
	for restricted, namespaces := range s.allowed {
		same := restricted == name || !own && sharesVariable(restricted, name)
		if same && !slices.Contains(namespaces, namespace) && !slices.Contains(namespaces, EveryNamespace) {
			return false
		}
	}
	return true
}

// sharesVariable reports whether one variable of the environment may contain both secrets.
func sharesVariable(a, b string) bool {
	usual := environmentName(a)
	return usual != "" && usual == environmentName(b)
}

// Hide hides in a text the secrets that were looked up so far, and all values.
func (s *Secrets) Hide(text string) string {
	s.mu.Lock()
	names := slices.Sorted(maps.Keys(s.used))
	s.mu.Unlock()
	return s.known.Set(names, s.find).Text(text)
}

// Of returns a set that hides the secrets of a workflow, and all values. If the workflow is nil, it hides only the values.
func (s *Secrets) Of(w *dsl.Workflow) *redact.Set {
	if w == nil {
		return (&redact.Cache{Former: s.Former}).Set(s.names(), s.Lookup)
	}
	cache := &redact.Cache{Public: interpreter.PublicInErrors(w), Former: s.Former}
	return cache.Set(append(s.names(), w.Use.Secrets...), s.Lookup)
}

// find returns the value of a secret. Values take precedence over the environment; in the environment, the exact name takes precedence over the usual
// spelling of environment variables. An empty variable, a variable that is not UTF-8, and a null value are not secrets: they represent a secret that
// is missing.
func (s *Secrets) find(name string) (any, bool) {
	s.mu.Lock()
	v := s.values[name]
	s.mu.Unlock()
	if v != nil {
		return v, true
	}
	for _, variable := range []string{name, environmentName(name)} {
		if text, _ := s.env(secretPrefix + variable); variable != "" && strings.TrimSpace(text) != "" && utf8.ValidString(text) {
			return secretValue(text)
		}
	}
	return nil, false
}

// environmentName returns the usual spelling of a name in an environment: api-key and api.key are both API_KEY. A name with letters that an
// environment name cannot have yields an empty name.
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

// secretValue reads JSON objects and arrays; everything else is text. JSON of which a part would be lost, such as a duplicate name, is not a secret.
func secretValue(text string) (any, bool) {
	if trimmed := strings.TrimSpace(text); strings.HasPrefix(trimmed, "{") || strings.HasPrefix(trimmed, "[") {
		if _, err := expr.Decode([]byte(text)); err == nil {
			v, err := jsonvalue.DecodeStrict([]byte(text))
			return v, err == nil
		}
	}
	return text, true
}
