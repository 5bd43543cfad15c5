package api_test

import (
	"encoding/json"
	"testing"

	"github.com/swrun/swrun/internal/api"
)

// Named is embedded in answers.
type Named struct {
	Name string
	Any  any
}

// TestUntypedIsHidden: values of any type are left out of an answer in every place, unless the tag of the field marks them as no data. The original
// maps stay unchanged.
func TestUntypedIsHidden(t *testing.T) {
	type answer struct {
		Named
		Pointer *any
		List    []any
		Nested  []*Named
		Members map[string]any
		Inner   map[string]Named
		Labels  map[string]string
		Raw     json.RawMessage
		Bytes   []byte
		Shown   any    `data:"show"`
		Text    string `data:"hide"`
		Error   any    `data:"error"`
		None    any    `data:"error"`
		Hidden  bool   `data:"hidden"`
	}
	var secret any = "secret"
	inner := map[string]Named{"a": {"a", secret}}
	a := answer{
		Named: Named{"n", secret}, Pointer: &secret, List: []any{secret}, Nested: []*Named{{"b", secret}, nil}, Members: map[string]any{"m": secret}, Inner: inner,
		Labels: map[string]string{"l": "v"}, Raw: json.RawMessage(`"secret"`), Bytes: []byte("secret"), Shown: "shown", Text: "secret",
		Error: map[string]any{"type": "t", "status": 400, "instance": "/do", "title": secret, "detail": secret, "more": secret},
	}
	api.HideData(&a)
	got, err := json.Marshal(a)
	const want = `{"Name":"n","Any":null,"Pointer":null,"List":null,"Nested":[{"Name":"b","Any":null},null],"Members":null,"Inner":{"a":{"Name":"a","Any":null}},"Labels":{"l":"v"},` +
		`"Raw":null,"Bytes":null,"Shown":"shown","Text":"","Error":{"status":400,"type":"t"},"None":null,"Hidden":true}`
	if string(got) != want || err != nil {
		t.Errorf("%v: it is %s", err, got)
	}
	if inner["a"].Any != secret {
		t.Error("what others have was changed")
	}
}
