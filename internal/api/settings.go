package api

import (
	"maps"
	"slices"
	"time"

	"github.com/swrun/swrun/runtime/settings"
)

// Settings is what is set for the deployment, or for a namespace; what is not set is absent.
type Settings struct {
	Namespace                  string   `json:"namespace,omitempty" doc:"Absent for the whole deployment."`
	ExecutionTimeoutSeconds    *float64 `json:"executionTimeoutSeconds,omitempty" doc:"Timeout of executions for which neither the start nor the document has one."`
	RunTimeoutSeconds          *float64 `json:"runTimeoutSeconds,omitempty" doc:"Timeout of runs for which neither the start nor the document has one."`
	MaxExecutionTimeoutSeconds *float64 `json:"maxExecutionTimeoutSeconds,omitempty" doc:"No execution takes longer, whatever its start and document say."`
	MaxRunTimeoutSeconds       *float64 `json:"maxRunTimeoutSeconds,omitempty" doc:"No run takes longer, whatever its start and document say."`
	Events                     string   `json:"events,omitempty" doc:"Which namespaces hear what runs emit: all, own for the namespace of the run, or names with commas between them." example:"own"`
}

// SettingsChange says what to set and what to take back, all of it or nothing.
type SettingsChange struct {
	Set   map[string]string `json:"set,omitempty" doc:"Values by the names of settings: executionTimeout, runTimeout, maxExecutionTimeout, maxRunTimeout, events." example:"{\"executionTimeout\": \"2h\"}"`
	Unset []string          `json:"unset,omitempty" maxItems:"10" doc:"Names of settings."`
}

// Apply changes settings. What cannot be set is a *settings.Error.
func (c SettingsChange) Apply(s *settings.Settings) error {
	for _, name := range c.Unset {
		if err := s.Unset(name); err != nil {
			return err
		}
	}
	for _, name := range slices.Sorted(maps.Keys(c.Set)) {
		if err := s.Set(name, c.Set[name]); err != nil {
			return err
		}
	}
	return nil
}

// NewSettings returns the JSON of settings.
func NewSettings(scope settings.Scope, s settings.Settings) Settings {
	set := func(d time.Duration) *float64 {
		if d == 0 {
			return nil
		}
		return seconds(d)
	}
	return Settings{
		Namespace: string(scope), ExecutionTimeoutSeconds: set(s.ExecutionTimeout), RunTimeoutSeconds: set(s.RunTimeout),
		MaxExecutionTimeoutSeconds: set(s.MaxExecutionTimeout), MaxRunTimeoutSeconds: set(s.MaxRunTimeout), Events: s.Events,
	}
}
