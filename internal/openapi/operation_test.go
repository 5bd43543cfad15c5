package openapi

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"mime/multipart"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/swrun/swrun/internal/jsonvalue"
)

// mustOperation returns the only operation, x, of a document in YAML.
func mustOperation(t *testing.T, document string) *Operation {
	t.Helper()
	d, err := Parse([]byte(document), "https://example.com/docs/openapi.yaml")
	if err != nil {
		t.Fatal(err)
	}
	o, err := d.Operation("x")
	if err != nil {
		t.Fatal(err)
	}
	return o
}

// TestStyles compares the written values with the table of styles of the OpenAPI specification, and with swrun's choices for the cases that it leaves
// open.
func TestStyles(t *testing.T) {
	const array, members = `["blue", "black"]`, `{"R": 100, "G": 200}`
	for _, c := range []struct{ parameter, value, path, query string }{
		{`in: path`, `"a b/c?"`, "/v/a%20b%2Fc%3F", ""},
		{`in: path`, array, "/v/blue,black", ""},
		{`in: path`, members, "/v/G,200,R,100", ""},
		{`in: path, explode: true`, members, "/v/G=200,R=100", ""},
		{`in: path`, `["a,b"]`, "/v/a%2Cb", ""},
		{`in: path`, `"{x}"`, "/v/%7Bx%7D", ""},
		{`in: path, style: label`, array, "/v/.blue,black", ""},
		{`in: path, style: label, explode: true`, array, "/v/.blue.black", ""},
		{`in: path, style: label, explode: true`, members, "/v/.G=200.R=100", ""},
		{`in: path, style: matrix`, `"blue"`, "/v/;p=blue", ""},
		{`in: path, style: matrix`, array, "/v/;p=blue,black", ""},
		{`in: path, style: matrix, explode: true`, array, "/v/;p=blue;p=black", ""},
		{`in: path, style: matrix, explode: true`, members, "/v/;G=200;R=100", ""},
		{`in: path, style: matrix`, members, "/v/;p=G,200,R,100", ""},
		{`in: query`, `"a&b=c d+é"`, "/v/1", "p=a%26b%3Dc%20d%2B%C3%A9"},
		{`in: query`, `""`, "/v/1", "p="},
		{`in: query`, `null`, "/v/1", ""},
		{`in: query`, `false`, "/v/1", "p=false"},
		{`in: query`, `12345678901234567890`, "/v/1", "p=12345678901234567890"},
		{`in: query`, array, "/v/1", "p=blue&p=black"},
		{`in: query`, `[]`, "/v/1", ""},
		{`in: query`, `[null, {"a": 1}]`, "/v/1", "p=%7B%22a%22%3A1%7D"},
		{`in: query, explode: false`, array, "/v/1", "p=blue,black"},
		{`in: query`, members, "/v/1", "G=200&R=100"},
		{`in: query`, `{"a&admin": "1"}`, "/v/1", "a%26admin=1"},
		{`in: query, explode: false`, members, "/v/1", "p=G,200,R,100"},
		{`in: query, style: spaceDelimited, explode: false`, array, "/v/1", "p=blue%20black"},
		{`in: query, style: spaceDelimited`, members, "/v/1", "p=G%20200%20R%20100"},
		{`in: query, style: pipeDelimited`, array, "/v/1", "p=blue%7Cblack"},
		{`in: query, style: deepObject`, members, "/v/1", "p[G]=200&p[R]=100"},
		{`in: query, style: deepObject`, `{"a": {"b]": [1, {"c": 2}]}}`, "/v/1", "p[a][b%5D][0]=1&p[a][b%5D][1][c]=2"},
		{`in: query, allowReserved: true`, `"/a?b&c#d%"`, "/v/1", "p=/a?b%26c%23d%25"},
		{`in: query, content: {application/json: {}}`, `{"a": [1]}`, "/v/1", "p=%7B%22a%22%3A%5B1%5D%7D"},
	} {
		path := "/v/{p}"
		if !strings.HasPrefix(c.parameter, "in: path") {
			path = "/v/1"
		}
		o := mustOperation(t, fmt.Sprintf("openapi: 3.1.0\nservers: [{url: 'https://h.test'}]\npaths: {'%s': {get: {operationId: x, parameters: [{name: p, %s}]}}}", path, c.parameter))
		v, err := jsonvalue.Decode([]byte(c.value))
		if err != nil {
			t.Fatal(err)
		}
		r, err := o.Prepare(map[string]any{"p": v})
		if err != nil {
			t.Errorf("%s %s: %v", c.parameter, c.value, err)
			continue
		}
		want := "https://h.test" + c.path
		if c.query != "" {
			want += "?" + c.query
		}
		if r.URLs[0] != want {
			t.Errorf("%s %s: %s, want %s", c.parameter, c.value, r.URLs[0], want)
		}
	}
}

