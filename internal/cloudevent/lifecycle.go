package cloudevent

import (
	"strings"

	"github.com/swrun/swrun/dsl"
)

// The prefix and the suffix of the types of the specification's lifecycle events.
const (
	LifecyclePrefix  = dsl.LifecycleTypes
	lifecycleVersion = ".v1"
)

// LifecycleType returns the type of a lifecycle event with a name such as task.faulted.
func LifecycleType(name string) string { return LifecyclePrefix + name + lifecycleVersion }

// LifecycleName returns the name of a type of lifecycle events, such as task.faulted.
func LifecycleName(kind string) string {
	return strings.TrimSuffix(strings.TrimPrefix(kind, LifecyclePrefix), lifecycleVersion)
}

// IsLifecycle reports whether events of a type are about the lifecycle of a workflow.
func IsLifecycle(kind string) bool { return strings.HasPrefix(kind, LifecyclePrefix) }
