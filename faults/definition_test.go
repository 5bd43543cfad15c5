package faults

import (
	"encoding/json"

	"github.com/swrun/swrun/runtime/definition"
)

func parseDefinition(data []byte) (d definition.Definition, err error) {
	err = json.Unmarshal(data, &d)
	return d, err
}
