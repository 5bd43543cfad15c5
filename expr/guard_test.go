package expr

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/itchyny/gojq"
)

// TestEveryNativeIsGuarded fails when gojq has a native whose cost nobody has thought about.
func TestEveryNativeIsGuarded(t *testing.T) {
	cheap := strings.Fields(`_allocator _break _negate acos acosh asin asinh atan atan2 atanh builtins cbrt ceil
		copysign cos cosh drem endswith erf erfc error exp exp10 exp2 expm1 fabs fdim floor fma fmax fmin fmod frexp gamma
		gmtime hypot infinite isfinite isinfinite isnan isnormal j0 j1 ldexp lgamma log log10 log1p log2 logb ltrimstr
		mktime modf nan nearbyint nextafter nexttoward pow remainder rint round rtrimstr scalb scalbln significand sin
		sinh sqrt startswith strptime tan tanh tgamma toboolean trimstr trunc type y0 y1`)
	var unguarded []string
	for _, name := range Functions() {
		for _, arity := range builtins[name] {
			source := name
			if arity > 0 {
				source += "(" + strings.Repeat(".;", arity-1) + ".)"
			}
			query, err := gojq.Parse(source + ` | . + 1 - 1 * 1 / 1 % 1 == 1 != 1 < 1 <= 1 > 1 >= 1 | .[.:.] | @html "\(-.)"`)
			if err != nil {
				query, err = gojq.Parse(source)
			}
			if err != nil {
				t.Fatal(err)
			}
			code, err := gojq.Compile(query)
			if err != nil {
				t.Fatal(err)
			}
			engine.natives(code, func(name string, arity int, f native) native {
				if replaced(name, f) == nil && guardOf(name) == nil && !slices.Contains(unguarded, name) {
					unguarded = append(unguarded, name)
				}
				return f
			})
		}
	}
	slices.Sort(unguarded)
	if diff := cmp.Diff(cheap, unguarded); diff != "" {
		t.Error(diff)
	}
}

func TestPatternsAreBounded(t *testing.T) {
	cache := &patterns{}
	for i := range 10 * maxPatterns {
		if _, err := cache.get(fmt.Sprintf("a%d", i), "g"); err != nil {
			t.Fatal(err)
		}
		if len(cache.known) > maxPatterns {
			t.Fatalf("%d patterns are kept", len(cache.known))
		}
	}
}
