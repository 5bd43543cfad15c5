package jsonvalue_test

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"github.com/swrun/swrun/internal/jsonvalue"
)

// plain converts the result of encoding/json to the numbers of this package.
func plain(v any) any {
	switch v := v.(type) {
	case json.Number:
		return jsonvalue.Number(v)
	case []any:
		for i := range v {
			v[i] = plain(v[i])
		}
	case map[string]any:
		for name := range v {
			v[name] = plain(v[name])
		}
	}
	return v
}

func FuzzDecode(f *testing.F) {
	list := "[" + strings.Repeat(`{"id":1,"name":"a short text","ü":"ü","more":[{},[],""]},`, 200) + "null]"
	for _, text := range []string{
		`null`, `true`, ` [ 1 , 2.50, -0, 1e400, 12345678901234567890, 0.1e-7 ] `, `{"a":{"b":[]},"a":1}`, `"\u00e9\ud800\n\"\\"`, list,
		"\"\xff\"", "\"a\x01\"", `01`, `1.`, `-`, `1e`, `tru`, `{"a"}`, `{"a":1,}`, `[1,]`, `[`, `"`, `"\`, `{} x`, ``, ` `, `{1:2}`, "\ufeff1",
		strings.Repeat("[", 10_000) + strings.Repeat("]", 10_000), strings.Repeat("[", 10_001) + strings.Repeat("]", 10_001),
		strings.Repeat(`{"":`, 10_001) + "1" + strings.Repeat("}", 10_001),
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		decoder := json.NewDecoder(strings.NewReader(string(data)))
		decoder.UseNumber()
		var want any
		wrong := decoder.Decode(&want)
		if _, err := decoder.Token(); wrong == nil && (err == nil || err.Error() != "EOF") {
			wrong = err
			if wrong == nil {
				wrong = json.Unmarshal([]byte("x"), new(any))
			}
		}
		got, err := jsonvalue.Decode(data)
		switch {
		case (err == nil) != (wrong == nil):
			t.Errorf("%q: got the error %v, encoding/json has %v", data, err, wrong)
		case err == nil && !reflect.DeepEqual(got, plain(want)):
			t.Errorf("%q: got %v, encoding/json has %v", data, got, want)
		}
	})
}

// TestNothingRefersToTheText: the caller of Decode may use the bytes again.
func TestNothingRefersToTheText(t *testing.T) {
	data := []byte(`{"name":"text","long":"` + strings.Repeat("x", 5000) + `","n":123456789012345678901234567890}`)
	v, err := jsonvalue.Decode(data)
	if err != nil {
		t.Fatal(err)
	}
	clear(data)
	m := v.(map[string]any)
	if m["name"] != "text" || m["long"] != strings.Repeat("x", 5000) || m["n"] != json.Number("123456789012345678901234567890") {
		t.Error("it has changed with the text")
	}
}

// record is a typical element of a service's list.
const record = `{"id":123456,"name":"a name of some length","price":12.5,"tags":["one","two"],"description":"a text of a hundred characters or so, as it stands in many answers of many services, without much sense."}`

// BenchmarkDecode measures the allocated bytes for each byte of a document.
func BenchmarkDecode(b *testing.B) {
	for name, item := range map[string]string{
		"empty": `{},`, "number": `1234567,`, "small": `{"id":123456,"name":"abcdef"},`,
		"record": record + ",", "digit": "1,",
	} {
		b.Run(name, func(b *testing.B) {
			data := []byte("[" + strings.Repeat(item, (1<<20)/len(item)) + "null]")
			b.SetBytes(int64(len(data)))
			b.ReportAllocs()
			for b.Loop() {
				if _, err := jsonvalue.Decode(data); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// TestDecodeStrict: nothing of a text is changed or left out, and the error shows the refused part.
func TestDecodeStrict(t *testing.T) {
	for text, want := range map[string]string{
		"{\"big\":\"\xfc\"}":              "line 1, column 9: the byte 0xfc is not UTF-8",
		"{\n \"ü\xe2\x82\": 1}":           "line 2, column 4: the byte 0xe2 is not UTF-8",
		"\xff\xfe{\x00}\x00":              "line 1, column 1: the byte 0xff is not UTF-8",
		`["ü", "a\ud800b"]`:               `line 1, column 9: \ud800 is half of a character; the other half is missing`,
		`["\uDC00"]`:                      `line 1, column 3: \uDC00 is half of a character; the other half is missing`,
		`["\ud800\ud800\udc00"]`:          `line 1, column 3: \ud800 is half of a character; the other half is missing`,
		`{"\ud83d\u0041": 1}`:             `line 1, column 3: \ud83d is half of a character; the other half is missing`,
		`"\ud83d"`:                        `line 1, column 2: \ud83d is half of a character; the other half is missing`,
		"{\"a\": 1,\n  \"a\": 2}":         `line 2, column 3: the name "a" stands twice in one object`,
		`[{"b": {"a":1, "\u0061":2}}]`:    `line 1, column 16: the name "\u0061" stands twice in one object`,
		`{"": 1, "" : 2}`:                 `line 1, column 9: the name "" stands twice in one object`,
		`{"a": [}`:                        "line 1, column 8: invalid JSON: invalid character '}' looking for beginning of value",
		"{\"a\":\n ü}":                    "line 2, column 2: invalid JSON: invalid character 'ü' looking for beginning of value",
		`{"a": `:                          "line 1, column 7: invalid JSON: the text ends too early",
		``:                                "line 1, column 1: invalid JSON: the text ends too early",
		`{"a":1} x`:                       "line 1, column 9: invalid JSON: more text follows the value",
		`"\\ud800 \ud83d\ude00 \\"`:       "",
		`{"a":"a","b":{"a":":","b":":"}}`: "",
		`[{"a":1},{"a":1},["a","a"]]`:     "",
		"\"\ufffd\\ufffd\"":               "",
		` null `:                          "",
	} {
		got, err := jsonvalue.DecodeStrict([]byte(text))
		if want != "" && (err == nil || err.Error() != want) {
			t.Errorf("%q: got %v and the error %v, want %s", text, got, err, want)
		}
		plain, _ := jsonvalue.Decode([]byte(text))
		if want == "" && (err != nil || !reflect.DeepEqual(got, plain)) {
			t.Errorf("%q: got %v and the error %v, want %v", text, got, err, plain)
		}
	}
}
