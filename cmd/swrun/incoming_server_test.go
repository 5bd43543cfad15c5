package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/swrun/swrun/internal/api"
)

// startsIn returns the requests of the API.
func startsIn() []incoming {
	return []incoming{{"POST /v1/runs", startCells(), openStart}, {"POST /v1/events", eventCells(), openEvents},
		{"POST /v1/activities/complete", reportCells(), openReports}}
}

func startCells() map[string]incomingCell {
	const refused, media, section = "!invalid-request: ", "!unsupported-media-type: ", written
	cells := textCells(inJSON, "%s", refused)
	cells["another charset"] = comes(sample{head: inJSON + inLatin1, body: `"é"`, wire: asLatin1, want: refused}).as(section)
	cells["byte order mark"] = comes(sample{head: inJSON, body: `"é"`, wire: marked, want: refused}, sample{head: inJSON, body: `"` + byteOrderMark + `"`, want: `"` + byteOrderMark + `"`}).as(section)
	cells["null"] = comes(sample{head: inJSON, body: "null", want: "{}"}, sample{head: inJSON, body: "[null]", want: "[null]"}).as("3.3")
	cells["absent"] = comes(sample{head: inJSON, wire: func(text string) string { return strings.Replace(text, `"input":`, `"labels":{}`, 1) }, want: "{}"}).as("3.3")
	cells["empty"] = comes(sample{head: inJSON, wire: func(string) string { return "" }, want: refused + "body is required"}, sample{head: inJSON, body: "", want: refused}, sample{head: inJSON, body: `""`, want: `""`})
	cells["unknown members"] = comes(append(cells["unknown members"].samples, sample{head: inJSON, body: `{"a":1,"a":2}`, want: refused + "stands twice"}, sample{head: inJSON, body: `1,"beyond":2`, want: refused + "unexpected property"})...).as(section)
	cells["other media types"] = comes(sample{head: "Content-Type: application/vnd.a+json", body: "1", want: "1"}, sample{head: inText, body: "1", want: media}, sample{head: "Content-Type: text/json", body: "1", want: media}, sample{body: "1", want: "1"}).as(section)
	cells["several headers"] = comes(sample{head: inText + "\n" + inJSON, body: "1", want: media}, sample{head: inJSON + "\n" + inText, body: "1", want: "1"}).as(section)
	return cells
}

// reportCells returns the cells of results that outside workers report.
func reportCells() map[string]incomingCell {
	cells := startCells()
	cells["null"] = comes(sample{head: inJSON, body: "null", want: "null"}, sample{head: inJSON, body: "[null]", want: "[null]"})
	cells["absent"] = comes(sample{head: inJSON, wire: func(text string) string { return strings.Replace(text, `,"result":`, "", 1) }, want: "null"})
	return cells
}

// eventCells returns the cells of events whose data are a body, and whose attributes are headers; and of events in JSON.
func eventCells() map[string]incomingCell {
	const structured, refused = "Content-Type: application/cloudevents+json", "!invalid-request: "
	cells := numbersIn(inJSON)
	for variant, c := range numbersIn(structured) {
		cells[variant] = comes(append(cells[variant].samples, c.samples...)...)
	}
	cells["another charset"] = comes(sample{head: inJSON + inLatin1, body: "\"\xe9\"", want: `"é"`}, sample{head: inText + "; charset=windows-1252", body: "\x80", want: `"€"`},
		sample{head: structured + inLatin1, body: `"é"`, wire: asLatin1, want: `"é"`})
	cells["UTF-16"] = comes(sample{head: inJSON, body: asUTF16(`"é"`), want: `"é"`}, sample{head: structured, body: `"é"`, wire: asUTF16, want: `"é"`})
	cells["byte order mark"] = comes(sample{head: inJSON, body: marked("[1]"), want: "[1]"}, sample{head: inText, body: marked("a"), want: `"a"`}, sample{head: structured, body: "1", wire: marked, want: "1"})
	cells["not UTF-8"] = comes(sample{head: inJSON, body: "\"\xe9\"", want: refused}, sample{head: inText, body: "\xe9", want: `"6Q=="`}, sample{head: structured, body: "\"\xe9\"", want: refused},
		sample{head: inJSON + "\nCe-Subject: \xe9", body: "1", want: refused}).as("14.5")
	cells["null"] = comes(sample{head: inJSON, body: "null", want: "null"}, sample{head: structured, body: `null,"subject":null`, want: "null"})
	cells["absent"] = comes(sample{head: structured, wire: func(text string) string { return strings.Replace(text, `,"data":`, "", 1) }, want: "null"}, sample{want: "null"})
	cells["empty"] = comes(sample{head: inText, want: "null"}, sample{head: inJSON, want: "null"}, sample{head: structured, body: `""`, want: `""`}, sample{head: structured, wire: func(string) string { return "" }, want: refused})
	cells["other media types"] = comes(sample{head: "Content-Type: text/json", body: "[1]", want: "[1]"}, sample{head: "Content-Type: application/x-ndjson", body: "1\n2\n", want: `"1\n2\n"`},
		sample{head: "Content-Type: application/x-unknown", body: "a", want: `"YQ=="`}, sample{head: inJSON, body: "{", want: refused}).as("14.5")
	cells["several headers"] = comes(sample{head: inJSON + "\nCe-Subject: a\nCe-Subject: b", body: "1", want: refused})
	cells["line breaks of Windows"] = comes(sample{head: inText, body: "a\r\nb\r\n", want: `"a\r\nb\r\n"`}, sample{head: structured, body: "[1,\r\n2]\r\n", want: "[1,2]"})
	return cells
}

