package interpreter

import (
	"encoding/json"

	"github.com/swrun/swrun/errors"
)

// ChildRequest is what a run_workflow task asks of its driver: to run another workflow, as an instance of its own.
type ChildRequest struct {
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	Version   string `json:"version"` // a semantic version or "latest"
	Input     Value  `json:"input"`
	// ParentClose is what becomes of the child when nobody waits for it any more, one of dsl.ParentClose...; drivers that keep
	// nothing cancel it.
	ParentClose string `json:"parentClose,omitempty"`
}

// ReadChildRequest reads the body of such a request.
func ReadChildRequest(body json.RawMessage) (ChildRequest, *errors.Error) {
	var r ChildRequest
	if err := json.Unmarshal(body, &r); err != nil {
		return r, errors.Runtimef("the request for a workflow cannot be read: %s", err)
	}
	return r, nil
}
