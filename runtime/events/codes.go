package events

import (
	"sync"

	"github.com/swrun/swrun/expr"
)

// codes are the compiled expressions of correlations that were used of late. Documents bring as many as they like, and may be gone tomorrow.
type codes struct {
	mu sync.Mutex
	// Used entries are in now. When now is full, it becomes before, and the former content of before is dropped.
	now, before map[string]*expr.Code // by their texts; nil for a text that cannot be compiled
	bytes       int                   // of the texts in now
	compiled    int                   // how often one was compiled
}

// One of the two maps holds maxCodes expressions at most: more than the groups that a bus knows at a time (maxGroups) usually have. Their texts have
// maxCodeBytes together, since a compiled expression takes many times the memory of its text.
const (
	maxCodes     = 2048
	maxCodeBytes = 2 << 20
)

// of returns an expression that is compiled; nil if it cannot be.
func (c *codes) of(text string) *expr.Code {
	c.mu.Lock()
	defer c.mu.Unlock()
	if code, known := c.now[text]; known {
		return code
	}
	code, known := c.before[text]
	if !known {
		var err error
		if code, err = expr.Compile("${" + text + "}"); err != nil {
			code = nil
		}
		c.compiled++
	}
	if c.now == nil || len(c.now) == maxCodes || c.bytes+len(text) > maxCodeBytes {
		c.now, c.before, c.bytes = map[string]*expr.Code{}, c.now, 0
	}
	c.now[text] = code
	c.bytes += len(text)
	return code
}
