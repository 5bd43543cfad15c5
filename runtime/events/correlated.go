package events

import (
	"encoding/json"
	"time"

	"github.com/swrun/swrun/expr"
	"github.com/swrun/swrun/interpreter"
	"github.com/swrun/swrun/runtime/store"
)

// correlated returns the filters with the expressions of groups that an event has the values for. The same expressions of several groups are evaluated
// once.
func (b *Bus) correlated(event map[string]any, groups []interpreter.EventFilter) (all []store.ListenFilter) {
	keys := map[string]string{}
	for _, f := range groups {
		bare, _, _ := store.BareFrom(f.From)
		key, known := keys[bare]
		if !known {
			key = b.key(bare, event)
			keys[bare] = key
		}
		if f.Key = key; key != "" {
			all = append(all, store.ListenFilter{EventFilter: f})
		}
	}
	return all
}

// key returns the key of the values that some expressions yield for an event; empty if one of them yields nothing.
func (b *Bus) key(from string, event map[string]any) string {
	var texts []string
	if json.Unmarshal([]byte(from), &texts) != nil {
		return ""
	}
	values := make([]any, len(texts))
	for n, text := range texts {
		code := b.codes.of(text)
		if code == nil {
			return ""
		}
		v, err := code.Eval(noVariables{b.Places}, any(event))
		if err != nil || v == nil {
			return ""
		}
		values[n] = v
	}
	return interpreter.EventKey(values)
}

// noVariables is the environment of expressions that have no variables.
type noVariables struct{ places *expr.Places }

func (v noVariables) Places() *expr.Places { return v.places }

func (noVariables) Variable(string) any { return nil }

func (noVariables) Now() time.Time { return time.Time{} }
