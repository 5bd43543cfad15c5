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
	maxRefusal = 64 << 10 // maximum bytes that are read of an unsuccessful response
	maxDetail  = 4 << 10  // bytes of it that an error quotes
	unreserved = 32 << 10 // bytes of a body for which no memory is reserved
	perByte    = 4        // bytes of memory per byte of a body until it is stored, besides the values of decoded JSON
)

// receive reads the response until ctx ends, and returns the result of the task.
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

// closing closes a body when ctx ends, because not every body stops reading then. Otherwise the returned function closes it.
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
	if response.StatusCode == http.StatusSwitchingProtocols { // the following data is no body, and does not end
		response.Body.Close()
		return request.failure(response, []byte("the server switches to another protocol, which calls do not support"))
	}
	if request.succeeds(response.StatusCode) {
		return nil
	}
	body, _ := io.ReadAll(io.LimitReader(response.Body, maxRefusal)) // the part that can be read
	return request.failure(response, body)
}

// reserveValues reserves memory for the values of a body of JSON, if the body exceeds a small size.
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

// succeeds reports whether a status counts as a success for the task (semantics 11.5).
func (request *httpRequest) succeeds(status int) bool {
	return status >= 200 && (status <= 299 || request.Redirect && status <= 399)
}

// read returns the body of a success. A body above a small size waits until there is memory for its maximum size. The whole size is reserved in one
// piece, so that calls never wait for each other with half a body each.
func (request *httpRequest) read(ctx context.Context, response *http.Response, memory interpreter.Memory) ([]byte, error) {
	if response.Request.Method == http.MethodHead { // the length is the length of the answer to GET
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
		whole := bytes.NewBuffer(make([]byte, 0, int(response.ContentLength)+bytes.MinRead)) // large enough to find the end without growing
		_, _ = whole.Write(body.Bytes())                                                     // a buffer takes everything
		body = whole
	}
	err := request.fill(body, response, maxResponse())
	if memory != nil {
		memory.Keep(int64(body.Len()) * perByte)
	}
	return body.Bytes(), err
}

// fill reads until body exceeds limit bytes or ends. A response above the maximum size is an error.
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

// maxResponse is the maximum size of the body of a success, after decompression.
func maxResponse() int { return limits.Set{}.Max(limits.Response) }

func (request *httpRequest) tooLarge() error {
	return limits.Exceeded(limits.Response).With("request", request.summary())
}

// cut shortens a text that an error quotes.
func cut(text string) string {
	return shorten.To(text, maxDetail)
}

// result returns the result of the task for a response (semantics 11.3 to 11.6).
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

// headersAsData returns the header of a response. A field that occurs several times becomes one text, in the same form as the items of a list in the
// field. Only cookies become ambiguous in this way (RFC 9110, section 5.3).
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

// undecoded is the error of a body that does not have the form of its content type. A body that is compressed with a method that the request did not
// offer is such a body too.
func (request *httpRequest) undecoded(response *http.Response, err error) error {
	if encoding := response.Header.Get("Content-Encoding"); encoding != "" {
		err = errors.Communicationf("the response is encoded as %.100q, which is not decoded: only gzip is, and only if the task sets no Accept-Encoding", encoding)
	}
	return errors.AsError(err).With("request", request.summary())
}

// summary returns the part of the request for errors, without anything that may be a credential.
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

// errorText returns the text of a body whose end may be missing, if its charset is known; otherwise the body.
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

// decodeContent reads a body by its content type (semantics 11.3).
func decodeContent(contentType string, body []byte) (any, error) {
	v, err := content.Decode(contentType, body)
	if err != nil {
		return nil, errors.Communicationf("the response %s", err)
	}
	return v, nil
}
