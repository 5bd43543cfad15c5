// Package settings contains an operator's settings for a whole deployment, or for one of its namespaces: default timeouts for runs, maximum
// timeouts, and the namespaces that receive events emitted by runs. They are kept in the store's registry.
package settings

import (
	"fmt"
	"strings"
	"time"

	"github.com/swrun/swrun/internal/duration"
	"github.com/swrun/swrun/internal/suggest"
)

// Settings are the settings of a scope; 0 means unset.
type Settings struct {
	ExecutionTimeout    time.Duration `json:"executionTimeout,omitempty"`
	RunTimeout          time.Duration `json:"runTimeout,omitempty"`
	MaxExecutionTimeout time.Duration `json:"maxExecutionTimeout,omitempty"`
	MaxRunTimeout       time.Duration `json:"maxRunTimeout,omitempty"`
	// Events specifies the namespaces that receive events emitted by runs: EventsAll, EventsOwn, or names separated by commas; empty means
	// unset. See Cache.Hearers.
	Events string `json:"events,omitempty"`
}

// Setting is one of them.
type Setting struct {
	Name  string
	Value time.Duration
	About string
}

// All returns all settings, including unset ones, in a fixed order.
func (s *Settings) All() []Setting {
	return []Setting{
		{"executionTimeout", s.ExecutionTimeout, "timeout of executions for which neither the start nor the document has one"},
		{"runTimeout", s.RunTimeout, "timeout of runs for which neither the start nor the document has one"},
		{"maxExecutionTimeout", s.MaxExecutionTimeout, "no execution takes longer, whatever its start and document say"},
		{"maxRunTimeout", s.MaxRunTimeout, "no run takes longer, whatever its start and document say"},
		{nameEvents, 0, "the namespaces that the events of runs reach: all, own, or names with commas between them"},
	}
}

// Names returns the names of all settings.
func Names() (names []string) {
	for _, one := range (&Settings{}).All() {
		names = append(names, one.Name)
	}
	return names
}

// value returns the field of a setting; nil for an unknown setting.
func (s *Settings) value(name string) *time.Duration {
	switch name {
	case "executionTimeout":
		return &s.ExecutionTimeout
	case "runTimeout":
		return &s.RunTimeout
	case "maxExecutionTimeout":
		return &s.MaxExecutionTimeout
	case "maxRunTimeout":
		return &s.MaxRunTimeout
	}
	return nil
}

// Error is a setting that cannot be.
type Error struct {
	Name   string // of the setting, as it was given
	Detail string
}

func (e *Error) Error() string { return e.Detail }

// MinTimeout is the smallest timeout that can be set, and that a start may ask for.
const MinTimeout = time.Second

// Set changes a setting to the value in a text, for example 2h.
func (s *Settings) Set(name, text string) error {
	if name == nameEvents {
		return s.setEvents(text)
	}
	to := s.value(name)
	if to == nil {
		return unknown(name)
	}
	d, err := duration.ParseSigned(text)
	switch {
	case err != nil:
		return &Error{name, fmt.Sprintf("%s: %s", name, err)}
	case d < MinTimeout:
		return &Error{name, fmt.Sprintf("%s must be at least %s, got %s", name, MinTimeout, text)}
	}
	*to = d
	return s.check()
}

// Unset resets a setting to unset.
func (s *Settings) Unset(name string) error {
	if name == nameEvents {
		s.Events = ""
		return nil
	}
	to := s.value(name)
	if to == nil {
		return unknown(name)
	}
	*to = 0
	return nil
}

func unknown(name string) error {
	e := &Error{name, fmt.Sprintf("there is no setting %q; there are: %s", name, strings.Join(Names(), ", "))}
	if near := suggest.Nearest(strings.ReplaceAll(name, "-", ""), Names()); near != "" {
		e.Detail = fmt.Sprintf("there is no setting %q; did you mean %s?", name, near)
	}
	return e
}

// check reports a timeout that is longer than its maximum.
func (s *Settings) check() error {
	for _, pair := range []struct {
		name       string
		value, max time.Duration
	}{{"executionTimeout", s.ExecutionTimeout, s.MaxExecutionTimeout}, {"runTimeout", s.RunTimeout, s.MaxRunTimeout}} {
		if pair.max > 0 && pair.value > pair.max {
			return &Error{pair.name, fmt.Sprintf("%s is %s, and its maximum %s: it must not be longer", pair.name, duration.Format(pair.value), duration.Format(pair.max))}
		}
	}
	return nil
}

// Within returns the effective settings in a namespace of a deployment: the namespace's timeouts take precedence over the deployment, and
// the smaller maximum of both applies, and limits the timeouts too.
func (s Settings) Within(deployment Settings) Settings {
	first := func(own, outer time.Duration) time.Duration {
		if own > 0 {
			return own
		}
		return outer
	}
	smaller := func(a, b time.Duration) time.Duration {
		if a > 0 && b > 0 {
			return min(a, b)
		}
		return first(a, b)
	}
	s.MaxExecutionTimeout = smaller(s.MaxExecutionTimeout, deployment.MaxExecutionTimeout)
	s.MaxRunTimeout = smaller(s.MaxRunTimeout, deployment.MaxRunTimeout)
	bounded := func(d, maximum time.Duration) time.Duration {
		if d == 0 {
			return 0
		}
		return smaller(d, maximum)
	}
	s.ExecutionTimeout = bounded(first(s.ExecutionTimeout, deployment.ExecutionTimeout), s.MaxExecutionTimeout)
	s.RunTimeout = bounded(first(s.RunTimeout, deployment.RunTimeout), s.MaxRunTimeout)
	return s
}
