// Package lazyregexp has the regular expressions of a package compiled when they are used first. There are dozens of them, and a run of a small document uses
// few: to compile all of them is a good part of the time that the program takes to start.
package lazyregexp

import (
	"regexp"
	"sync"
)

// New returns what compiles an expression when it is called first, and returns the same one from then on. It panics there if the text is none, so
// that it is for expressions that stand in the source.
func New(text string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(text) })
}
