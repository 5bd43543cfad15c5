package redact

import (
	"reflect"
	"sync"
)

// Cache keeps the Set of secrets whose values hardly ever change. The zero value is ready.
type Cache struct {
	// Public reports whether a text stands in an error because the workflow's document, or this program, says so. Nil: none does.
	Public func(text string) bool

	mu     sync.Mutex
	values map[string]any
	set    *Set
}

// Set returns the set of the secrets that lookup knows of all names; nil if there are no names.
func (c *Cache) Set(names []string, lookup func(name string) (any, bool)) *Set {
	if len(names) == 0 {
		return nil
	}
	values, whole := map[string]any{}, true
	for _, name := range names {
		v, ok := any(nil), false
		if lookup != nil {
			v, ok = lookup(name)
		}
		if whole = whole && ok; ok {
			values[name] = v
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.set == nil || !reflect.DeepEqual(values, c.values) {
		c.values, c.set = values, New(values, whole)
		c.set.public = c.Public
	}
	return c.set
}
