package expr

import "github.com/itchyny/gojq"

// Equal reports whether two values are equal as JSON data. It follows jq's ==, so that 1 equals 1.0.
func Equal(a, b any) bool { return gojq.Compare(a, b) == 0 }
