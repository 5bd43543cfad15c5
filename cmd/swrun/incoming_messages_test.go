package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/nats-io/nats.go"

	"github.com/swrun/swrun/internal/brokers/brokertest"
)

// messagesIn returns messages of brokers, and the tokens of authorities.
func messagesIn() []incoming {
	return []incoming{{"call asyncapi", natsCells(), openNATS}, {"tokens", tokenCells(), openTokens}}
}

func natsCells() map[string]incomingCell {
	const json, text = "content-type: application/json", "content-type: text/plain"
	cells := numbersIn("")
	cells["another charset"] = comes(sample{head: json + inLatin1, body: "\"caf\xe9\"", want: `"café"`}, sample{head: text + "; charset=windows-1252", body: "\x80", want: `"€"`})
	cells["UTF-16"] = comes(sample{head: json, body: asUTF16(`"é"`), want: `"é"`}, sample{body: asUTF16(`"é"`), want: `"é"`}, sample{head: text, body: asUTF16("é"), want: `"é"`})
	cells["byte order mark"] = comes(sample{body: marked(`[1]`), want: `[1]`}, sample{head: text, body: marked("a"), want: `"a"`})
	cells["not UTF-8"] = comes(sample{head: json, body: "\"\xe9\"", want: "!communication: is not UTF-8"}, sample{body: "\xe9", want: `"6Q=="`}, sample{head: text, body: "\xe9", want: `"6Q=="`},
		sample{head: "seen: caf\xe9", body: "1", want: `[1,{"seen":"Y2Fm6Q=="},null]`}, sample{head: "seen: a\ncorrelation-id: \xe9", body: "1", want: `[1,{"correlation-id":"6Q==","seen":"a"},"6Q=="]`}).as("11.10b")
	cells["null"] = comes(sample{body: "null", want: "null"}, sample{head: text, body: "null", want: `"null"`})
	cells["absent"] = comes(sample{head: "seen: ", body: "1", want: `[1,{"seen":""},null]`}, sample{want: "null"})
	cells["empty"] = comes(sample{head: json, want: "null"}, sample{head: text, want: "null"}, sample{body: "\n", want: "null"})
	cells["other media types"] = comes(sample{head: "content-type: text/json", body: "[1]", want: "[1]"}, sample{head: "content-type: application/x-ndjson", body: "1\n2\n", want: `"1\n2\n"`},
		sample{head: "content-type: application/x-unknown", body: "a", want: `"YQ=="`}, sample{body: "{", want: `"{"`}, sample{head: json, body: "{", want: "!communication: says that it is JSON, and is not"})
	cells["several headers"] = comes(sample{head: "seen: a\nseen: b", body: "1", want: `[1,{"seen":"a, b"},null]`}, sample{head: text + "\n" + json, body: "[1]", want: "[1]"}).as("11.10b")
	cells["line breaks of Windows"] = comes(sample{head: text, body: "a\r\nb\r\n", want: `"a\r\nb\r\n"`}, sample{body: "[1,\r\n2]\r\n", want: `[1,2]`})
	return cells
}

