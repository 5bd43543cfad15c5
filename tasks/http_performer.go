package tasks

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/swrun/swrun/errors"
	"github.com/swrun/swrun/interpreter"
)

// userAgent is how swrun introduces itself.
const userAgent = "swrun"

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
	result, err := p.exchange(ctx, &request, r)
	if err != nil && ctx.Err() != nil { // whatever the error is, it comes from that
		return nil, context.Cause(ctx)
	}
	return result, err
}

// exchange sends the request and reads the response. Both end with ctx.
func (p *httpPerformer) exchange(ctx context.Context, request *httpRequest, r interpreter.Request) (any, error) {
	sent, err := request.message(withCall(ctx), r)
	if err != nil {
		return nil, err
	}
	if c := request.Authentication; c != nil {
		if err := c.resolve(p.secrets); err != nil {
			return nil, err
		}
		c.apply(sent.Header)
	}
	response, err := newExchange(p, request, sent, r.Secret).send(sent)
	switch workflow := errors.AsError(err); {
	case workflow != nil:
		return nil, workflow.With("request", request.told())
	case err != nil:
		return nil, errors.Communicationf("%s %s: %s", request.Method, withoutQuery(request.URI), cut(cause(err))).With("request", request.told())
	}
	return request.receive(ctx, response, r)
}

// message is the request as it is sent, but for the credential of a policy.
func (request *httpRequest) message(ctx context.Context, r interpreter.Request) (*http.Request, error) {
	var body io.Reader // nothing at all, so that the message says so
	if len(request.Body) > 0 {
		body = bytes.NewReader(request.Body)
	}
	sent, err := http.NewRequestWithContext(ctx, request.Method, request.URI, body)
	if err != nil { // its text may quote a password
		return nil, errors.Expressionf("the endpoint %s is no URL", withoutQuery(request.URI))
	}
	sent.Header = make(http.Header, len(request.Headers)+3)
	sent.Header["User-Agent"] = []string{userAgent}
	sent.Header["Idempotency-Key"] = []string{r.Key}
	sent.Header["X-Swrun-Attempt"] = []string{strconv.Itoa(r.Attempt)}
	for name, value := range request.Headers {
		sent.Header[name] = []string{value}
	}
	if host := request.Headers["Host"]; host != "" {
		sent.Host = host
	}
	return sent, nil
}

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
	uri, _, _ = strings.Cut(withoutUser(uri), "?")
	uri, _, _ = strings.Cut(uri, "#")
	return uri
}

// withoutUser returns a URI without what stands for a user in it, if anything does.
func withoutUser(uri string) string {
	u, err := url.Parse(uri)
	if err != nil || u.User == nil {
		return errors.MaskURL(uri)
	}
	u.User = nil
	return errors.MaskURL(u.String())
}
