package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"google.golang.org/grpc/metadata"

	"github.com/swrun/swrun/internal/grpctest"
)

// callsIn returns the answers of calls.
func callsIn() []incoming {
	return []incoming{
		{"call http", httpCells(), openHTTP}, {"call openapi", httpCells(), openOpenAPI}, {"call mcp", mcpCells(), openMCP}, {"call mcp by stdio", stdioCells(), openStdio},
		{"call a2a", a2aCells(), openA2A("message/send")},
		{"call a2a as a stream", a2aStreamCells(), openA2A("message/stream")}, {"call grpc", grpcCells(), openGRPC},
	}
}

const (
	inJSON   = "Content-Type: application/json"
	inText   = "Content-Type: text/plain"
	inLatin1 = "; charset=iso-8859-1"
)

// numbersIn returns the cells of numbers and of empty values if a body of JSON is the output.
func numbersIn(head string) map[string]incomingCell {
	same := func(bodies ...string) (c incomingCell) {
		for _, body := range bodies {
			c.samples = append(c.samples, sample{head: head, body: body, want: body})
		}
		return c
	}
	return map[string]incomingCell{
		"empty values": same(`{}`, `[]`, `""`, `{"":[]}`), "large integer": same(`7615917337495251231`, `[-18446744073709551616]`), "1e400": same(`1e400`, `{"a":-1e-400}`),
		"long fraction": same(`0.1234567890123456789`), "unknown members": same(`{"__proto__":{"b":null},"a":1}`),
	}
}

func httpCells() map[string]incomingCell {
	cells := numbersIn(inJSON)
	cells["another charset"] = comes(sample{head: inJSON + inLatin1, body: "{\"a\":\"caf\xe9\"}", want: `{"a":"café"}`}, sample{head: inText + "; charset=windows-1252", body: "\x80", want: `"€"`},
		sample{head: inText + "; charset=x-none", body: "\x80", want: "!communication: declares the charset"}, sample{head: inText + "; charset=x-none", body: "a", want: `"a"`})
	cells["UTF-16"] = comes(sample{head: inJSON, body: asUTF16(`{"a":"é"}`), want: `{"a":"é"}`}, sample{head: inText + "; charset=utf-16", body: asUTF16("é"), want: `"é"`})
	cells["byte order mark"] = comes(sample{head: inJSON, body: marked(`{"a":1}`), want: `{"a":1}`}, sample{head: inText, body: marked("é"), want: `"é"`}, sample{head: inJSON, body: marked(""), want: "null"})
	cells["not UTF-8"] = comes(sample{head: inJSON, body: "\"\xe9\"", want: "!communication: is not UTF-8"}, sample{head: inText, body: "\xe9", want: `"6Q=="`},
		sample{head: inText + "; charset=utf-8", body: "\xe9", want: "!communication: cannot be decoded"}, sample{head: inJSON + "\nX-Seen: caf\xe9", body: "1", want: `[1,"café"]`})
	cells["null"] = comes(sample{head: inJSON, body: "null", want: "null"}, sample{head: inText, body: "null", want: `"null"`})
	cells["absent"] = comes(sample{head: "204", want: "null"}, sample{head: "200\n" + inJSON, want: "null"}, sample{head: "200", want: "null"})
	cells["empty"] = comes(sample{head: inJSON, body: " \r\n", want: "null"}, sample{head: inText, body: "", want: "null"}, sample{head: inText, body: " ", want: `" "`})
	cells["other media types"] = comes(sample{head: "Content-Type: text/json", body: `[1]`, want: `[1]`}, sample{head: "Content-Type: application/problem+json", body: `{"a":null}`, want: `{"a":null}`},
		sample{head: "Content-Type: application/x-ndjson", body: "1\n2\n", want: `"1\n2\n"`}, sample{head: "Content-Type: application/x-unknown", body: "a", want: `"YQ=="`}, sample{body: `[1]`, want: `"[1]"`},
		sample{head: "Content-Type: ;;", body: "a", want: `"a"`}, sample{head: inJSON, body: "{", want: "!communication: says that it is JSON, and is not"})
	cells["several headers"] = comes(sample{head: "X-Seen: a\nX-Seen: b", body: "1", want: `["1","a, b"]`}, sample{head: "Set-Cookie: a=1\nSet-Cookie: b=2, 3", body: "1", want: `["1",["a=1","b=2, 3"]]`},
		sample{head: "Set-Cookie: a=1", body: "1", want: `["1","a=1"]`}, sample{head: inText + "\n" + inJSON, body: "[1]", want: `"[1]"`}, sample{head: inJSON + "\n" + inText, body: "[1]", want: `[1]`}).as("11.4")
	cells["line breaks of Windows"] = comes(sample{head: inText, body: "a\r\nb\r\n", want: `"a\r\nb\r\n"`}, sample{head: inJSON, body: "{\r\n\"a\":\r\n1}\r\n", want: `{"a":1}`})
	return cells
}

