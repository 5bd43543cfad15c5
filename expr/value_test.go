package expr_test

import (
	"encoding/json"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/swrun/swrun/expr"
)

func TestDecode(t *testing.T) {
	for _, c := range []struct {
		text string
		want any
	}{
		{`null`, nil}, {`true`, true}, {` "ü" `, "ü"}, {`[]`, []any{}}, {`{}`, map[string]any{}},
		{`1`, 1}, {`-7`, -7}, {`9007199254740993`, 9007199254740993}, {`9223372036854775807`, math.MaxInt},
		{`9223372036854775808`, json.Number("9223372036854775808")}, {`100000000000000000000`, json.Number("100000000000000000000")},
		{`1.5`, 1.5}, {`3.0`, 3.0}, {`1e3`, 1000.0}, {`1.10`, 1.1}, {`0.1`, 0.1}, {`-0.5`, -0.5}, {`0.0`, 0.0}, {`5e-324`, 5e-324},
		{`0.1000000000000000055`, json.Number("0.1000000000000000055")}, {`1e400`, json.Number("1e400")},
		{`1e-400`, json.Number("1e-400")}, {`1E5`, 1e5}, {`12.50e1`, 125.0},
		{`[1, {"a": 18446744073709551616}]`, []any{1, map[string]any{"a": json.Number("18446744073709551616")}}},
	} {
		t.Run(c.text, func(t *testing.T) {
			got, err := expr.Decode([]byte(c.text))
			if diff := cmp.Diff(c.want, got); diff != "" || err != nil {
				t.Errorf("%v %s", err, diff)
			}
		})
	}
	if zero, _ := expr.Decode([]byte("-0")); !math.Signbit(zero.(float64)) {
		t.Error("-0 has lost its sign")
	}
}

func TestDecodeRefuses(t *testing.T) {
	for name, text := range map[string]string{
		"nothing": "", "an open array": "[1", "two values": "1 2", "text after the value": "{} x", "a second bracket": "[]]",
		"a bare word": "nul", "a number with a leading zero": "01", "deep nesting": strings.Repeat("[", 10_001) + strings.Repeat("]", 10_001),
		"a single quote": "{'a': 1}", "NaN": "NaN",
	} {
		t.Run(name, func(t *testing.T) {
			if v, err := expr.Decode([]byte(text)); err == nil {
				t.Errorf("got %v, want an error", v)
			}
		})
	}
}

func TestEncode(t *testing.T) {
	for _, c := range []struct {
		name string
		v    any
		want string
	}{
		{"sorted keys", map[string]any{"b": 1, "a": []any{nil, true}}, `{"a":[null,true],"b":1}`},
		{"no HTML escapes", "<a & b>\u2028", "\"<a & b>\u2028\""},
		{"escapes", "\"\\\b\f\n\r\t\x01", `"\"\\\b\f\n\r\t\u0001"`},
		{"invalid UTF-8", "a\xffb", "\"a\ufffdb\""},
		{"not a number", math.NaN(), "null"},
		{"infinities", []any{math.Inf(1), math.Inf(-1)}, "[1.7976931348623157e+308,-1.7976931348623157e+308]"},
		{"floats", []any{1.5, 1e21, 1e-7, 3.0}, "[1.5,1e+21,1e-7,3]"},
		{"a large number", json.Number("12345678901234567890"), "12345678901234567890"},
		{"a minus zero", math.Copysign(0, -1), "-0"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := expr.Encode(c.v)
			if string(got) != c.want || err != nil {
				t.Errorf("got %s, %v, want %s", got, err, c.want)
			}
		})
	}
	for _, v := range []any{int64(1), json.Number("x"), json.Number("01"), struct{}{}, []any{time.Now}} {
		if got, err := expr.Encode(v); err == nil {
			t.Errorf("got %s, want an error for %v", got, v)
		}
	}
}

func TestNormalize(t *testing.T) {
	type point struct {
		X int     `json:"x"`
		Y float32 `json:"y,omitempty"`
	}
	for _, c := range []struct {
		name    string
		v, want any
	}{
		{"a structure", point{X: 1}, map[string]any{"x": 1}},
		{"typed collections", map[string][]string{"a": {"<b>"}}, map[string]any{"a": []any{"<b>"}}},
		{"integers", []any{int8(1), uint64(math.MaxUint64), int64(5), uint16(9)}, []any{1, json.Number("18446744073709551615"), 5, 9}},
		{"a number that fits", json.Number("5"), 5},
		{"a time", time.Unix(0, 0).UTC(), "1970-01-01T00:00:00Z"},
		{"bytes", []byte("hi"), "aGk="},
		{"nested", map[string]any{"a": []any{point{X: 2, Y: 0.5}}}, map[string]any{"a": []any{map[string]any{"x": 2, "y": 0.5}}}},
		{"an absent pointer", (*point)(nil), nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := expr.Normalize(c.v)
			if diff := cmp.Diff(c.want, got); diff != "" || err != nil {
				t.Errorf("%v %s", err, diff)
			}
		})
	}
	for name, v := range map[string]any{"not a number": math.NaN(), "a function": func() {}, "a bad number": []any{json.Number("x")}} {
		if got, err := expr.Normalize(v); err == nil {
			t.Errorf("%s: got %v, want an error", name, got)
		}
	}
	normal := map[string]any{"a": []any{1, "x"}}
	if got, _ := expr.Normalize(normal); !isSame(got, normal) {
		t.Error("a normal value is not returned itself")
	}
	cycle := map[string]any{}
	cycle["self"] = cycle
	if _, err := expr.Normalize(cycle); err == nil {
		t.Error("a cycle was not refused")
	}
}

// TestSize: the size equals the size of the JSON text, for every type of value.
func TestSize(t *testing.T) {
	for _, text := range []string{
		`null`, `true`, `false`, `0`, `-1`, `255`, `1234567890123`, `0.5`, `-12.25`, `1e+30`, `1e-7`, `12345678901234567890123`, `""`, `"text"`, `[]`, `{}`, `[1]`,
		`[1,2,3,[true,[]],null]`, `{"a":1}`, `{"a":1,"b":{"c":[],"d":{}},"":""}`, "[" + strings.Repeat("1,", 10_000) + "1]",
	} {
		v, err := expr.Decode([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		if size := expr.EncodedSize(v, math.MaxInt); size != len(text) {
			t.Errorf("%.60s: got %d, want %d", text, size, len(text))
		}
		if size := expr.EncodedSize(v, 3); size <= 3 && len(text) > 3 {
			t.Errorf("%.60s: got %d when 3 are enough", text, size)
		}
	}
}

// TestAppendAtMost: a value is written if its JSON fits the given number of bytes, for every type of value.
func TestAppendAtMost(t *testing.T) {
	for _, text := range []string{`null`, `-12.5`, `"ä\n"`, `[]`, `{}`, `[1,[2,"x"]]`, `{"a":{"b":[true,null]},"longer":"text"}`} {
		v := mustDecode(t, text)
		for most := range len(text) + 3 {
			b, err := expr.AppendAtMost([]byte("before"), v, most)
			if fits := most >= len(text); fits != (err == nil) || fits && string(b) != "before"+text || !fits && err != expr.ErrTooLong {
				t.Errorf("%s within %d bytes: %s, %v", text, most, b, err)
			}
		}
	}
	large := []any{strings.Repeat("x", 1<<20), map[string]any{strings.Repeat("k", 1<<20): 1}}
	if n := testing.AllocsPerRun(10, func() { _, _ = expr.AppendAtMost(nil, large, 100) }); n > 5 {
		t.Errorf("%v allocations to find that a value is too long", n)
	}
}
