package jsonvalue_test

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"github.com/swrun/swrun/internal/jsonvalue"
)

// plain is what encoding/json reads, with numbers as this package has them.
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

// TestNothingRefersToTheText: who decodes may use the bytes again.
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

// record is what many services list.
const record = `{"id":123456,"name":"a name of some length","price":12.5,"tags":["one","two"],"description":"a text of a hundred characters or so, as it stands in many answers of many services, without much sense."}`

// BenchmarkDecode tells how many bytes are allocated for each byte of a document.
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