// answersWith serves a sample.
func answersWith(t *testing.T, s sample) (url string) {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header()["Content-Type"] = nil // the library would guess a type
		s.headers(func(name, value string) { w.Header()[name] = append(w.Header()[name], value) })
		status, err := strconv.Atoi(strings.SplitN(s.head, "\n", 2)[0])
		if err == nil {
			w.WriteHeader(status)
		}
		_, _ = io.WriteString(w, s.body) // an answer with 204 has no body
	}))
	t.Cleanup(server.Close)
	return server.URL
}

// headersSeen is the output of a call whose answer has relevant headers.
const headersSeen = `, output: {as: '${ (.headers | .["Set-Cookie"] // .["X-Seen"]) as $seen | if $seen then [.content, $seen] else .content end }'}`

func openHTTP(*testing.T) func(*testing.T, sample) string {
	return func(t *testing.T, s sample) string {
		return performed(t, fmt.Sprintf("do: [{ask: {call: http, with: {method: get, endpoint: '%s', output: response}%s}}]\n", answersWith(t, s), headersSeen))
	}
}

func openOpenAPI(*testing.T) func(*testing.T, sample) string {
	return func(t *testing.T, s sample) string {
		document := mustWriteFile(t, "api.json", fmt.Sprintf(`{"openapi":"3.0.3","servers":[{"url":%q}],"paths":{"/a":{"get":{"operationId":"ask"}}}}`, answersWith(t, s)))
		return performed(t, fmt.Sprintf("do: [{ask: {call: openapi, with: {document: {endpoint: 'file://%s'}, operationId: ask, output: response}%s}}]\n", document, headersSeen))
	}
}

// rpcCells returns the cells that the two protocols of JSON-RPC have in common. Wrap makes the result of a value, and the output contains the value again.
func rpcCells(wrap, section string) map[string]incomingCell {
	cells := map[string]incomingCell{}
	for variant, c := range numbersIn("") {
		for _, s := range c.samples {
			s.body = fmt.Sprintf(wrap, s.body)
			s.want = s.body
			c := cells[variant]
			c.samples = append(c.samples, s)
			cells[variant] = c
		}
	}
	accented := fmt.Sprintf(wrap, `"é"`)
	cells["another charset"] = comes(sample{head: inJSON + inLatin1, body: accented, wire: asLatin1, want: "!communication: "}, sample{head: inJSON + inLatin1, body: accented, want: accented}).as(section)
	cells["UTF-16"] = comes(sample{body: accented, wire: asUTF16, want: "!communication: "}).as(section)
	cells["byte order mark"] = comes(sample{body: accented, wire: marked, want: "!communication: "}).as(section)
	cells["not UTF-8"] = comes(sample{body: fmt.Sprintf(wrap, "\"\xe9\""), want: "!communication: "})
	cells["null"] = comes(sample{body: fmt.Sprintf(wrap, "null"), want: fmt.Sprintf(wrap, "null")}, sample{body: "null", want: "!communication: "})
	cells["empty"] = comes(sample{body: "", want: "!communication: "}, sample{body: accented, wire: func(string) string { return "" }, want: "!communication: "}, sample{body: fmt.Sprintf(wrap, ""), want: "!communication: "})
	cells["line breaks of Windows"] = comes(sample{body: accented, wire: func(text string) string { return strings.ReplaceAll(text, ",", ",\r\n") + "\r\n" }, want: accented})
	return cells
}

