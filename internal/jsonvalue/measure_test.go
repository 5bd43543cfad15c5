//go:build !race

package jsonvalue_test

import (
	"runtime"
	"strconv"
	"strings"
	"testing"

	"github.com/swrun/swrun/internal/jsonvalue"
)

// TestSize: the estimate for a text before it is read is the memory of its value, for any content. With the race detector a number takes twice its
// bytes.
func TestSize(t *testing.T) {
	list := func(item string) string { return "[" + strings.Repeat(item+",", (1<<20)/len(item)) + "null]" }
	many := &strings.Builder{}
	for i := range 30_000 {
		many.WriteString(`,"member ` + strconv.Itoa(i) + `":` + strconv.Itoa(i))
	}
	for name, text := range map[string]string{
		"records": list(record), "small objects": list(`{"id":123456,"name":"abcdef"}`), "digits": list("1"), "numbers": list("1234567"), "long numbers": list("12345678901234567890"),
		"literals": list("true"), "empty objects": list("{}"), "empty lists": list("[]"), "lists in lists": list("[[1],[2,3]]"), "one text": `"` + strings.Repeat("x", 1<<20) + `"`,
		"short texts": list(`"a text"`), "empty texts": list(`""`), "long texts": list(`"` + strings.Repeat("text", 50) + `"`), "one object": "{" + many.String()[1:] + "}",
		"objects of nine": list(`{"a":1,"b":2,"c":3,"d":4,"e":5,"f":6,"g":7,"h":8,"i":9}`), "indented": list("\n    {\n        \"id\" : 123456\n    }"),
	} {
		t.Run(name, func(t *testing.T) {
			data := []byte(text)
			before := heap()
			v, err := jsonvalue.Decode(data)
			if err != nil {
				t.Fatal(err)
			}
			takes := heap() - before
			runtime.KeepAlive(v)
			runtime.KeepAlive(data)
			size := jsonvalue.Size(data)
			t.Logf("%.1f bytes for each of the text, %.1f said", float64(takes)/float64(len(text)), float64(size)/float64(len(text)))
			if size < takes*9/10 || size > takes*13/10 {
				t.Errorf("the value takes %d bytes, and %d were said", takes, size)
			}
		})
	}
}

// heap returns the number of live bytes.
func heap() int {
	runtime.GC()
	runtime.GC() // the second run frees the objects that the first has found unused
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return int(stats.HeapAlloc)
}

// TestSizeOfWhatIsNoJSON: for a text that is not JSON, Size ends, and returns no more than the text allows.
func TestSizeOfWhatIsNoJSON(t *testing.T) {
	for _, text := range []string{"", " ", "}", "]]", `"`, `"\`, `{"a`, "tru", "-", "1e", "{]", strings.Repeat("[", 1<<20), strings.Repeat(`{"":`, 1<<20), strings.Repeat("]", 1<<20), "\x00\xff"} {
		if size := jsonvalue.Size([]byte(text)); size < 0 || size > 400*(len(text)+1) {
			t.Errorf("%.20q: got %d", text, size)
		}
	}
}