// openNATS publishes a message repeatedly, until the run that has subscribed has received it.
func openNATS(t *testing.T) func(*testing.T, sample) string {
	broker, err := brokertest.NATS(t.TempDir(), "")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(broker.Stop)
	conn, err := nats.Connect("nats://" + broker.Address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(conn.Close)
	document := mustWriteFile(t, "a.yaml", fmt.Sprintf("asyncapi: 2.6.0\nservers: {one: {url: '%s', protocol: nats}}\nchannels: {orders: {subscribe: {}}}\n", broker.Address))
	return func(t *testing.T, s sample) string {
		message := &nats.Msg{Subject: "orders", Data: []byte(s.body), Header: nats.Header{}}
		s.headers(func(name, value string) { message.Header[name] = append(message.Header[name], value) })
		output := ".[0].payload"
		if len(message.Header["seen"]) > 0 {
			output = ".[0] | [.payload, .headers, .correlationId]"
		}
		over := make(chan struct{})
		var publishing sync.WaitGroup
		publishing.Go(func() {
			for done := false; !done; {
				select {
				case <-over:
					done = true
				default:
					if err := conn.PublishMsg(message); err != nil || conn.Flush() != nil {
						t.Errorf("the message cannot be published: %v", err)
						return
					}
				}
			}
		})
		defer publishing.Wait()
		defer close(over)
		return performed(t, fmt.Sprintf("do: [{ask: {call: asyncapi, with: {document: {endpoint: 'file://%s'}, channel: orders, subscription: {consume: {amount: 1}}}, output: {as: '${ %s }'}}}]\n", document, output))
	}
}

func tokenCells() map[string]incomingCell {
	const good, section = `{"access_token":"t0"}`, "17.3"
	gives := func(body string) sample { return sample{head: inJSON, body: body, want: `"Bearer t0"`} }
	expires := func(seconds string) sample { return gives(`{"access_token":"t0","expires_in":` + seconds + `}`) }
	refused := func(body, want string) sample {
		return sample{head: inJSON, body: body, want: "!authentication: " + want}
	}
	return map[string]incomingCell{
		"another charset": comes(sample{head: inJSON + inLatin1, body: "{\"access_token\":\"t0\",\"note\":\"\xe9\"}", want: `"Bearer t0"`}),
		"UTF-16":          comes(gives(asUTF16(good))),
		"byte order mark": comes(gives(marked(good))),
		"not UTF-8":       comes(refused("{\"access_token\":\"t\xe9\"}", "cannot be understood"), refused("{\"access_token\":\"t\xe9\",\"expires_in\":1}", "cannot be understood")),
		"null": comes(expires("null"), gives(`{"access_token":"t0","token_type":null,"refresh_token":null,"scope":null}`), refused("null", ""),
			refused(`{"access_token":null}`, "has `access_token: null`")),
		"absent":        comes(gives(good), refused("", ""), refused("{}", "has no `access_token`")),
		"empty":         comes(expires(`""`), expires(`" "`), gives(`{"access_token":"t0","token_type":""}`), refused(`{"access_token":""}`, "has an empty `access_token`"), refused(`{"access_token":" "}`, "has an empty `access_token`")),
		"empty values":  comes(refused("[]", ""), refused(`""`, ""), expires("[]").failing(), expires("{}").failing()),
		"large integer": comes(expires("7615917337495251231"), expires(`"7615917337495251231"`), expires("-7615917337495251231")).as(section),
		"1e400":         comes(expires("1e400"), expires(`"1e400"`)).as(section),
		"long fraction": comes(expires("3600.1234567890123456789"), expires(`"3600.0"`)).as(section),
		"unknown members": comes(gives(`{"access_token":"t0","beyond":[{}],"Access_Token":"other"}`).but(`"Bearer t0"`), gives(`{"access_token":"t0","token_type":"BEARER"}`),
			refused(`{"access_token":"t0","token_type":"mac"}`, "only bearer tokens can be sent")),
		"other media types": comes(sample{head: inText, body: good, want: `"Bearer t0"`}, sample{body: good, want: `"Bearer t0"`}, sample{head: "Content-Type: text/html", body: good, want: `"Bearer t0"`},
			sample{head: "Content-Type: application/x-www-form-urlencoded", body: "access_token=t0&expires_in=60", want: `"Bearer t0"`}, sample{head: inText, body: "<html>", want: "!authentication: "}).as(section),
		"several headers":        comes(sample{head: inText + "\n" + inJSON, body: good, want: `"Bearer t0"`}),
		"line breaks of Windows": comes(gives("{\r\n\"access_token\":\r\n\"t0\"}\r\n")),
	}
}

// but returns a sample with another result, and an error for a refused one.
func (s sample) but(want string) sample {
	s.want = want
	return s
}

func (s sample) failing() sample { return s.but("!authentication: ") }

// openTokens calls a service that answers with the credential that it received.
func openTokens(t *testing.T) func(*testing.T, sample) string {
	service := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		text := r.Header.Get("Authorization")
		_ = json.NewEncoder(w).Encode(strings.Split(text, "")) // in letters, since credentials are hidden in results
	}))
	t.Cleanup(service.Close)
	return func(t *testing.T, s sample) string {
		authority := answersWith(t, s)
		return performed(t, fmt.Sprintf("do: [{ask: {call: http, with: {method: get, endpoint: {uri: '%s', authentication: {oauth2: {authority: '%s', grant: client_credentials, client: {id: a, secret: b}}}}}, output: {as: '${ add }'}}}]\n",
			service.URL, authority))
	}
}