func mcpCells() map[string]incomingCell {
	const section = "11.11"
	cells := rpcCells(`{"content":[],"structuredContent":%s}`, section)
	asEvent := func(text string) string { return "event: message\r\ndata: " + strings.TrimSpace(text) + "\r\n\r\n" }
	cells["absent"] = comes(sample{body: `{}`, want: `{}`}, sample{body: `{"content":[]}`, want: `{"content":[]}`},
		sample{body: `{}`, wire: func(text string) string { return strings.Replace(text, `"result"`, `"other"`, 1) }, want: "!communication: "})
	hologram := `{"beyond":null,"content":[{"depth":3,"type":"hologram"}],"isError":false}`
	cells["unknown members"] = comes(sample{body: hologram, want: hologram}, sample{body: `{"content":"text"}`, want: `{"content":"text"}`})
	cells["other media types"] = comes(sample{head: "Content-Type: text/event-stream", body: hologram, wire: asEvent, want: hologram}, sample{head: inText, body: hologram, want: "!communication: "}).as(section)
	cells["several headers"] = comes(sample{head: inJSON + "\n" + inText, body: hologram, want: hologram}, sample{head: inText + "\n" + inJSON, body: hologram, want: "!communication: "}).as(section)
	return cells
}

// rewritten answers as a handler does, with the body of a sample in the place of a text.
func rewritten(t *testing.T, s sample, place string, of http.Handler) (url string) {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		answer := httptest.NewRecorder()
		of.ServeHTTP(answer, r)
		text := answer.Body.String()
		for name, values := range answer.Header() {
			w.Header()[name] = values
		}
		if strings.Contains(text, place) {
			text = s.sent(strings.Replace(text, place, s.body, 1))
			first := true
			s.headers(func(name, value string) {
				if first {
					w.Header().Del(name)
				}
				first = false
				w.Header().Add(name, value)
			})
		}
		w.Header().Del("Content-Length")
		w.WriteHeader(answer.Code)
		_, _ = io.WriteString(w, text)
	}))
	t.Cleanup(server.Close)
	return server.URL
}

const incomingPlace = `"THE PLACE"`

// placed is a result that the library of MCP writes, to be replaced.
type placed struct{ mcp.ResultBase }

// MarshalJSON implements json.Marshaler.
func (*placed) MarshalJSON() ([]byte, error) { return []byte(incomingPlace), nil }

func openMCP(*testing.T) func(*testing.T, sample) string {
	server := mcp.NewServer(&mcp.Implementation{Name: "incoming", Version: "1"}, nil)
	server.AddReceivingMiddleware(func(next mcp.MethodHandler) mcp.MethodHandler {
		return func(ctx context.Context, method string, r mcp.Request) (mcp.Result, error) {
			if method == "tools/call" {
				return &placed{}, nil
			}
			return next(ctx, method, r)
		}
	})
	handler := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, &mcp.StreamableHTTPOptions{Stateless: true, JSONResponse: true})
	return func(t *testing.T, s sample) string {
		return performed(t, fmt.Sprintf("do: [{ask: {call: mcp, with: {method: tools/call, parameters: {name: a, arguments: {}}, transport: {http: {endpoint: '%s'}}}}}]\n", rewritten(t, s, incomingPlace, handler)))
	}
}

