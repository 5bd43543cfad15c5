package faults

import (
	"encoding/json"

	"github.com/swrun/swrun/runtime"
)

func parseDefinition(data []byte) (d runtime.Definition, err error) {
	err = json.Unmarshal(data, &d)
	return d, err
}
