package oauth

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"golang.org/x/oauth2"

	"github.com/swrun/swrun/internal/content"
)

// maxAnswer is the maximum number of bytes of an answer.
const maxAnswer = 256 << 10

// server is an authority for one request of a token, which may need several requests over HTTP. It follows no redirect, because the requests contain
// credentials.
type server struct {
	transport http.RoundTripper
	asJSON    bool // tokens are asked for with JSON

	status   string // of the last answer
	media    string // its content type
	tooLarge bool
	useless  string // why the last answer contains no usable token, if it is JSON
	method   string // of the last request
	uri      string // of the last request, without its query
}

// client returns the HTTP client for the server.
func (s *server) client() *http.Client {
	return &http.Client{Transport: s, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
}

// RoundTrip implements http.RoundTripper.
func (s *server) RoundTrip(sent *http.Request) (*http.Response, error) {
	request := sent.Clone(sent.Context())
	request.Header.Set("User-Agent", "swrun")
	request.Header.Set("Accept", "application/json")
	if s.asJSON && sent.Method == http.MethodPost {
		if err := encodeAsJSON(request); err != nil {
			return nil, err
		}
	}
	s.status, s.media, s.useless = "", "", ""
	s.method, s.uri = sent.Method, withoutQuery(sent.URL)
	response, err := s.transport.RoundTrip(request)
	if err != nil {
		return nil, err
	}
	s.status, s.media = response.Status, response.Header.Get("Content-Type")
	s.read(response)
	return response, nil
}

// read reads an answer, and converts it to a form that the libraries understand. Some servers send JSON with the content type of text, JSON that
// begins with a byte order mark, or seconds that are no integer.
func (s *server) read(response *http.Response) {
	body := &bounded{ReadCloser: response.Body, left: maxAnswer, server: s}
	data, err := io.ReadAll(body)
	if err != nil {
		response.Body = unread{io.MultiReader(bytes.NewReader(data), broken{err}), body}
		return
	}
	switch text, err := content.Text(s.media, data); {
	case err == nil:
		data = text
	case response.StatusCode/100 == 2: // the libraries would replace unreadable characters
		response.Body = unread{broken{err}, body}
		return
	}
	if object := answerOf(data); object != nil {
		s.useless = uselessToken(object)
		response.Header.Set("Content-Type", encodingJSON)
		if written, err := json.Marshal(object); err == nil {
			data = written
		}
	}
	response.Body, response.ContentLength = unread{bytes.NewReader(data), body}, int64(len(data))
	response.Header.Del("Content-Length") // of the original body
}

func withoutQuery(address *url.URL) string {
	plain := *address
	plain.User, plain.RawQuery, plain.Fragment = nil, "", ""
	return plain.String()
}

// uselessToken returns why an answer contains no token, or "".
func uselessToken(answer map[string]any) string {
	token, present := answer["access_token"]
	text, isText := token.(string)
	switch {
	case !present:
		return "has no `access_token`"
	case token == nil:
		return "has `access_token: null`"
	case !isText:
		return "has an `access_token` that is no text"
	case strings.TrimSpace(text) == "":
		return "has an empty `access_token`"
	}
	return ""
}

// answerOf returns an answer that is an object of JSON, with the seconds until it expires as the libraries read them; nil for any other.
func answerOf(data []byte) map[string]any {
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.UseNumber()
	var object map[string]any
	if err := decoder.Decode(&object); err != nil || decoder.More() {
		return nil
	}
	const valid = "expires_in"
	text := ""
	switch said := object[valid].(type) {
	case json.Number:
		text = said.String()
	case string:
		text = strings.TrimSpace(said)
		if text == "" { // an empty text has no meaning
			delete(object, valid)
		}
	}
	if seconds, err := strconv.ParseFloat(text, 64); (err == nil || errors.Is(err, strconv.ErrRange)) && !math.IsNaN(seconds) {
		object[valid] = int64(max(min(seconds, math.MaxInt32), 0))
	}
	return object
}

// unread is the body of an answer that was read before.
type unread struct {
	io.Reader
	io.Closer
}

// broken is the rest of an answer that cannot be read to its end.
type broken struct{ err error }

// Read implements io.Reader.
func (b broken) Read([]byte) (int, error) { return 0, b.err }

// encodeAsJSON makes an object from the form of a request: a repeated parameter becomes an array.
func encodeAsJSON(request *http.Request) error {
	form, err := io.ReadAll(request.Body)
	request.Body.Close()
	if err != nil {
		return err
	}
	values, err := url.ParseQuery(string(form))
	if err != nil {
		return err
	}
	object := map[string]any{}
	for name, all := range values {
		object[name] = all[0]
		if len(all) > 1 {
			object[name] = all
		}
	}
	body, err := json.Marshal(object)
	if err != nil {
		return err
	}
	request.Header.Set("Content-Type", encodingJSON)
	request.Body, request.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	request.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(body)), nil }
	return nil
}

// bounded is the body of an answer.
type bounded struct {
	io.ReadCloser
	left   int
	server *server
}

// Read implements io.Reader.
func (b *bounded) Read(p []byte) (int, error) {
	if b.left <= 0 {
		b.server.tooLarge = true
		return 0, fmt.Errorf("the answer has more than %d bytes", maxAnswer)
	}
	n, err := b.ReadCloser.Read(p[:min(len(p), b.left)])
	b.left -= n
	return n, err
}

// refusal returns the server's message about a refused request. An answer of any other form may contain secrets, so that it is not repeated.
func refusal(e *oauth2.RetrieveError) string {
	switch {
	case e.ErrorCode != "" && e.ErrorDescription != "":
		return e.ErrorCode + ": " + e.ErrorDescription
	case e.ErrorCode != "":
		return e.ErrorCode
	}
	return "the server answers " + e.Response.Status
}
