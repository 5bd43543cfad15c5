// Package a2a contains the parts of the A2A protocol, versions 1.0 and 0.3, that a call needs: cards of agents, parameters of methods, and messages.
// It sends nothing itself. The libraries of the protocol define the content of these parts.
package a2a

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"strings"
	"unicode/utf8"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/tmaxmax/go-sse"

	"github.com/swrun/swrun/expr"
)

// Request returns the message that calls the method.
func (m Method) Request(id string, parameters map[string]any) ([]byte, error) {
	named, err := jsonrpc.MakeID(id)
	if err != nil {
		return nil, err
	}
	request := &jsonrpc.Request{ID: named, Method: m.called}
	if len(parameters) > 0 || m.version == V1 { // their agents require an object
		if parameters == nil {
			parameters = map[string]any{}
		}
		if request.Params, err = expr.Encode(parameters); err != nil {
			return nil, err
		}
	}
	return jsonrpc.EncodeMessage(request)
}

// AnswerError reports an answer that breaks the protocol.
type AnswerError struct{ message string }

func (e *AnswerError) Error() string { return e.message }

// response is an answer. The id may be null if the agent did not understand the request. The library of JSON-RPC refuses such an answer.
type response struct {
	Version string          `json:"jsonrpc"`
	Result  json.RawMessage `json:"result"`
	Error   *jsonrpc.Error  `json:"error"`
}

// Result returns the result of an answer. The error is a *jsonrpc.Error if the agent answers with one, and otherwise an *AnswerError.
func (m Method) Result(answer []byte) (json.RawMessage, error) {
	if len(bytes.TrimSpace(answer)) == 0 && m.mayBeNull { // the library's own server answers in this way
		return json.RawMessage("null"), nil
	}
	if !utf8.Valid(answer) { // decoding would change the text of an error
		return nil, &AnswerError{"the answer is not UTF-8"}
	}
	var r response
	if err := json.Unmarshal(answer, &r); err != nil || r.Version != "2.0" {
		return nil, &AnswerError{"the answer is not one of JSON-RPC 2.0"}
	}
	if r.Error != nil {
		return nil, r.Error
	}
	if len(r.Result) == 0 || string(r.Result) == "null" {
		if m.mayBeNull {
			return json.RawMessage("null"), nil
		}
		return nil, &AnswerError{"the answer has neither a result nor an error"}
	}
	if err := m.result(r.Result); err != nil {
		if m.version == V03 && MethodOf(m.Name, V1).result(r.Result) == nil {
			return nil, &AnswerError{fmt.Sprintf("the agent answers in version %s of A2A, and was asked in %s: name its card (`agentCard`), which says the version", V1, V03)}
		}
		return nil, &AnswerError{fmt.Sprintf("the result is not one of %s: %s", m.Name, fit(err))}
	}
	return r.Result, nil
}

// Results returns the results of a stream of events, until it ends or an event is marked as the last. Errors are the errors of Result, or errors of
// reading. There is at least one result or one error. The last event needs no empty line after it: a part of its data is an error.
func (m Method) Results(stream io.Reader, maxEvent int) iter.Seq2[json.RawMessage, error] {
	return func(yield func(json.RawMessage, error) bool) {
		empty := true
		stream = io.MultiReader(stream, strings.NewReader("\n\n")) // the library drops an event that no empty line ends
		for event, err := range sse.Read(&wholeEvents{Reader: stream}, &sse.ReadConfig{MaxEventSize: maxEvent}) {
			if err == nil && event.Data == "" {
				continue
			}
			var result json.RawMessage
			if err == nil {
				result, err = m.Result([]byte(event.Data))
			}
			if empty = false; !yield(result, err) || err != nil || m.isLast(result) {
				return
			}
		}
		if empty {
			yield(nil, &AnswerError{"the stream has ended without a result"})
		}
	}
}

// isLast reports whether a result is the last one.
func (m Method) isLast(result json.RawMessage) bool {
	if m.version == V1 {
		return isLast1(result)
	}
	var event struct {
		Final bool `json:"final"`
	}
	return json.Unmarshal(result, &event) == nil && event.Final
}

// wholeEvents reads until an event is complete, if there is room for it. Otherwise the library would search the end of an event from its beginning
// after each read.
type wholeEvents struct {
	io.Reader
	lineEnded bool
}

// Read implements io.Reader.
func (r *wholeEvents) Read(to []byte) (n int, err error) {
	for n < len(to) && err == nil {
		var more int
		more, err = r.Reader.Read(to[n:])
		n += more
		if r.ends(to[n-more : n]) {
			break
		}
	}
	if n > 0 && errors.Is(err, io.EOF) {
		err = nil // the error occurs again
	}
	return n, err
}

// ends reports whether the read text contains an empty line.
func (r *wholeEvents) ends(text []byte) bool {
	found := false
	for _, c := range text {
		if c == '\r' {
			continue
		}
		found = found || c == '\n' && r.lineEnded
		r.lineEnded = c == '\n'
	}
	return found
}
