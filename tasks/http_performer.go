package tasks

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"strings"

	"github.com/go-resty/resty/v2"

	"github.com/swrun/swrun/errors"
	"github.com/swrun/swrun/interpreter"
)

// userAgent is how swrun introduces itself.
const userAgent = "swrun"

// httpPerformer sends requests.
type httpPerformer struct {
	client  *resty.Client // one for all: what differs between calls is in their exchanges
	secrets interpreter.Secrets
}

func newHTTPPerformer(c Config) *httpPerformer {
	transport := c.Transport
	if transport == nil {
		transport = http.DefaultTransport
	}
	return &httpPerformer{client: newClient(transport), secrets: c.Secrets}
}

// newClient returns a client that repeats nothing, keeps no cookies and prints nothing, and leaves redirects, challenges and
// the message to the exchange.
func newClient(transport http.RoundTripper) *resty.Client {
	client := resty.NewWithClient(&http.Client{Transport: located{challenged{transport}}})
	client.SetHeader("User-Agent", userAgent) // so that it does not compute one
	client.SetLogger(silent{}).SetDisableWarn(true).SetAllowGetMethodPayload(true)
	client.SetRedirectPolicy(resty.RedirectPolicyFunc(func(next *http.Request, via []*http.Request) error {
		return exchangeOf(next).follow(next, via)
	}))
	client.SetPreRequestHook(func(_ *resty.Client, sent *http.Request) error {
		exchangeOf(sent).write(sent)
		return nil
	})
	return client
}

// silent drops what the client would print.
type silent struct{}

func (silent) Errorf(string, ...any) {}
func (silent) Warnf(string, ...any)  {}
func (silent) Debugf(string, ...any) {}

func (p *httpPerformer) perform(ctx context.Context, r interpreter.Request) (any, error) {
	request, prepared := r.Prepared.(*httpRequest)
	if !prepared {
		request = new(httpRequest)
		if err := json.Unmarshal(r.Body, request); err != nil {
			return nil, err
		}
	}
	result, err := p.exchange(ctx, request, r)
	if err != nil && ctx.Err() != nil { // then that is the cause, whatever err says
		return nil, context.Cause(ctx)
	}
	return result, err
}

// exchange sends the request and reads the response. Both end with ctx.
func (p *httpPerformer) exchange(ctx context.Context, request *httpRequest, r interpreter.Request) (any, error) {
	e, err := newExchange(request, r)
	if err != nil {
		return nil, err
	}
	if err := e.authenticate(request.Authentication, p.secrets); err != nil {
		return nil, err
	}
	response, err := e.send(withCall(ctx), p.client)
	var notAllowed *NotAllowedError
	switch workflow := errors.AsError(err); {
	case workflow != nil:
		return nil, workflow.With("request", request.summary())
	case errors.As(err, &notAllowed):
		refused := errors.Configurationf("%s %s: %s", request.Method, withoutQuery(request.URI), notAllowed.Detail).With("request", request.summary())
		if e.redirected { // something has been sent
			return nil, refused
		}
		return nil, &interpreter.NeedError{Need: interpreter.NeedNetwork(notAllowed.Address), Err: refused}
	case err != nil:
		return nil, errors.Communicationf("%s %s: %s", request.Method, withoutQuery(request.URI), cut(cause(err))).With("request", request.summary())
	}
	return request.receive(ctx, response, r)
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
