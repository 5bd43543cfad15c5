package expr

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/itchyny/gojq"
)

// TestEveryNativeIsGuarded fails when gojq has a native that has no guard and is not listed as cheap.
func TestEveryNativeIsGuarded(t *testing.T) {
	cheap := strings.Fields(`_allocator _break _negate _seconds acos acosh asin asinh atan atan2 atanh builtins cbrt ceil
		copysign cos cosh debug drem endswith erf erfc error exp exp10 exp2 expm1 fabs fdim floor fma fmax fmin fmod frexp gamma
		gmtime hypot infinite isfinite isinfinite isnan isnormal j0 j1 ldexp lgamma log log10 log1p log2 logb ltrimstr
		mktime modf nan nearbyint nextafter nexttoward pow remainder rint round rtrimstr scalb scalbln significand sin
		sinh sqrt startswith stderr tan tanh tgamma toboolean trimstr trunc type y0 y1`)
	var unguarded []string
	own := ""
	for _, d := range later() {
		own += d.text
	}
	for _, name := range Functions() {
		for _, arity := range builtins()[name] {
			source := name
			if arity > 0 {
				source += "(" + strings.Repeat(".;", arity-1) + ".)"
			}
			query, err := gojq.Parse(own + source + ` | . + 1 - 1 * 1 / 1 % 1 == 1 != 1 < 1 <= 1 > 1 >= 1 | .[.:.] | @html "\(-.)"`)
			if err != nil {
				query, err = gojq.Parse(own + source)
			}
			if err != nil {
				t.Fatal(err)
			}
			code, err := gojq.Compile(query, additions()...)
			if err != nil {
				t.Fatal(err)
			}
			engine.replaceNatives(code, func(name string, arity int, f native) native {
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

// TestHostZone must not be parallel: it changes the host's time zone.
func TestHostZone(t *testing.T) {
	programs := []string{
		`"2015-03-05 10:00 EST" | strptime("%Y-%m-%d %H:%M %Z") | mktime`, `0 | localtime`, `0 | strflocaltime("%c %Z %z")`,
		`[2015, 2, 5, 10, 0, 0, 0, 0] | mktime, strflocaltime("%s"), strftime("%c %Z")`, `"x" | try strptime("%Z %d") catch .`,
		`"Thu, 05 Mar 2015 23:51:47 +0100" | strptime("%a, %d %b %Y %H:%M:%S %z")`, `1 | try strptime("%d") catch .`,
	}
	evaluate := func() (all []any) {
		for _, program := range programs {
			v, problem := ownResult(t, program, true, nil, nil)
			all = append(all, v, problem)
		}
		return all
	}
	host := time.Local
	defer func() { time.Local = host }()
	time.Local = time.UTC
	here := evaluate()
	time.Local = time.FixedZone("EST", -5*60*60)
	if diff := cmp.Diff(here, evaluate()); diff != "" {
		t.Error(diff)
	}
	for _, program := range programs[1:] {
		time.Local = time.UTC
		compareResults(t, program, nil, nil)
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
