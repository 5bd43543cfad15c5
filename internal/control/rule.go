package control

import (
	"github.com/swrun/swrun/internal/api"
	"github.com/swrun/swrun/internal/explain"
	"github.com/swrun/swrun/internal/shorten"
	"github.com/swrun/swrun/runtime/store"
)

// Rule explains the code of a finding, or a type of errors; an unknown one is refused as store.NoSuch.
func (c *Control) Rule(code string) (api.Rule, error) {
	text, ok := explain.Of(code)
	if !ok {
		return api.Rule{}, &store.Refusal{Code: store.NoSuch, Detail: "rule " + shorten.Quoted(code)}
	}
	return api.Rule{Code: code, Text: text}, nil
}