// TestHeadersAndCookies: headers are written unchanged, and cookies are combined in one header.
func TestHeadersAndCookies(t *testing.T) {
	o := mustOperation(t, `{openapi: 3.0.3, servers: [{url: /v1}], paths: {/a: {get: {operationId: x, parameters: [
		{name: x-list, in: header}, {name: a, in: cookie}, {name: b, in: cookie}, {name: accept, in: header, required: true}]}}}}`)
	r, err := o.Prepare(map[string]any{"x-list": []any{"a b", 2}, "a": "1; admin=1", "b": []any{"x", "y"}})
	if err != nil {
		t.Fatal(err)
	}
	want := &Request{Method: "GET", URLs: []string{"https://example.com/v1/a"}, Headers: map[string]string{"X-List": "a b,2", "Cookie": "a=1%3B%20admin%3D1; b=x; b=y"}}
	if diff := cmp.Diff(want, r); diff != "" {
		t.Error(diff)
	}
}

// TestServers: the URLs of a call, in their order.
func TestServers(t *testing.T) {
	for document, want := range map[string]string{
		`openapi: 3.0.0`: "https://example.com/a",
		`openapi: 3.1`:   "https://example.com/a",
		`openapi: 3.0`:   "https://example.com/a",
		`{openapi: 3.0.0, servers: [{url: v2}, {url: "//other.test/"}]}`:                                                "https://example.com/docs/v2/a https://other.test/a",
		`{openapi: 3.0.0, servers: [{url: "http://a.test"}, {url: "https://b.test"}, {url: "http://c.test"}]}`:          "http://a.test/a https://b.test/a",
		`{openapi: 3.0.0, servers: [{url: "https://{r}.test:{p}", variables: {r: {default: eu}, p: {default: 8443}}}]}`: "https://eu.test:8443/a",
		`{openapi: 3.0.0, servers: [{url: "https://{r}.test"}]}`:                                                        "error",
		`{openapi: 3.0.0, servers: [{url: "ftp://a.test"}]}`:                                                            "error",
		`{openapi: 3.0.0, servers: [{url: "file:///etc"}]}`:                                                             "error",
		`{openapi: 3.0.0, servers: [{url: "http://"}]}`:                                                                 "error",
		`{swagger: "2.0"}`:                                                                    "https://example.com/a",
		`{swagger: "2.0", basePath: /v1}`:                                                     "https://example.com/v1/a",
		`{swagger: 2.0, host: "a.test:81", schemes: [http, https]}`:                           "https://a.test:81/a",
		`{swagger: "2.0", host: a.test, schemes: [http], basePath: v1/}`:                      "http://a.test/v1/a",
		`{swagger: "2.0", host: a.test, schemes: [wss]}`:                                      "error",
		`{openapi: 3.0.0, servers: [` + strings.Repeat(`{url: "https://a.test"},`, 11) + `]}`: strings.TrimSpace(strings.Repeat("https://a.test/a ", 10)),
	} {
		if !strings.HasPrefix(document, "{") {
			document = "{" + document + "}"
		}
		d, err := Parse([]byte(strings.TrimSuffix(document, "}")+", paths: {/a: {get: {operationId: x}}}}"), "https://example.com/docs/openapi.yaml")
		if err != nil {
			t.Fatal(document, err)
		}
		got := "error"
		if o, err := d.Operation("x"); err == nil {
			r, err := o.Prepare(nil)
			if err != nil {
				t.Fatal(err)
			}
			got = strings.Join(r.URLs, " ")
		}
		if got != want {
			t.Errorf("%s: %s, want %s", document, got, want)
		}
	}
}

