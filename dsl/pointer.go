package dsl

import (
	"strconv"
	"strings"
)

// Pointer is a JSON Pointer (RFC 6901) into a workflow's definition. It is static: it names a place in the document, independent of loop passes and
// attempts. The empty pointer is the document itself.
type Pointer string

var (
	escaper   = strings.NewReplacer("~", "~0", "/", "~1")
	unescaper = strings.NewReplacer("~1", "/", "~0", "~")
)

// pointerOf returns the pointer of a place that is given as keys and indices.
func pointerOf(path []string) (p Pointer) {
	for _, token := range path {
		p = p.Key(token)
	}
	return p
}

// Key returns the pointer of p's member name.
func (p Pointer) Key(name string) Pointer { return p + Pointer("/"+escaper.Replace(name)) }

// Index returns the pointer of p's item i.
func (p Pointer) Index(i int) Pointer { return p + Pointer("/"+strconv.Itoa(i)) }

// Item returns the pointer of the named entry i of a list such as do: /do/0/greet.
func (p Pointer) Item(i int, name string) Pointer { return p.Index(i).Key(name) }

// Tokens returns p's unescaped reference tokens.
func (p Pointer) Tokens() []string {
	if p == "" || p == "/" {
		return nil
	}
	tokens := strings.Split(string(p[1:]), "/")
	for i, token := range tokens {
		tokens[i] = unescaper.Replace(token)
	}
	return tokens
}

// Instance returns p as an error's instance, where the workflow itself is written "/" (semantics section 8).
func (p Pointer) Instance() string {
	if p == "" {
		return "/"
	}
	return string(p)
}
