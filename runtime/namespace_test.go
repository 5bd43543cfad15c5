package runtime_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/swrun/swrun/dsl"
	"github.com/swrun/swrun/runtime/store"
)

// TestPromise84 and 85, 88: valid names of namespaces, in documents and elsewhere. Letters keep their case, and there is always a
// namespace.
func TestPromise84(t *testing.T) {
	for name, valid := range map[string]bool{
		"a": true, "A-b-9": true, "5a": true, "Shop": true, strings.Repeat("a", 63): true,
		"": false, strings.Repeat("a", 64): false, "-a": false, "a-": false, "a.b": false, "a_b": false, "ä": false, "a b": false, "a\n": false, "a/b": false, "*": false,
	} {
		w, found := dsl.Parse("", fmt.Appendf(nil, "document: {dsl: 1.0.3, namespace: %q, name: x, version: 1.0.0}\ndo: [{a: {set: {x: 1}}}]", name))
		if err := store.CheckNamespace(name); (err == nil) != valid {
			t.Errorf("a store says of %q: %v", name, err)
		}
		if dsl.IsName(name) != valid || (found.Err() == nil) != valid || valid && w.Document.Namespace != name {
			t.Errorf("%q: %v", name, found.Err())
		}
	}
	for _, none := range []string{"", "namespace: , ", "namespace: null, ", "namespace: [a], ", "namespace: 5, "} {
		if _, found := dsl.Parse("", []byte("document: {dsl: 1.0.3, "+none+"name: x, version: 1.0.0}\ndo: [{a: {set: {x: 1}}}]")); found.Err() == nil {
			t.Errorf("%q is accepted", none)
		}
	}
}
