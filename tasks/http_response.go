package tasks

import (
	"bytes"
	"context"
	"encoding/base64"
	"io"
	"net/http"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/swrun/swrun/errors"
	"github.com/swrun/swrun/expr"
	"github.com/swrun/swrun/internal/content"
	"github.com/swrun/swrun/internal/shorten"
	"github.com/swrun/swrun/interpreter"
	"github.com/swrun/swrun/limits"
)

// Limits of a response.
const (
	maxRefusal = 64 << 10 // bytes that are read of one that is not successful
	maxDetail  = 4 << 10  // bytes of it that an error quotes
	unreserved = 32 << 10 // bytes of a body for which no memory is reserved
	perByte    = 4        // bytes of memory that one of a body takes until it is stored, besides the values that JSON becomes
)

// receive reads the response until ctx ends, and returns what the task gets.
func (request *httpRequest) receive(ctx context.Context, response *http.Response, r interpreter.Request) (any, error) {
	defer closing(ctx, response.Body)()
	if err := request.refusal(response); err != nil {
		return nil, err
	}
	body, err := request.read(ctx, response, r.Memory)
	if err != nil {
		return nil, err
	}
	if request.decodes(response) {
		if err := reserveValues(ctx, r.Memory, body); err != nil {
			return nil, err
		}
	}
	return request.result(response, body)
}

// closing closes a body when ctx ends, since not every body stops reading then, and otherwise when what it returns is called.
func closing(ctx context.Context, body io.Closer) func() {
	closed := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		body.Close()
		close(closed)
	})
	return func() {
		if stop() {
			body.Close()
		} else {
			<-closed
		}
	}
}

// refusal returns the error of a response that is not successful.
func (request *httpRequest) refusal(response *http.Response) error {
	if response.StatusCode == http.StatusSwitchingProtocols { // what follows is not a body, and does not end
		response.Body.Close()
		return request.failure(response, []byte("the server switches to another protocol, which calls do not support"))
	}
	if request.succeeds(response.StatusCode) {
		return nil
	}
	body, _ := io.ReadAll(io.LimitReader(response.Body, maxRefusal)) // what there is of it
	return request.failure(response, body)
}

// reserveValues reserves memory for the values that a body of JSON becomes, if it is more than a little.
func reserveValues(ctx context.Context, memory interpreter.Memory, body []byte) error {
	if memory == nil || len(body) <= unreserved {
		return nil
	}
	return memory.ReserveValues(ctx, int64(expr.DecodedSize(body)))
}

// decodes reports whether the task gets the values of JSON.
func (request *httpRequest) decodes(response *http.Response) bool {
	return request.Format != "raw" && content.IsJSON(content.Media(response.Header.Get("Content-Type")))
}

// succeeds reports whether a status is what the task has asked for (semantics 11.5).
func (request *httpRequest) succeeds(status int) bool {
	return status >= 200 && (status <= 299 || request.Redirect && status <= 399)
}

// read returns the body of a success. What is more than a little waits until there is memory for what it may become: all of
// it at once, so that calls never wait for each other with half a body each.
func (request *httpRequest) read(ctx context.Context, response *http.Response, memory interpreter.Memory) ([]byte, error) {
	if response.Request.Method == http.MethodHead { // its length is that of what GET returns
		return nil, nil
	}
	if response.ContentLength > int64(maxResponse()) {
		return nil, request.tooLarge()
	}
	body := &bytes.Buffer{}
	if err := request.fill(body, response, unreserved); err != nil || body.Len() <= unreserved {
		return body.Bytes(), err
	}
	if memory != nil {
		most := int64(maxResponse())
		if response.ContentLength > 0 {
			most = response.ContentLength
		}
		if err := memory.Reserve(ctx, most*perByte); err != nil {
			return nil, err
		}
	}
	if response.ContentLength > 0 {
		whole := bytes.NewBuffer(make([]byte, 0, int(response.ContentLength)+bytes.MinRead)) // so much more that its end is found without growing
		_, _ = whole.Write(body.Bytes())                                                     // a buffer takes everything
		body = whole
	}
	err := request.fill(body, response, maxResponse())
	if memory != nil {
		memory.Keep(int64(body.Len()) * perByte)
	}
	return body.Bytes(), err
}

// fill reads on until body has more than limit bytes or ends. More than a response may have is an error.
func (request *httpRequest) fill(body *bytes.Buffer, response *http.Response, limit int) error {
	_, err := body.ReadFrom(io.LimitReader(response.Body, int64(limit+1-body.Len())))
	switch {
	case err != nil:
		return request.broken(err)
	case body.Len() > maxResponse():
		return request.tooLarge()
	}
	return nil
}

