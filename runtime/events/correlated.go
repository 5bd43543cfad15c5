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
		bare, namespace, _ := store.BareFrom(f.From)
		key, known := keys[bare]
		if !known {
			key = b.key(bare, namespace, event)
			keys[bare] = key
		}
		if f.Key = key; key != "" {
			all = append(all, store.ListenFilter{EventFilter: f})
		}
	}
	return all
}

// key returns the key of the values that some expressions of a namespace yield for an event; empty if one of them yields nothing.
func (b *Bus) key(from, namespace string, event map[string]any) string {
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
		v, err := code.Eval(noVariables{expr.Place{Of: b.Places, Namespace: namespace}}, any(event))
		if err != nil || v == nil {
			return ""
		}
		values[n] = v
	}
	return interpreter.EventKey(values)
}

// noVariables is the environment of expressions that have no variables.
type noVariables struct{ place expr.Place }

func (v noVariables) Place() expr.Place { return v.place }

func (noVariables) Variable(string) any { return nil }

func (noVariables) Now() time.Time { return time.Time{} }
