package interpreter

import (
	"crypto/sha256"
	"encoding/base32"
	"encoding/json"
	"strings"

	"github.com/swrun/swrun/errors"
	"github.com/swrun/swrun/internal/shorten"
	"github.com/swrun/swrun/limits"
)

// ChildRequest is the request of a run_workflow task: to start another workflow as a run of its own.
type ChildRequest struct {
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	Version   string `json:"version"` // a semantic version or "latest"
	Input     Value  `json:"input"`
	// ParentClose specifies the fate of the child when its parent no longer waits for it or is over: one of dsl.ParentClose..., or empty for the
	// default. Drivers without a store cancel the child.
	ParentClose string `json:"parentClose,omitempty"`
}

// ReadChildRequest decodes the body of a run_workflow task's request.
func ReadChildRequest(body json.RawMessage) (ChildRequest, *errors.Error) {
	var r ChildRequest
	if err := json.Unmarshal(body, &r); err != nil {
		return r, errors.Runtimef("the request to run a workflow cannot be decoded: %s", err)
	}
	return r, nil
}

// ChildID returns the id of the run that a task of a run starts. It is derived from the place of the start. Starting the child again is therefore the
// same start.
func ChildID(namespace, id string, path Path) string {
	sum := sha256.Sum256([]byte(namespace + "/" + id + "\n" + string(path)))
	return ChildPrefix(id) + strings.ToLower(base32.StdEncoding.EncodeToString(sum[:])[:childSuffix])
}

const childSuffix = 12

// ChildPrefix returns the common beginning of the ids of a run's children and of all their descendants.
func ChildPrefix(id string) string {
	return strings.TrimRight(id[:min(len(id), limits.Set{}.Max(limits.ID)-childSuffix-1)], "._~:-") + "."
}

// MemberRun is the member of an error that comes from a child: the child, as namespace/id.
const MemberRun = "run"

// MemberTimeoutKind is the member of a timeout error that contains the kind of the deadline that passed: one of TimeoutKinds.
const MemberTimeoutKind = "timeoutKind"

// ClosingReason returns the reason that the children of a run get when the run no longer waits for them.
func (s *State) ClosingReason() string {
	name := "the run " + s.Namespace + "/" + s.ID + ", which has started it, "
	switch s.Status {
	case StatusCancelled:
		if s.Order.Reason != "" {
			return shorten.To(name+"was cancelled: "+s.Order.Reason, limits.Set{}.Max(limits.Reason))
		}
		return name + "was cancelled"
	case StatusCompleted:
		return name + "completed"
	case StatusFaulted:
		return shorten.To(name+"faulted: "+s.Fault.Error(), maxClosingReason)
	}
	return "the task of " + s.Namespace + "/" + s.ID + ", which has started it, is over"
}

// maxClosingReason is the maximum length of the part of an error that a reason contains.
const maxClosingReason = 400
