package main

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/swrun/swrun/internal/a2atest"
)

func a2aCells() map[string]incomingCell {
	const section = "11.11"
	message := func(members string) string {
		return `{"kind":"message","messageId":"m","parts":[]` + members + `,"role":"agent"}`
	}
	cells := rpcCells(`{"kind":"message","messageId":"m","metadata":{"given":%s},"parts":[],"role":"agent"}`, section)
	cells["1e400"] = comes(sample{body: message(`,"metadata":{"given":1e400}`), want: "!communication: cannot be number 1e400"}).as(section)
	cells["absent"] = comes(sample{body: message(""), want: message("")}, sample{body: message(""), wire: func(text string) string { return strings.Replace(text, `"result"`, `"other"`, 1) }, want: "!communication: "})
	odd := `{"beyond":null,"kind":"message","messageId":"m","parts":[{"kind":"data","data":{"n":7615917337495251231}},{"kind":"text","more":[],"text":""}],"role":"agent"}`
	sorted := `{"beyond":null,"kind":"message","messageId":"m","parts":[{"data":{"n":7615917337495251231},"kind":"data"},{"kind":"text","more":[],"text":""}],"role":"agent"}`
	cells["unknown members"] = comes(sample{body: odd, want: sorted}, sample{body: strings.Replace(odd, `"kind":"data"`, `"kind":"hologram"`, 1), want: "!communication: "}).as(section)
	cells["not UTF-8"] = comes(append(cells["not UTF-8"].samples, sample{body: message(""), wire: func(string) string {
		return "{\"jsonrpc\":\"2.0\",\"id\":\"1\",\"error\":{\"code\":-32000,\"message\":\"\xe9\"}}"
	}, want: "!communication: is not UTF-8"})...)
	cells["other media types"] = comes(sample{head: inText, body: message(""), want: message("")}).as(section)
	cells["several headers"] = comes(sample{head: inJSON + "\n" + inText, body: message(""), want: message("")})
	return cells
}

// a2aStreamCells are the cells of a stream: the results are the same as of one answer, and the output is an array of them.
func a2aStreamCells() map[string]incomingCell {
	const section, inEvents = "11.11", "Content-Type: text/event-stream"
	cells := a2aCells()
	for _, c := range cells {
		for n := range c.samples {
			s := &c.samples[n]
			if !strings.HasPrefix(s.want, "!") {
				s.want = "[" + s.want + "]"
			}
			s.head = strings.ReplaceAll(s.head, inJSON, inEvents)
		}
	}
	const message = `{"kind":"message","messageId":"m","parts":[],"role":"agent"}`
	one := "[" + message + "]"
	framed := func(format string) func(string) string {
		return func(text string) string {
			_, data, _ := strings.Cut(strings.TrimSpace(text), "data: ")
			return strings.ReplaceAll(format, "DATA", data)
		}
	}
	sends := func(format, want string) sample { return sample{body: message, wire: framed(format), want: want} }
	const none = "!communication: has ended without a result"
	cells["byte order mark"] = comes(sample{body: message, wire: marked, want: one}, sends("data: "+byteOrderMark+"DATA\n\n", "!communication: "),
		sends("data: DATA\n\n"+byteOrderMark+"data: DATA\n\n", one)).as(section)
	cells["not UTF-8"] = comes(sample{body: "\"\xe9\"", want: "!communication: is not UTF-8"},
		sends("data: {\"jsonrpc\":\"2.0\",\"id\":\"1\",\"error\":{\"code\":-32000,\"message\":\"\xe9\"}}\n\n", "!communication: is not UTF-8"), sends(": \xe9\nevent: \xe9\ndata: DATA\n\n", one))
	cells["empty"] = comes(append(cells["empty"].samples, sends("data\n\ndata:\n\n: nothing\n\n", none), sends("data:\n\ndata: DATA\n\n", one))...).as(section)
	const two = "[" + message + "," + message + "]"
	cells["absent"] = comes(append(cells["absent"].samples, sends("id: 1\nevent: message\n\n", none), sends("data: DATA\n\ndata: DATA\n\n", two), sends("data: DATA\n\ndata: DATA", two),
		sends("data: DATA\n", one), sends("data: DATA\n\ndata: {\"jsonrpc\":", "!communication: "), sends("data: DATA\n\ndata: ", one))...).as(section)
	cells["unknown members"] = comes(append(cells["unknown members"].samples, sends("other: 1\nevent: hologram\nretry: 1\nid: 7\ndata:DATA\n\n", one))...).as(section)
	cells["other media types"] = comes(sample{head: inText, body: message, want: "!communication: "}, sample{head: inJSON, body: message, wire: framed("DATA"), want: one}, sample{head: inText, body: message, wire: framed("DATA"), want: one}).as(section)
	cells["several headers"] = comes(sample{head: inEvents + "\n" + inJSON, body: message, want: one}, sample{head: inJSON + "\n" + inEvents, body: message, want: "!communication: "}).as(section)
	cells["line breaks of Windows"] = comes(sends("event: message\r\ndata: DATA\r\n\r\n", one), sends("data: DATA\r\r", one),
		sample{body: message, wire: func(text string) string { return strings.ReplaceAll(text, ",", ",\r\ndata: ") }, want: one})
	return cells
}

// openA2A sends samples as the results of a method.
func openA2A(method string) func(*testing.T) func(*testing.T, sample) string {
	agent := a2atest.New(a2atest.Card("http://agent.test"))
	replacing := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		answer := httptest.NewRecorder()
		agent.ServeHTTP(answer, r)
		before, _, _ := strings.Cut(answer.Body.String(), `"result":`)
		w.Header().Set("Content-Type", answer.Header().Get("Content-Type"))
		_, _ = io.WriteString(w, before+`"result":`+incomingPlace+"}\n\n")
	})
	return func(*testing.T) func(*testing.T, sample) string {
		return func(t *testing.T, s sample) string {
			return performed(t, fmt.Sprintf("do: [{ask: {call: a2a, with: {method: %s, server: '%s/rpc', parameters: {message: {parts: [{kind: text, text: Ada}]}}}}}]\n",
				method, rewritten(t, s, incomingPlace, replacing)))
		}
	}
}
