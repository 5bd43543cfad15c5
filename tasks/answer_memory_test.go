package tasks_test

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"

	"github.com/swrun/swrun/dsl"
	"github.com/swrun/swrun/interpreter"
)

// account notes the reservations of an effect.
type account struct{ read, kept, values int64 }

func (a *account) Reserve(_ context.Context, bytes int64) error {
	a.read, a.kept = bytes, bytes
	return nil
}
func (a *account) Keep(bytes int64) { a.kept = bytes }
func (a *account) ReserveValues(_ context.Context, bytes int64) error {
	a.values = bytes
	return nil
}

// TestMemoryOfAnAnswer: an answer reserves its size, or its maximum size as long as the size is not known. It reserves memory for values only if it
// becomes values.
func TestMemoryOfAnAnswer(t *testing.T) {
	const size = 120_000
	var contentType, body string
	var announced bool
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", contentType)
		if announced {
			w.Header().Set("Content-Length", strconv.Itoa(len(body)))
		}
		_, _ = w.Write([]byte(body[:len(body)/2]))
		_ = http.NewResponseController(w).Flush()
		_, _ = w.Write([]byte(body[len(body)/2:]))
	}))
	defer server.Close()
	perform := mustCompile(t, header+"  - ask: { call: http, with: { method: get, endpoint: 'http://a.test' } }\n").Performer(dsl.KindCallHTTP)
	text, objects := `"`+strings.Repeat("x", size-2)+`"`, "["+strings.Repeat(`{"a":1234},`, size/11)+"0]"
	for _, c := range []struct {
		name, contentType, format, body string
		announced                       bool
		read, least, most               int64 // values for each byte
	}{
		{"text", "text/plain", "content", text, true, 4 * size, 0, 0},
		{"bytes", "image/png", "content", text, true, 4 * size, 0, 0},
		{"JSON as bytes", "application/json", "raw", objects, true, 4 * int64(len(objects)), 0, 0},
		{"a text as JSON", "application/json", "content", text, true, 4 * size, 1, 1},
		{"objects as JSON", "application/problem+json", "response", objects, true, 4 * int64(len(objects)), 30, 36},
		{"without its size", "application/json", "content", text, false, 4 * 10 << 20, 1, 1},
		{"a little", "application/json", "content", `[1,2]`, true, 0, 0, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			contentType, body, announced = c.contentType, c.body, c.announced
			request, err := json.Marshal(map[string]any{"method": "GET", "uri": server.URL, "format": c.format})
			if err != nil {
				t.Fatal(err)
			}
			var a account
			if _, err := perform(t.Context(), interpreter.Request{Body: request, Memory: &a}); err != nil {
				t.Fatal(err)
			}
			kept := 4 * int64(len(c.body))
			if c.read == 0 {
				kept = 0
			}
			if values := a.values / int64(len(c.body)); a.read != c.read || a.kept != kept || values < c.least || values > c.most {
				t.Errorf("got %+v for %d bytes", a, len(c.body))
			}
		})
	}
}