// TestBodies: how bodies are written.
func TestBodies(t *testing.T) {
	const form = "application/x-www-form-urlencoded"
	for _, c := range []struct{ content, given, body, contentType string }{
		{`{application/json: {}, application/xml: {}}`, `{"a": 1}`, `{"a":1}`, "application/json"},
		{`{application/json: {}}`, `{"body": "text"}`, `"text"`, "application/json"},
		{`{application/merge-patch+json: {}}`, `{"body": [1]}`, `[1]`, "application/merge-patch+json"},
		{`{"*/*": {}}`, `{"a": 1}`, `{"a":1}`, "application/json"},
		{`{}`, `{"a": 1}`, `{"a":1}`, "application/json"},
		{`{text/plain: {}}`, `{"body": "text"}`, `text`, "text/plain"},
		{`{text/plain: {}}`, `{"body": 5}`, `5`, "text/plain"},
		{`{application/xml: {}}`, `{"a": 1}`, "error", ""},
		{`{application/x-www-form-urlencoded: {}}`, `{"body": "text"}`, "error", ""},
		{`{application/x-www-form-urlencoded: {encoding: {a: {style: pipeDelimited}}}}`, `{"a": [1, "x y"], "b": [3, 4]}`, `a=1%7Cx%20y&b=3&b=4`, form},
		{`{application/x-www-form-urlencoded: {encoding: {a: {style: spaceDelimited}}}}`, `{"a": [1, 2]}`, `a=1%202`, form},
		{`{application/x-www-form-urlencoded: {encoding: {a: {explode: false}}}}`, `{"a": [1, 2]}`, `a=1,2`, form},
		{`{application/x-www-form-urlencoded: {encoding: {a: {style: form}}}}`, `{"a": [1, 2], "c": []}`, `a=1&a=2`, form},
		{`{application/x-www-form-urlencoded: {encoding: {a: {style: deepObject}}}}`, `{"a": {"b": 1}}`, `a[b]=1`, form},
		{`{application/x-www-form-urlencoded: {encoding: {a: {style: simple}}}}`, `{"a": [1]}`, "error", ""},
		{`{application/x-www-form-urlencoded: {encoding: {a: {contentType: text/plain}}}}`, `{"a": [1, "x y"]}`, `a=1&a=x+y`, form},
		{`{application/json: {}}`, `{"body": 1, "a": 2}`, "error", ""},
		{`{application/json: {schema: {additionalProperties: false, properties: {name: {}}}}}`, `{"nmae": 2}`, "error", ""},
		{`{application/json: {schema: {additionalProperties: false, properties: {body: {}}}}}`, `{"body": 2}`, `{"body":2}`, "application/json"},
		{`{application/json: {}}`, `{}`, ``, ""},
	} {
		o := mustOperation(t, "openapi: 3.0.3\npaths: {/a: {post: {operationId: x, requestBody: {content: "+c.content+"}}}}")
		given, err := jsonvalue.Decode([]byte(c.given))
		if err != nil {
			t.Fatal(err)
		}
		body, contentType := "error", ""
		if r, err := o.Prepare(given.(map[string]any)); err == nil {
			body, contentType = string(r.Body), r.Headers["Content-Type"]
		}
		if body != c.body || contentType != c.contentType {
			t.Errorf("%s %s: %q as %q, want %q as %q", c.content, c.given, body, contentType, c.body, c.contentType)
		}
	}
}

