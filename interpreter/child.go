package interpreter

import (
	"encoding/json"

	"github.com/swrun/swrun/errors"
)

// ChildRequest is the request of a run_workflow task: to start another workflow as a run of its own.
type ChildRequest struct {
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	Version   string `json:"version"` // a semantic version or "latest"
	Input     Value  `json:"input"`
	// ParentClose says what happens to the child when its parent no longer waits for it, one of dsl.ParentClose.... Drivers
	// that store nothing cancel it.
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
