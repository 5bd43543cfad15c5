package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// filesIn returns files and arguments that people write.
func filesIn() []incoming {
	return []incoming{
		{"-i @FILE", inputCells("in.json"), openInputFile}, {"-i -", inputCells(""), openInputStream}, {"-i TEXT", argumentCells(), openArgument},
		{"--secrets FILE", secretCells(), openSecrets}, {"--secrets FOLDER", secretFolderCells(), openSecretFolder}, {"--event FILE", eventFileCells(), openEventFile},
		{"the document", documentCells("a.json"), openDocument}, {"a document of OpenAPI", describedCells(), openDescribed}, {"a script in a file", scriptFileCells(), openScriptFile},
	}
}

// written is the section of docs/semantics.md about the text of files and arguments.
const written = "1.8a"

// textCells returns the cells of a text that contains a value, at another place for each way: wrap makes the text.
func textCells(head, wrap, refused string) map[string]incomingCell {
	of := func(body, want string, wire func(string) string) sample {
		return sample{head: head, body: fmt.Sprintf(wrap, body), want: want, wire: wire}
	}
	cells := map[string]incomingCell{}
	for variant, c := range numbersIn(head) {
		for _, s := range c.samples {
			c := cells[variant]
			c.samples = append(c.samples, of(s.body, s.want, nil))
			cells[variant] = c
		}
	}
	cells["another charset"] = comes(of(`"é"`, refused, asLatin1)).as(written)
	cells["UTF-16"] = comes(of(`"é"`, refused, asUTF16)).as(written)
	cells["byte order mark"] = comes(of(`"é"`, `"é"`, marked), of(`"`+byteOrderMark+`é"`, `"`+byteOrderMark+`é"`, nil))
	cells["not UTF-8"] = comes(of("\"\xe9\"", refused, nil), of("\"\xff\"", refused, nil)).as(written)
	cells["null"] = comes(of("null", "null", nil), of(`{"a":null}`, `{"a":null}`, nil))
	cells["empty"] = comes(of(`""`, `""`, nil), of(`" "`, `" "`, nil))
	cells["several headers"] = nothingOf("a file has no headers")
	cells["line breaks of Windows"] = comes(of("[1,\r\n2]\r\n", `[1,2]`, nil), of(`"a\r\nb"`, `"a\r\nb"`, nil))
	return cells
}

const putsOutInput = "do: [{a: {set: {got: '${ . }'}, output: {as: .got}}}]\n"

func inputCells(name string) map[string]incomingCell {
	const notUTF8 = "!Wrong use: is not UTF-8"
	cells := textCells(name, "%s", notUTF8)
	cells["null"] = comes(sample{head: name, body: "null", want: "{}"}, sample{head: name, body: "[null]", want: "[null]"}).as("3.3")
	cells["absent"] = comes(sample{head: "none", want: "{}"}).as("3.3")
	cells["empty"] = comes(sample{head: name, want: "!Wrong use: it is empty"}, sample{head: name, body: byteOrderMark + " \r\n", want: "!Wrong use: it is empty"}).as(written)
	twice := sample{head: name, body: `{"a":1,"a":2}`, want: `!Wrong use: the name "a" stands twice`}
	cells["unknown members"] = comes(append(cells["unknown members"].samples, twice)...).as(written)
	yaml := "in.yaml"
	if name == "" {
		yaml = ""
	}
	cells["other media types"] = comes(sample{head: yaml, body: "a: [0.1234567890123456789, 7615917337495251231, 1e400, 'null', ~, on, 2026-01-02]\r\nb: |\r\n  x\r\n  y\r\n",
		want: `{"a":[0.1234567890123456789,7615917337495251231,1e400,"null",null,"on","2026-01-02"],"b":"x\ny\n"}`}, sample{head: yaml, body: "a: .inf\n", want: "!Wrong use: is not a number in JSON"},
		sample{head: yaml, body: "a: !!binary YQ==\n", want: "!Wrong use: the tag"}, sample{head: yaml, body: "a: 1\n---\nb: 2\n", want: "!Wrong use: more than one YAML document"}).as(written)
	if name != "" {
		cells["other media types"] = comes(append(cells["other media types"].samples, sample{head: name, body: "a: 1\n", want: "!Wrong use: invalid JSON"})...).as(written)
	}
	return cells
}

