package dsl

import (
	"fmt"
	"strings"

	"github.com/swrun/swrun/internal/delimited"
	"github.com/swrun/swrun/internal/shorten"
)

// checkHTTPNames: SW112, a literal method of `call: http`, or a name among its headers, that HTTP does not allow.
func checkHTTPNames(c *checker) {
	Walk(c.w, func(t Task) bool {
		if call, ok := t.(*CallHTTP); ok {
			c.httpNames(call)
		}
		return true
	})
}

func (c *checker) httpNames(call *CallHTTP) {
	const allowed = "letters, digits and hyphens are allowed, and no space"
	if method := call.Method.Text(); method != "" && !delimited.Is(method) && !IsToken(method) {
		c.add(Diagnostic{Code: "SW112", Pointer: call.Method.Pointer, Help: allowed, Message: fmt.Sprintf("%s is not a method such as GET", shorten.Quoted(method))})
	}
	headers, _ := call.Headers.Data.(map[string]any)
	for name, value := range headers {
		if value == nil || strings.TrimSpace(name) == "" || IsToken(name) { // what is blank is reported by Parse
			continue
		}
		at := call.Headers.Pointer.Key(name)
		c.add(Diagnostic{Code: "SW112", Pointer: at, Range: c.w.Source.Key(at), Help: allowed, Message: fmt.Sprintf("%s is not the name of a header", shorten.Quoted(name))})
	}
}

// IsToken reports whether HTTP takes a text as a method or as the name of a header: a token of RFC 9110.
func IsToken(s string) bool {
	return s != "" && !strings.ContainsFunc(s, func(r rune) bool {
		return r <= ' ' || r >= 0x7f || strings.ContainsRune(`"(),/:;<=>?@[\]{}`, r)
	})
}
