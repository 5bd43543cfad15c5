// Package description reads documents that describe services, as JSON or YAML, and follows the references in them. It handles the common part of such
// documents: they may come from anywhere, are read within limits, and nothing else is fetched because of them.
package description

import (
	"fmt"
	"net/url"
	"strings"

	"github.com/swrun/swrun/internal/shorten"
)

// maxReferences is the maximum number of references in a chain.
const maxReferences = 32

// Resolve returns an object of a document, or the target of its reference.
func Resolve(root map[string]any, v any) (map[string]any, error) {
	found, _, err := Find(root, v)
	return found, err
}

// Find is Resolve with the last reference of the chain to the object; it is empty without references.
func Find(root map[string]any, v any) (found map[string]any, reference string, err error) {
	for range maxReferences {
		found = Object(v)
		next := Text(found["$ref"])
		if next == "" {
			return found, reference, nil
		}
		if v, err = follow(root, next); err != nil {
			return nil, "", err
		}
		reference = next
	}
	return nil, "", fmt.Errorf("its references lead in a circle, or on for more than %d steps", maxReferences)
}

// follow returns the target of a reference, which must be in the document.
func follow(root map[string]any, reference string) (any, error) {
	if !strings.HasPrefix(reference, "#/") {
		return nil, fmt.Errorf("the reference %s is not followed: it leads out of the document; bundle what it refers to", shorten.Quoted(withoutUser(reference)))
	}
	var at any = root
	for _, token := range Tokens(reference) {
		next, ok := Object(at)[token]
		if !ok {
			return nil, fmt.Errorf("the reference %s leads nowhere", shorten.Quoted(reference))
		}
		at = next
	}
	return at, nil
}

// Tokens returns the names in the path of a reference into a document.
func Tokens(reference string) []string {
	pointer := strings.TrimPrefix(reference, "#/")
	if unescaped, err := url.PathUnescape(pointer); err == nil {
		pointer = unescaped
	}
	tokens := strings.Split(pointer, "/")
	for i, token := range tokens {
		tokens[i] = strings.NewReplacer("~1", "/", "~0", "~").Replace(token)
	}
	return tokens
}

// withoutUser returns a reference without the parts that may be a password.
func withoutUser(reference string) string {
	if u, err := url.Parse(reference); err == nil {
		u.User, u.RawQuery = nil, ""
		return u.String()
	}
	return "to something that is not a URL"
}

// Object returns v if it is an object, and nil otherwise.
func Object(v any) map[string]any {
	found, _ := v.(map[string]any)
	return found
}

// Text returns v if it is a text, and an empty text otherwise.
func Text(v any) string {
	found, _ := v.(string)
	return found
}

// List returns v if it is a list, and nil otherwise.
func List(v any) []any {
	found, _ := v.([]any)
	return found
}