func openInputFile(*testing.T) func(*testing.T, sample) string {
	return func(t *testing.T, s sample) string {
		if s.head == "none" {
			return performed(t, putsOutInput)
		}
		return performed(t, putsOutInput, "-i", "@"+mustWriteFile(t, s.head, s.sent(s.body)))
	}
}

func openInputStream(*testing.T) func(*testing.T, sample) string {
	return func(t *testing.T, s sample) string {
		if s.head == "none" {
			return performed(t, putsOutInput)
		}
		return ran(t, s.sent(s.body), mustWriteFile(t, "incoming.yaml", incomingDocument+putsOutInput), "-i", "-")
	}
}

func argumentCells() map[string]incomingCell {
	cells := inputCells("")
	refused := "!Wrong use: -i "
	cells["another charset"] = comes(sample{body: "a=\xe9", want: refused}, sample{body: "a:=\"\xe9\"", want: refused}).as(written)
	cells["byte order mark"] = comes(sample{body: marked(`{"a":1}`), want: refused}, sample{body: "a=" + byteOrderMark, want: `{"a":"` + byteOrderMark + `"}`}).as(written)
	cells["UTF-16"] = nothingOf("an argument has no byte that is zero")
	cells["not UTF-8"] = comes(sample{body: "\"\xe9\"", want: refused}).as(written)
	cells["null"] = comes(sample{body: "null", want: "{}"}, sample{body: "a:=null", want: `{"a":null}`}, sample{body: "a=null", want: `{"a":"null"}`}).as("3.3")
	missing := "!swrun: --input is empty"
	cells["empty"] = comes(sample{body: "", want: missing}, sample{body: " ", want: missing}, sample{body: "a=", want: `{"a":""}`}, sample{body: "a:=", want: refused}).as(written)
	cells["other media types"] = comes(sample{body: "a: 1", want: refused}, sample{body: "a:=1e400", want: `{"a":1e400}`}, sample{body: "a=1e400", want: `{"a":"1e400"}`}).as(written)
	cells["unknown members"] = comes(sample{body: `{"a":1,"a":2}`, want: refused}).as(written)
	cells["several headers"] = nothingOf("an argument has no headers")
	cells["line breaks of Windows"] = comes(sample{body: "[1,\r\n2]", want: "[1,2]"}, sample{body: "a=b\r\n", want: `{"a":"b\r\n"}`})
	return cells
}

func openArgument(*testing.T) func(*testing.T, sample) string {
	return func(t *testing.T, s sample) string {
		if s.head == "none" {
			return performed(t, putsOutInput)
		}
		return performed(t, putsOutInput, "-i", s.body)
	}
}

// putsOutSecret outputs a secret as JSON in which each character is replaced by the next one: secrets are hidden in outputs.
const putsOutSecret = "use: {secrets: [given]}\ndo: [{a: {set: {got: '${ [$secrets.given | tojson | explode[] + 1] | implode }'}, output: {as: .got}}}]\n"

// revealed returns the secret from the output of a document.
func revealed(t *testing.T, file string) string {
	t.Helper()
	got := performed(t, putsOutSecret, "--secrets", file)
	var text string
	if err := json.Unmarshal([]byte(got), &text); err != nil {
		return got
	}
	return compacted([]byte(strings.Map(func(r rune) rune { return r - 1 }, text)))
}