// TestParts: the same form in parts is the same text each time.
func TestParts(t *testing.T) {
	o := mustOperation(t, `{swagger: "2.0", paths: {/a: {post: {operationId: x, parameters: [{name: f, in: formData, type: file}, {name: n, in: formData, type: array}]}}}}`)
	given := map[string]any{"f": "content", "n": []any{1, 2}}
	first, err := o.Prepare(given)
	if err != nil {
		t.Fatal(err)
	}
	second, err := o.Prepare(given)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(first, second); diff != "" || !strings.HasPrefix(first.Headers["Content-Type"], "multipart/form-data; boundary=swrun-") {
		t.Error(first.Headers, diff)
	}
	if n := strings.Count(string(first.Body), `name="n"`); n != 2 || !strings.Contains(string(first.Body), `name="f"; filename="f"`) || !strings.Contains(string(first.Body), "\r\n\r\ncontent\r\n") {
		t.Errorf("%s", first.Body)
	}
}

// TestFilesInParts: a file has a name and a content type, an object has the content type of JSON, and text is text.
func TestFilesInParts(t *testing.T) {
	o := mustOperation(t, `{openapi: "3.1.0", paths: {/a: {post: {operationId: x, requestBody: {content: {multipart/form-data: {schema: {$ref: "#/components/schemas/form"}}}}}}},
		components: {schemas: {form: {properties: {
			binary: {type: string, format: binary}, several: {type: array, items: {$ref: "#/components/schemas/image"}},
			coded: {type: string, contentMediaType: image/png, contentEncoding: base64}, object: {type: object}, 'a"; filename="b': {type: string}}},
		image: {contentMediaType: image/png}}}}`)
	given := map[string]any{"binary": "b", "several": []any{"1", nil, "2"}, "coded": "YQ==", "object": map[string]any{"a": 1}, `a"; filename="b`: "text"}
	r, err := o.Prepare(given)
	if err != nil {
		t.Fatal(err)
	}
	boundary, ok := strings.CutPrefix(r.Headers["Content-Type"], "multipart/form-data; boundary=")
	if !ok {
		t.Fatal(r.Headers)
	}
	var got []string
	for parts := multipart.NewReader(bytes.NewReader(r.Body), boundary); ; {
		part, err := parts.NextPart()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		content, err := io.ReadAll(part)
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, fmt.Sprintf("%s (%s) %s: %s", part.FormName(), part.FileName(), part.Header.Get("Content-Type"), content))
	}
	want := []string{
		`a"; filename="b () : text`, "binary (binary) application/octet-stream: b", "coded () : YQ==", `object () application/json: {"a":1}`,
		"several (several) image/png: 1", "several (several) image/png: 2",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("parts (-want +got):\n%s", diff)
	}
}

