package redact

import (
	"reflect"
	"sync"
)

// Cache keeps a Set as long as the values of its secrets stay the same. The zero value is ready.
type Cache struct {
	// Public reports whether a text of an error comes from the workflow's document or from this program, so that it is not hidden. If it is nil, every
	// text that contains a secret is hidden.
	Public func(text string) bool
	// Former returns the earlier values of a secret, which are hidden too; nil for none.
	Former func(name string) []any

	mu     sync.Mutex
	values map[string]any
	former map[string][]any
	set    *Set
}

// Set returns the set of those named secrets that lookup finds; nil if there are no names.
func (c *Cache) Set(names []string, lookup func(name string) (any, bool)) *Set {
	if len(names) == 0 {
		return nil
	}
	values, former, complete := map[string]any{}, map[string][]any{}, true
	for _, name := range names {
		if c.Former != nil && len(c.Former(name)) > 0 {
			former[name] = c.Former(name)
		}
		v, ok := any(nil), false
		if lookup != nil {
			v, ok = lookup(name)
		}
		if complete = complete && ok; ok {
			values[name] = v
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.set == nil || !reflect.DeepEqual(values, c.values) || !reflect.DeepEqual(former, c.former) {
		c.values, c.former, c.set = values, former, newSet(values, former, complete)
		c.set.public = c.Public
	}
	return c.set
}