func secretCells() map[string]incomingCell {
	const name, refused = "s.json", "!Wrong use: cannot be read"
	cells := textCells(name, `{"given":%s}`, refused)
	missing := "!authorization: given"
	cells["null"] = comes(sample{head: name, body: `{"given":null}`, want: missing}, sample{head: name, body: `null`, want: "!Wrong use: not an object"}).as("17.1")
	cells["absent"] = comes(sample{head: name, body: `{}`, want: missing}).as("17.1")
	cells["empty"] = comes(sample{head: name, body: "", want: refused}, sample{head: name, body: `{"given":""}`, want: `""`})
	cells["unknown members"] = comes(sample{head: name, body: `{"given":{"a":1},"more":2}`, want: `{"a":1}`}, sample{head: name, body: `{"given":1,"given":2}`, want: refused}).as(written)
	cells["other media types"] = comes(sample{head: "s.yaml", body: "given: 0.1234567890123456789\r\n", want: `0.1234567890123456789`}, sample{head: "s.yaml", body: "given: 007\n", want: `7`}, sample{head: "s", body: "given: x", want: `"x"`}).as(written)
	return cells
}

func openSecrets(*testing.T) func(*testing.T, sample) string {
	return func(t *testing.T, s sample) string { return revealed(t, mustWriteFile(t, s.head, s.sent(s.body))) }
}

func secretFolderCells() map[string]incomingCell {
	const section, missing = "17.1", "!authorization: given"
	refused := "!Wrong use: no text in UTF-8"
	text := func(body, want string) sample { return sample{body: body, want: want} }
	return map[string]incomingCell{
		"another charset": comes(text("\xe9", refused)).as(written), "UTF-16": comes(text(asUTF16("a"), refused)).as(written), "not UTF-8": comes(text("\xff", refused)).as(written),
		"byte order mark": comes(text(marked("a"), `"a"`), text(marked(`{"a":1}`), `{"a":1}`), text(marked(""), missing)),
		"null":            comes(text("null", `"null"`)).as(section), "absent": comes(sample{head: "none", want: missing}).as(section),
		"empty": comes(text("", missing), text("\r\n", missing), text(" \n", missing)).as(section), "empty values": comes(text("{}", `{}`), text("[]", `[]`), text(`""`, `"\"\""`)).as(section),
		"large integer": comes(text("7615917337495251231", `"7615917337495251231"`), text("[7615917337495251231]", `[7615917337495251231]`)).as(section),
		"1e400":         comes(text("1e400", `"1e400"`), text("[1e400]", `[1e400]`)).as(section), "long fraction": comes(text("0.10", `"0.10"`), text("[0.1234567890123456789]", `[0.1234567890123456789]`)).as(section),
		"unknown members": comes(text(`{"a":1,"b":2}`, `{"a":1,"b":2}`), text(`{"a":1,"a":2}`, "!Wrong use: stands twice")).as(section), "other media types": comes(text("{a: 1}", `"{a: 1}"`), text("a: 1", `"a: 1"`)).as(section),
		"several headers": nothingOf("a file has no headers"), "line breaks of Windows": comes(text("a\r\nb\r\n", `"a\r\nb"`), text("a\n\n", `"a\n"`)).as(section),
	}
}

func openSecretFolder(*testing.T) func(*testing.T, sample) string {
	return func(t *testing.T, s sample) string {
		folder := t.TempDir()
		if err := os.WriteFile(filepath.Join(folder, "given"), []byte(s.sent(s.body)), 0o600); err != nil {
			t.Fatal(err)
		}
		if s.head == "none" {
			folder = t.TempDir()
		}
		return revealed(t, folder)
	}
}

func eventFileCells() map[string]incomingCell {
	const name, event = "e.json", `{"specversion":"1.0","id":"1","source":"/s","type":"t","data":%s}`
	cells := textCells(name, event, "!Wrong use: UTF-8")
	cells["UTF-16"] = comes(sample{head: name, body: fmt.Sprintf(event, "1"), wire: asUTF16, want: "!Wrong use: invalid JSON"}).as(written)
	cells["absent"] = comes(sample{head: name, body: `{"specversion":"1.0","id":"1","source":"/s","type":"t"}`, want: "null"})
	cells["null"] = comes(sample{head: name, body: fmt.Sprintf(event, "null"), want: "null"}, sample{head: name, body: `{"id":"1","source":"/s","type":"t","subject":null,"data":1}`, want: "1"})
	cells["empty"] = comes(sample{head: name, body: " ", want: "!Wrong use: is empty"}, sample{head: name, body: fmt.Sprintf(event, `""`), want: `""`})
	cells["unknown members"] = comes(sample{head: name, body: `{"type":"t","more":1,"data":1}`, want: "1"}, sample{head: name, body: `{"type":"t","data":1,"data":2}`, want: "!Wrong use: stands twice"}).as(written)
	cells["other media types"] = comes(sample{head: "e.yaml", body: "type: t\r\ndata: 1e400\r\n", want: "1e400"}, sample{head: name, body: `{"type":"t","datacontenttype":"text/plain","data":"{}"}`, want: `"{}"`},
		sample{head: name, body: `{"type":"t","data_base64":"6Q=="}`, want: `"6Q=="`}).as("14.5")
	return cells
}