// broken is the error of a response that could not be read to its end.
func (request *httpRequest) broken(err error) error {
	return errors.Communicationf("the response of %s breaks off: %s", withoutQuery(request.URI), cut(err.Error())).With("request", request.summary())
}

// maxResponse is how large the body of a success may be, after decompression.
func maxResponse() int { return limits.Set{}.Max(limits.Response) }

func (request *httpRequest) tooLarge() error {
	return limits.Exceeded(limits.Response).With("request", request.summary())
}

// cut shortens a text that an error quotes.
func cut(text string) string {
	return shorten.To(text, maxDetail)
}

// result is what the task gets of a response (semantics 11.3 to 11.6).
func (request *httpRequest) result(response *http.Response, body []byte) (any, error) {
	if request.Format == "raw" {
		return base64.StdEncoding.EncodeToString(body), nil
	}
	decoded, err := decodeContent(response.Header.Get("Content-Type"), body)
	if err != nil {
		return nil, request.undecoded(response, err)
	}
	if request.Format != "response" {
		return decoded, nil
	}
	sent := map[string]any{}
	for name, value := range request.Headers {
		if !isCredential(name) { // credentials do not become data
			sent[name] = value
		}
	}
	return map[string]any{
		"request":    map[string]any{"method": request.Method, "uri": withoutUser(request.URI), "headers": sent},
		"statusCode": response.StatusCode,
		"headers":    headersAsData(response.Header),
		"content":    decoded,
	}, nil
}

// headersAsData returns the header of a response. A field that is given several times is one text, as its items are a list in it; only cookies cannot be
// told apart then (RFC 9110, section 5.3).
func headersAsData(header http.Header) map[string]any {
	headers := map[string]any{}
	for name, values := range header {
		headers[name] = content.FieldText(strings.Join(values, ", "))
		if name == "Set-Cookie" && len(values) > 1 {
			list := make([]any, len(values))
			for i, value := range values {
				list[i] = content.FieldText(value)
			}
			headers[name] = list
		}
	}
	return headers
}

// undecoded is the error of a body that is not what its content type says. One that is compressed in a way that nobody has offered is none of it.
func (request *httpRequest) undecoded(response *http.Response, err error) error {
	if encoding := response.Header.Get("Content-Encoding"); encoding != "" {
		err = errors.Communicationf("the response is encoded as %.100q, which is not decoded: only gzip is, and only if the task sets no Accept-Encoding", encoding)
	}
	return errors.AsError(err).With("request", request.summary())
}

// summary is what an error says of the request: nothing that may be a credential.
func (request *httpRequest) summary() map[string]any {
	return map[string]any{"method": request.Method, "uri": withoutQuery(request.URI)}
}

// failure is the error of a response that is not successful; its detail is the body.
func (request *httpRequest) failure(response *http.Response, body []byte) error {
	status, contentType := response.StatusCode, response.Header.Get("Content-Type")
	e := errors.Communicationf("")
	e.Status, e.Title = status, http.StatusText(status)
	if e.Title == "" {
		e.Title = "Status " + strconv.Itoa(status)
	}
	switch text := errorText(contentType, body); {
	case utf8.Valid(text):
		e.Detail = cut(strings.TrimSpace(string(text)))
	case len(body) < maxRefusal:
		e.Detail = strconv.Itoa(len(body)) + " bytes of " + contentType
	default:
		e.Detail = "more than " + strconv.Itoa(maxRefusal-1) + " bytes of " + contentType
	}
	return e.With("request", request.summary()).With("response", map[string]any{"statusCode": status, "contentType": contentType})
}

// errorText returns the text of a body, of which the end may be missing, if its charset is known; otherwise the body.
func errorText(contentType string, body []byte) []byte {
	for missing := range min(len(body), utf8.UTFMax) { // of the last character
		if text, err := content.Text(contentType, body[:len(body)-missing]); err == nil {
			return text
		}
	}
	return trimPartialRune(body)
}

// trimPartialRune removes an incomplete character from the end.
func trimPartialRune(body []byte) []byte {
	for i := 1; i < utf8.UTFMax && i <= len(body); i++ {
		if last := body[len(body)-i:]; utf8.RuneStart(last[0]) {
			if !utf8.FullRune(last) {
				return body[:len(body)-i]
			}
			break
		}
	}
	return body
}

// decodeContent reads a body as its content type says (semantics 11.3).
func decodeContent(contentType string, body []byte) (any, error) {
	v, err := content.Decode(contentType, body)
	if err != nil {
		return nil, errors.Communicationf("the response %s", err)
	}
	return v, nil
}
