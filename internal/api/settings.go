package api

import (
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/swrun/swrun/internal/access"
	"github.com/swrun/swrun/runtime/settings"
)

// ListSettings lists the settings of the deployment and of the namespaces.
func ListSettings() Operation[None, []Settings] {
	return Operation[None, []Settings]{
		ID: "listSettings", Method: getMethod, Path: "/v1/settings", Role: access.RoleViewer, Tag: "deployment",
		Summary: "The settings of the deployment and of namespaces",
	}
}

// ChangeSettings changes the settings of the deployment.
func ChangeSettings() Operation[SettingsCommand, Settings] {
	return Operation[SettingsCommand, Settings]{
		ID: "changeSettings", Method: postMethod, Path: "/v1/settings", Role: access.RoleAdmin, Tag: "deployment",
		Summary: "Set timeouts for the deployment, or take them back",
	}
}

// GetSettings returns the settings that apply in a namespace.
func GetSettings() Operation[NamespacePath, Settings] {
	return Operation[NamespacePath, Settings]{
		ID: "getSettings", Method: getMethod, Path: "/v1/settings/{namespace}", Role: access.RoleViewer, Tag: "deployment",
		Summary: "The settings that apply to a namespace",
	}
}

// ChangeNamespaceSettings changes the settings of a namespace.
func ChangeNamespaceSettings() Operation[NamespaceSettingsCommand, Settings] {
	return Operation[NamespaceSettingsCommand, Settings]{
		ID: "changeNamespaceSettings", Method: postMethod, Path: "/v1/settings/{namespace}", Role: access.RoleAdmin, Tag: "deployment",
		Summary: "Set timeouts for a namespace, or take them back",
	}
}

// NamespacePath names a namespace.
type NamespacePath struct {
	Namespace string `path:"namespace" doc:"Of workflows and runs." example:"demo"`
}

// SettingsCommand is a change of the settings of the deployment.
type SettingsCommand struct{ Body SettingsChange }

// AuditSubject implements Audited.
func (in *SettingsCommand) AuditSubject() string { return in.Body.words() }

// AuditReason implements Audited.
func (*SettingsCommand) AuditReason() string { return "" }

// NamespaceSettingsCommand is a change of the settings of a namespace.
type NamespaceSettingsCommand struct {
	NamespacePath
	Body SettingsChange
}

// AuditSubject implements Audited.
func (in *NamespaceSettingsCommand) AuditSubject() string {
	return in.Namespace + " " + in.Body.words()
}

// AuditReason implements Audited.
func (*NamespaceSettingsCommand) AuditReason() string { return "" }

// Settings are the settings of the deployment, or of a namespace; a setting without a value is absent.
type Settings struct {
	Namespace                  string   `json:"namespace,omitempty" doc:"Absent for the whole deployment."`
	ExecutionTimeoutSeconds    *float64 `json:"executionTimeoutSeconds,omitempty" doc:"Timeout of executions for which neither the start nor the document has one."`
	RunTimeoutSeconds          *float64 `json:"runTimeoutSeconds,omitempty" doc:"Timeout of runs for which neither the start nor the document has one."`
	MaxExecutionTimeoutSeconds *float64 `json:"maxExecutionTimeoutSeconds,omitempty" doc:"The maximum time of an execution, for any start and document."`
	MaxRunTimeoutSeconds       *float64 `json:"maxRunTimeoutSeconds,omitempty" doc:"The maximum time of a run, for any start and document."`
	Events                     string   `json:"events,omitempty" doc:"The namespaces that the events of runs reach: all, own for the namespace of the run, or names separated by commas." example:"own"`
	Replaced                   string   `json:"replaced,omitempty" doc:"The reason why the earlier settings are unreadable. Their other values are lost."`
}

// SettingsChange specifies settings to set and to unset, all of them or none.
type SettingsChange struct {
	Set   map[string]string `json:"set,omitempty" doc:"Values by the names of settings: executionTimeout, runTimeout, maxExecutionTimeout, maxRunTimeout, events." example:"{\"executionTimeout\": \"2h\"}"`
	Unset []string          `json:"unset,omitempty" maxItems:"10" doc:"Names of settings."`
	// Replace has the settings set anew if they cannot be read.
	Replace bool `json:"replace,omitempty" doc:"Settings that cannot be read are set anew, and the others of them are lost. Without it, the change is refused."`
}

// words returns the changes in the form of the audit log.
func (c SettingsChange) words() string {
	var words []string
	for _, name := range slices.Sorted(maps.Keys(c.Set)) {
		words = append(words, name+"="+c.Set[name])
	}
	for _, name := range c.Unset {
		words = append(words, name+" unset")
	}
	if c.Replace {
		words = append(words, "replace")
	}
	return strings.Join(words, " ")
}

// Apply changes settings. It returns a *settings.Error for an impossible change.
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