func openEventFile(*testing.T) func(*testing.T, sample) string {
	return func(t *testing.T, s sample) string {
		return performed(t, "do: [{a: {listen: {to: {one: {with: {type: t}}}}, output: {as: '${ .[0] }'}}}]\n", "--event", mustWriteFile(t, s.head, s.sent(s.body)), "--clock", "virtual")
	}
}

func documentCells(name string) map[string]incomingCell {
	const text = `{"document":{"dsl":"1.0.3","namespace":"demo","name":"incoming","version":"1.0.0"},"do":[{"a":{"set":{"got":%s},"output":{"as":".got"}}}]}`
	invalid := "!Invalid document: SW105"
	cells := textCells(name, text, invalid)
	cells["byte order mark"] = comes(sample{head: name, body: fmt.Sprintf(text, `"é"`), wire: marked, want: `"é"`}, sample{head: name, body: fmt.Sprintf(text, `"`+byteOrderMark+`é"`), want: "!Invalid document: SW105"}).as(written)
	cells["absent"] = comes(sample{head: name, body: fmt.Sprintf(text, "1,\"other\":2"), want: "1"})
	cells["empty"] = comes(sample{head: name, want: "!Invalid document: empty"}, sample{head: name, body: byteOrderMark, want: "!Invalid document: empty"}, sample{head: name, body: fmt.Sprintf(text, `""`), want: `""`})
	cells["unknown members"] = comes(sample{head: name, body: fmt.Sprintf(text, `{"a":1,"beyond":2}`), want: `{"a":1,"beyond":2}`}, sample{head: name, body: fmt.Sprintf(text, `{"a":1,"a":2}`), want: "!Invalid document: "},
		sample{head: name, body: strings.Replace(fmt.Sprintf(text, "1"), `"do"`, `"beyond":1,"do"`, 1), want: "!Invalid document: SW106"}).as("1.8")
	cells["other media types"] = comes(sample{head: "a.yaml", body: incomingDocument + "do:\r\n- a:\r\n    set: {got: [0.1234567890123456789, 7615917337495251231, 1e400, on, ~]}\r\n    output: {as: .got}\r\n", want: `[0.1234567890123456789,7615917337495251231,1e400,"on",null]`},
		sample{head: "a.yaml", body: incomingDocument + "do: [{a: {set: {got: .inf}, output: {as: .got}}}]\n", want: "!Invalid document: SW108"}).as("1.8")
	return cells
}

func openDocument(*testing.T) func(*testing.T, sample) string {
	return func(t *testing.T, s sample) string { return ran(t, "", mustWriteFile(t, s.head, s.sent(s.body))) }
}

