package tasks

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"io"
	"mime"
	"net/http"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/go-resty/resty/v2"

	"github.com/swrun/swrun/errors"
	"github.com/swrun/swrun/expr"
	"github.com/swrun/swrun/interpreter"
)

// Limits of a response: its body after decompression, and what of it an error quotes.
const (
	maxResponse = 10 << 20
	maxDetail   = 4 << 10
	maxRedirect = 10
)

// httpPerformer sends requests.
type httpPerformer struct {
	transport http.RoundTripper
	secrets   interpreter.Secrets
}

func newHTTPPerformer(c Config) *httpPerformer {
	p := &httpPerformer{transport: c.Transport, secrets: c.Secrets}
	if p.transport == nil {
		p.transport = http.DefaultTransport
	}
	return p
}

func (p *httpPerformer) perform(ctx context.Context, r interpreter.Request) (any, error) {
	var request httpRequest
	if err := json.Unmarshal(r.Body, &request); err != nil {
		return nil, err
	}
	response, err := p.send(ctx, &request, r)
	if err != nil {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		if workflow := errors.AsError(err); workflow != nil {
			return nil, workflow
		}
		return nil, errors.Communicationf("%s %s: %s", request.Method, withoutQuery(request.URI), cause(err)).With("request", request.told())
	}
	defer response.RawBody().Close()
	body, err := io.ReadAll(io.LimitReader(response.RawBody(), maxResponse+1))
	switch {
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	case err != nil:
		return nil, errors.Communicationf("the response of %s breaks off: %s", withoutQuery(request.URI), err)
	case len(body) > maxResponse:
		return nil, errors.Communicationf("the response of %s is larger than %d bytes", withoutQuery(request.URI), maxResponse)
	}
	return request.result(response, body)
}

// send makes a client of its own for each request: redirects and digests are settings of clients, and clients are
// cheap; the connections belong to the transport.
func (p *httpPerformer) send(ctx context.Context, request *httpRequest, r interpreter.Request) (*resty.Response, error) {
	client := resty.New().SetTransport(p.transport).SetLogger(silent{}).SetDisableWarn(true).SetAllowGetMethodPayload(true)
	client.SetRedirectPolicy(resty.RedirectPolicyFunc(func(_ *http.Request, via []*http.Request) error {
		if !request.Redirect {
			return http.ErrUseLastResponse
		}
		if len(via) > maxRedirect {
			return errors.Communicationf("more than %d redirects", maxRedirect)
		}
		return nil
	}))
	sent := client.R().SetContext(ctx).SetDoNotParseResponse(true)
	sent.SetHeader("User-Agent", "swrun").SetHeader("Idempotency-Key", r.Key).SetHeader("X-Swrun-Attempt", strconv.Itoa(r.Attempt))
	sent.SetHeaders(request.Headers)
	if request.Body != nil {
		sent.SetBody(request.Body)
	}
	client.SetPreRequestHook(func(_ *resty.Client, raw *http.Request) error {
		if request.Body != nil && raw.Body == nil { // the client drops the bodies of HEAD and OPTIONS; we do not
			raw.Body, raw.ContentLength = io.NopCloser(bytes.NewReader(request.Body)), int64(len(request.Body))
		}
		return nil
	})
	if c := request.Authentication; c != nil {
		if err := c.resolve(p.secrets); err != nil {
			return nil, err
		}
		c.apply(client, sent, p.transport)
	}
	return sent.Execute(request.Method, request.URI)
}

// silent drops what the client library would print.
type silent struct{}

func (silent) Errorf(string, ...any) {}
func (silent) Warnf(string, ...any)  {}
func (silent) Debugf(string, ...any) {}

// cause returns the innermost message: the outer ones repeat the method and the URI with its query.
func cause(err error) string {
	for {
		inner := errors.Unwrap(err)
		if inner == nil {
			return err.Error()
		}
		err = inner
	}
}

// withoutQuery keeps what may be a credential out of messages.
func withoutQuery(uri string) string {
	uri, _, _ = strings.Cut(uri, "?")
	if scheme, rest, ok := strings.Cut(uri, "://"); ok {
		authority, path, _ := strings.Cut(rest, "/")
		if i := strings.LastIndex(authority, "@"); i >= 0 {
			authority = authority[i+1:]
		}
		return scheme + "://" + authority + "/" + path
	}
	return uri
}

// result is what the task gets of a response (semantics 11.3 to 11.6).
func (request *httpRequest) result(response *resty.Response, body []byte) (any, error) {
	status := response.StatusCode()
	if status < 200 || status > 299 && (!request.Redirect || status > 399) {
		return nil, request.failure(status, response.Header().Get("Content-Type"), body)
	}
	if request.Format == "raw" {
		return base64.StdEncoding.EncodeToString(body), nil
	}
	content, err := decodeContent(response.Header().Get("Content-Type"), body)
	if err != nil || request.Format != "response" {
		return content, err
	}
	headers := map[string]any{}
	for name, values := range response.Header() {
		headers[name] = strings.Join(values, ", ")
	}
	sent := map[string]any{}
	for name, value := range request.Headers {
		if name != "Authorization" && name != "Proxy-Authorization" && name != "Cookie" { // credentials do not become data
			sent[name] = value
		}
	}
	return map[string]any{
		"request":    map[string]any{"method": request.Method, "uri": request.URI, "headers": sent},
		"statusCode": status,
		"headers":    headers,
		"content":    content,
	}, nil
}

// told is what an error tells of the request: nothing that may be a credential.
func (request *httpRequest) told() map[string]any {
	return map[string]any{"method": request.Method, "uri": withoutQuery(request.URI)}
}

// failure is the error of a response that is no success; its detail is the body.
func (request *httpRequest) failure(status int, contentType string, body []byte) error {
	e := errors.Communicationf("")
	e.Status, e.Title = status, http.StatusText(status)
	if e.Title == "" {
		e.Title = "Status " + strconv.Itoa(status)
	}
	if text := strings.TrimSpace(string(body)); utf8.Valid(body) {
		if len(text) > maxDetail {
			text = strings.ToValidUTF8(text[:maxDetail], "") + "…"
		}
		e.Detail = text
	} else {
		e.Detail = strconv.Itoa(len(body)) + " bytes of " + contentType
	}
	return e.With("request", request.told()).With("response", map[string]any{"statusCode": status, "contentType": contentType})
}

// decodeContent reads a body as its content type says: JSON as data, text as text, nothing as null, all else as
// base64.
func decodeContent(contentType string, body []byte) (any, error) {
	if len(body) == 0 {
		return nil, nil
	}
	media, _, err := mime.ParseMediaType(contentType)
	if err != nil {
		media = strings.TrimSpace(strings.Split(contentType, ";")[0])
	}
	switch {
	case media == "application/json" || strings.HasSuffix(media, "+json"):
		v, err := expr.Decode(body)
		if err != nil {
			return nil, errors.Communicationf("the response says that it is JSON, and is not: %s", err)
		}
		return v, nil
	case isTextual(media) && utf8.Valid(body):
		return string(body), nil
	}
	return base64.StdEncoding.EncodeToString(body), nil
}

func isTextual(media string) bool {
	switch media {
	case "", "application/xml", "application/yaml", "application/x-yaml", "application/x-www-form-urlencoded":
		return true
	}
	return strings.HasPrefix(media, "text/") || strings.HasSuffix(media, "+xml") || strings.HasSuffix(media, "+yaml")
}