// TestHostileDocuments: each document is refused, or its operation can be read, quickly and with little memory.
func TestHostileDocuments(t *testing.T) {
	deep := strings.Repeat(`{"a":`, 5000) + "1" + strings.Repeat("}", 5000)
	bomb := "a: &a [x,x,x,x,x,x,x,x,x,x]\n"
	for c := 'b'; c < 'k'; c++ {
		bomb += fmt.Sprintf("%c: &%c [%s]\n", c, c, strings.TrimSuffix(strings.Repeat("*"+string(c-1)+",", 10), ","))
	}
	chain := ""
	for n := range 100 {
		chain += fmt.Sprintf(`"p%d": {"$ref": "#/components/parameters/p%d"},`, n, n+1)
	}
	for name, document := range map[string]string{
		"nothing":               "",
		"null":                  "null",
		"a list":                "[]",
		"blank":                 " \n\t",
		"text":                  "openapi",
		"half of JSON":          `{"openapi": "3.0.0"`,
		"bytes":                 "\x00\xff\xfe",
		"another version":       `{"openapi": "4.0.0"}`,
		"an alias of itself":    "openapi: 3.0.0\npaths: &a {b: *a}",
		"aliases of aliases":    bomb + "openapi: 3.0.0",
		"large scalar, aliased": "openapi: 3.0.0\na: &a " + strings.Repeat("x", 100<<10) + "\nb: [" + strings.TrimSuffix(strings.Repeat("*a,", 10_000), ",") + "]",
		"deep YAML":             "openapi: 3.0.0\na: " + strings.Repeat("[", 9000) + strings.Repeat("]", 9000),
		"very many values":      "openapi: 3.0.0\na: [" + strings.Repeat("1,", 2<<20-20) + "1]",
		"a path that is a ref":  `{"openapi": "3.0.0", "paths": {"/a": {"$ref": "http://127.0.0.1:1/a"}}}`,
		"deep JSON":             `{"openapi": "3.0.0", "paths": {"/a": {"get": {"operationId": "x", "parameters": [` + deep + `]}}}}`,
		"a long chain":          `{"openapi": "3.0.0", "paths": {"/a": {"get": {"operationId": "x", "parameters": [{"$ref": "#/components/parameters/p0"}]}}}, "components": {"parameters": {` + strings.TrimSuffix(chain, ",") + `}}}`,
		"odd types":             `{"openapi": "3.0.0", "servers": 1, "paths": {"/a": {"get": {"operationId": "x", "parameters": "p", "requestBody": [], "servers": [null]}}}}`,
		"a parameter as a list": `{"openapi": "3.0.0", "paths": {"/a": {"get": {"operationId": "x", "parameters": [[]]}}}}`,
		"many parameters":       `{"openapi": "3.0.0", "paths": {"/a": {"get": {"operationId": "x", "parameters": [` + strings.Repeat(`{"name": "a", "in": "query"},`, 2000) + `1]}}}}`,
		"twice":                 `{"openapi": "3.0.0", "paths": {"/a": {"get": {"operationId": "x"}, "put": {"operationId": "x"}}}}`,
		"none":                  `{"openapi": "3.0.0", "paths": {"/a": {"get": {}}}}`,
		"a variable of no one":  `{"openapi": "3.0.0", "servers": [{"url": "http://a.test"}], "paths": {"/{a}": {"get": {"operationId": "x"}}}}`,
		"a file":                `{"openapi": "3.0.0", "paths": {"/a": {"get": {"operationId": "x", "parameters": [{"$ref": "file:///etc/passwd"}]}}}}`,
	} {
		t.Run(name, func(t *testing.T) {
			d, err := Parse([]byte(document), "")
			if err != nil {
				return
			}
			o, err := d.Operation("x")
			if err != nil {
				return
			}
			if r, err := o.Prepare(nil); err == nil {
				t.Errorf("it makes a request: %v", r)
			}
		})
	}
}

// FuzzParse: no document makes the program panic, regardless of the operation and the parameters.
func FuzzParse(f *testing.F) {
	examples, err := filepath.Glob("../../examples/openapi/*")
	if err != nil {
		f.Fatal(err)
	}
	for _, file := range examples {
		text, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text)
	}
	f.Add([]byte(`{"swagger": "2.0", "host": "a", "paths": {"/{a}": {"get": {"operationId": "x", "parameters": [{"name": "a", "in": "path"}, {"in": "formData"}, {"in": "body"}]}}}}`))
	f.Add([]byte("openapi: 3.1.0\npaths: {/a: {post: {operationId: x, requestBody: {content: {'*/*': {schema: {additionalProperties: false, properties: {'': 1}}}}}}}}"))
	f.Fuzz(func(_ *testing.T, text []byte) {
		d, err := Parse(text, "https://example.com/")
		if err != nil {
			return
		}
		for id := range d.operations {
			if o, err := d.Operation(id); err == nil {
				_, _ = o.Prepare(map[string]any{"a": []any{1}, "id": map[string]any{"b": nil}, "body": "x"}) // only that it ends matters
			}
		}
	})
}

// TestFormsOfSwagger: a field is written as its collectionFormat specifies.
func TestFormsOfSwagger(t *testing.T) {
	for format, want := range map[string]string{"multi": "a=1&a=2", "csv": "a=1,2", "ssv": "a=1%202", "tsv": "a=1%092", "pipes": "a=1%7C2"} {
		o := mustOperation(t, `{swagger: "2.0", paths: {/a: {post: {operationId: x, parameters: [{name: a, in: formData, type: array, collectionFormat: `+format+`}]}}}}`)
		r, err := o.Prepare(map[string]any{"a": []any{1, 2}})
		if err != nil || string(r.Body) != want {
			t.Errorf("%s: %q, %v, want %q", format, r.Body, err, want)
		}
	}
}