func describedCells() map[string]incomingCell {
	cells := textCells("api.json", "%s", "!Invalid document: UTF-8")
	for variant, c := range cells { // a parameter is text
		for n, s := range c.samples {
			if s.want[0] != '!' && s.want[0] != '"' {
				c.samples[n].want = `"` + s.want + `"`
			}
		}
		cells[variant] = c
	}
	cells["UTF-16"] = comes(sample{head: "api.json", body: `"é"`, wire: asUTF16, want: `"é"`})
	cells["null"] = comes(sample{head: "api.json", body: "null", want: "!Invalid document: SW806"})
	cells["absent"] = comes(sample{head: "api.json", body: `"a","beyond":1`, want: `"a"`})
	cells["empty values"] = comes(sample{head: "api.json", body: `""`, want: `""`})
	cells["unknown members"] = comes(sample{head: "api.json", body: `"a","x-beyond":{"a":null}`, want: `"a"`})
	cells["large integer"] = comes(sample{head: "api.json", body: "7615917337495251231", want: `"7615917337495251231"`}, sample{head: "api.json", body: "[-18446744073709551616]", want: `"-18446744073709551616"`})
	cells["1e400"] = comes(sample{head: "api.json", body: "1e400", want: `"1e400"`})
	cells["other media types"] = comes(sample{head: "api.yaml", body: "0.10", want: `"0.1"`})
	cells["line breaks of Windows"] = comes(sample{head: "api.json", body: "\r\n1\r\n", want: `"1"`})
	return cells
}

// openDescribed calls an operation whose parameter has a default, and outputs the parameter that the service receives.
func openDescribed(t *testing.T) func(*testing.T, sample) string {
	service := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		got := map[string]any{"got": nil}
		if r.URL.Query().Has("p") {
			got["got"] = r.URL.Query().Get("p")
		}
		_ = json.NewEncoder(w).Encode(got)
	}))
	t.Cleanup(service.Close)
	return func(t *testing.T, s sample) string {
		text := fmt.Sprintf(`{"openapi":"3.0.3","info":{"title":"é"},"servers":[{"url":%q}],"paths":{"/a":{"get":{"operationId":"ask","parameters":[{"name":"p","in":"query","required":true,"schema":{"default":%s}}]}}}}`, service.URL, s.body)
		return performed(t, fmt.Sprintf("do: [{ask: {call: openapi, with: {document: {endpoint: 'file://%s'}, operationId: ask}, output: {as: .got}}}]\n", mustWriteFile(t, s.head, s.sent(text))))
	}
}

func scriptFileCells() map[string]incomingCell {
	const refused = "!Invalid document: UTF-8"
	cells := textCells("a.js", "console.log(JSON.stringify(%s))", refused)
	cells["null"] = comes(sample{body: "console.log(null)", want: `"null"`})
	for variant, c := range cells { // the output of a script is text
		for n, s := range c.samples {
			if s.want[0] == '{' || s.want[0] == '[' || s.want[0] == '"' && s.want != `"null"` {
				text, _ := json.Marshal(s.want) // every text can be encoded
				c.samples[n].want = string(text)
			}
		}
		cells[variant] = c
	}
	cells["UTF-16"] = comes(sample{body: `console.log("é")`, wire: asUTF16, want: `"é"`}, sample{body: "console.log(JSON.stringify(\"é\"))", wire: asUTF16, want: `"\"é\""`})
	cells["absent"] = comes(sample{body: "1", want: `""`})
	cells["empty"] = comes(sample{body: " ", want: "!Invalid document: empty"}, sample{body: byteOrderMark, want: "!Invalid document: empty"})
	cells["large integer"] = comes(sample{body: "console.log(7615917337495251231)", want: `"7615917337495251000"`}, sample{body: "console.log(7615917337495251231n)", want: `"7615917337495251231n"`}).as("10.5")
	cells["1e400"] = comes(sample{body: "console.log(1e400)", want: `"Infinity"`}).as("10.5")
	cells["long fraction"] = comes(sample{body: "console.log(0.1234567890123456789)", want: `"0.12345678901234568"`}).as("10.5")
	cells["unknown members"] = comes(sample{body: "console.log(beyond)", want: "!runtime: beyond"})
	cells["other media types"] = nothingOf("the task says which language the script is in")
	return cells
}

func openScriptFile(*testing.T) func(*testing.T, sample) string {
	return func(t *testing.T, s sample) string {
		return performed(t, fmt.Sprintf("do: [{a: {run: {script: {language: js, source: {endpoint: 'file://%s'}}}}}]\n", mustWriteFile(t, "a.js", s.sent(s.body))))
	}
}