// incomingServer serves the workflows of the rows.
func incomingServer(t *testing.T, flags ...string) *serving {
	t.Helper()
	folder := t.TempDir()
	for name, tasks := range map[string]string{"echo": putsOutInput, "hears": "do: [{a: {listen: {to: {one: {with: {type: t}}}}, output: {as: '${ .[0] }'}}}]\n", "reports": "do: [{a: {call: 'activity:1.0.0@default', with: {type: work}}}]\n"} {
		text := strings.Replace(incomingDocument, "incoming", name, 1) + tasks
		if err := os.WriteFile(filepath.Join(folder, name+".yaml"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return (&hosted{t, "file:" + filepath.Join(t.TempDir(), "runs.db")}).serve(append([]string{folder}, flags...)...)
}

// hears starts a run that receives an event, and waits until it listens.
func (s *serving) hears(t *testing.T, run int) {
	t.Helper()
	s.starts(t, "hears", run)
	eventually(t, "the run listens", func() bool {
		return strings.Contains(s.asks(t, "GET", fmt.Sprintf("/v1/runs/demo/r%d", run), ""), `"status":"waiting"`)
	})
}

func (s *serving) starts(t *testing.T, workflow string, run int) {
	t.Helper()
	if got := s.asks(t, "POST", "/v1/runs", fmt.Sprintf(`{"workflow":"demo/%s","id":"r%d"}`, workflow, run)); !strings.HasPrefix(got, "201 ") {
		t.Fatal(got)
	}
}

// structuredEvent returns an event whose data is a text of JSON.
func structuredEvent(id int, data string) string {
	return fmt.Sprintf(`{"specversion":"1.0","id":"%d","source":"/s","type":"t","data":%s}`, id, data)
}

func openStart(t *testing.T) func(*testing.T, sample) string {
	server, last := incomingServer(t), 0
	return func(t *testing.T, s sample) string {
		last++
		header := http.Header{}
		s.headers(header.Add)
		if status, text := server.posted(t, "/v1/runs", s.sent(fmt.Sprintf(`{"workflow":"demo/echo","id":"r%d","input":%s}`, last, s.body)), header); status/100 != 2 {
			return failureOf([]byte(text))
		}
		return server.output(t, last)
	}
}

func openReports(t *testing.T) func(*testing.T, sample) string {
	server, last := incomingServer(t), 0
	return func(t *testing.T, s sample) string {
		last++
		server.starts(t, "reports", last)
		var polled api.Activities
		_, text, _ := strings.Cut(server.asks(t, "POST", "/v1/activities/poll", `{"queues":["default"],"wait":"60s"}`), " ")
		if err := json.Unmarshal([]byte(text), &polled); err != nil || len(polled.Activities) != 1 {
			t.Fatalf("%v: %s", err, text)
		}
		header := http.Header{}
		s.headers(header.Add)
		if status, text := server.posted(t, "/v1/activities/complete", s.sent(fmt.Sprintf(`{"token":%q,"result":%s}`, polled.Activities[0].Token, s.body)), header); status/100 != 2 {
			return failureOf([]byte(text))
		}
		return server.output(t, last)
	}
}

func openEvents(t *testing.T) func(*testing.T, sample) string {
	server, last := incomingServer(t), 0
	return func(t *testing.T, s sample) string {
		last++
		server.hears(t, last)
		header, body := http.Header{}, s.body
		if strings.Contains(s.head, "cloudevents") {
			body = s.sent(structuredEvent(last, s.body))
		} else {
			header = http.Header{"Ce-Specversion": {"1.0"}, "Ce-Id": {fmt.Sprint(last)}, "Ce-Source": {"/s"}, "Ce-Type": {"t"}}
		}
		s.headers(header.Add)
		if status, text := server.posted(t, "/v1/events", body, header); status/100 != 2 {
			server.asks(t, "POST", fmt.Sprintf("/v1/runs/demo/r%d/cancel", last), "{}") // it would receive the next event
			return failureOf([]byte(text))
		}
		return server.output(t, last)
	}
}

// output waits for the output of a run.
func (s *serving) output(t *testing.T, run int) string {
	t.Helper()
	status, text, _ := strings.Cut(s.asks(t, "GET", fmt.Sprintf("/v1/runs/demo/r%d/output?wait=60s", run), ""), " ")
	if status != "200" {
		return "!" + text
	}
	return compacted([]byte(text))
}

// posted sends a sample, and returns the status and the body of the answer.
func (s *serving) posted(t *testing.T, path, body string, header http.Header) (int, string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.url+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header = header
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response.StatusCode, string(text)
}