func grpcCells() map[string]incomingCell {
	same := func(member string) sample { return shows(member, member) }
	return map[string]incomingCell{
		"another charset": nothingOf("texts of gRPC are UTF-8"), "UTF-16": nothingOf("texts of gRPC are UTF-8"),
		"byte order mark": comes(same(`"text":"` + byteOrderMark + `a"`)).as("11.9"),
		"not UTF-8":       comes(sample{head: "Raw: yes", body: `{"text":"6Q=="}`, want: "!communication: UTF-8"}),
		"null":            comes(same(`"any":null`), shows(`"text":null`, `"text":""`), same(`"any":{"a":null}`)).as("11.9"),
		"absent":          comes(sample{body: `{}`, want: `{"data":"","list":[],"real":0,"signed":"0","text":"","unsigned":"0"}`}).as("11.9"),
		"empty":           comes(same(`"maybe":""`), same(`"text":""`), same(`"data":""`)),
		"empty values":    comes(same(`"any":{}`), same(`"any":[]`), same(`"list":[]`)),
		"large integer": comes(same(`"signed":"-9223372036854775808"`), same(`"signed":"9223372036854775807"`), same(`"unsigned":"18446744073709551615"`),
			shows(`"any":7615917337495251231`, `"any":7615917337495251000`)).as("11.9"),
		"1e400":                  comes(same(`"real":"Infinity"`), same(`"real":"NaN"`), shows(`"real":1e308`, `"real":1e+308`)).as("11.9"),
		"long fraction":          comes(shows(`"real":0.1234567890123456789`, `"real":0.12345678901234568`)).as("11.9"),
		"unknown members":        comes(sample{head: "Show: later", body: `{"later":"x"}`, want: `{}`}).as("11.9"),
		"other media types":      nothingOf("an answer that is not application/grpc is refused: TestHostileServices of tasks"),
		"several headers":        comes(sample{head: "Show: text\nTwice: a\nTwice: b", body: `{"text":"a"}`, want: `{"text":"a"}`}).as("11.9"),
		"line breaks of Windows": comes(same(`"text":"a\r\nb"`)),
	}
}

// shows returns an answer with one member, which alone is the output of the task.
func shows(member, want string) sample {
	return sample{head: "Show: " + strings.Split(member, `"`)[1], body: "{" + member + "}", want: "{" + want + "}"}
}

// incomingProto describes the service of the table. The server's description has more fields than the one that the task reads.
const incomingProto = `syntax = "proto3"; package a; import "google/protobuf/struct.proto"; import "google/protobuf/empty.proto";
service S { rpc Ask(google.protobuf.Empty) returns (M); }
message M { %s text = 1; int64 signed = 2; uint64 unsigned = 3; double real = 4; google.protobuf.Value any = 5; optional string maybe = 6; bytes data = 7; repeated int32 list = 8; %s }`

func openGRPC(*testing.T) func(*testing.T, sample) string {
	return func(t *testing.T, s sample) string {
		kind, came := "string", metadata.MD{}
		s.headers(func(name, value string) { came.Append(name, value) })
		if len(came.Get("Raw")) > 0 { // as a server that does not check its texts
			kind = "bytes"
		}
		server := grpctest.New(nil, grpctest.Service{Proto: fmt.Sprintf(incomingProto, kind, "string later = 20;"), Handlers: map[string]grpctest.Handler{"Ask": func(stream *grpctest.Stream) error {
			if err := stream.SendHeader(came); err != nil {
				return err
			}
			return stream.Answer(json.RawMessage(s.body))
		}}})
		t.Cleanup(server.Stop)
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		go func() { _ = server.Serve(listener) }() // it ends when the server is stopped
		output := ""
		if show := came.Get("Show"); len(show) > 0 {
			output = fmt.Sprintf(", output: {as: '${ with_entries(select(.key == %q)) }'}", show[0])
		}
		proto := mustWriteFile(t, "a.proto", fmt.Sprintf(incomingProto, "string", ""))
		return performed(t, fmt.Sprintf("do: [{ask: {call: grpc, with: {proto: {endpoint: 'file://%s'}, service: {name: a.S, host: 127.0.0.1, port: %d}, method: Ask}%s}}]\n",
			proto, listener.Addr().(*net.TCPAddr).Port, output))
	}
}
