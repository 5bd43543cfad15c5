package tasks

import (
	"cmp"
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"strings"

	"github.com/go-resty/resty/v2"

	"github.com/swrun/swrun/errors"
	"github.com/swrun/swrun/interpreter"
)

// userAgent is the User-Agent of swrun.
const userAgent = "swrun"

// httpPerformer sends requests.
type httpPerformer struct {
	client *resty.Client // one client for all calls; the differences between calls are in their exchanges
	config Config
}

func newHTTPPerformer(c Config) *httpPerformer {
	return &httpPerformer{newClient(c.transport()), c}
}

// newClient returns a client that repeats nothing, keeps no cookies and prints nothing, and leaves redirects, challenges and
// the message to the exchange.
func newClient(transport http.RoundTripper) *resty.Client {
	client := resty.NewWithClient(&http.Client{Transport: located{challenged{transport}}})
	client.SetHeader("User-Agent", userAgent) // so that it does not compute one
	client.SetLogger(silent{}).SetDisableWarn(true)
	client.SetRedirectPolicy(resty.RedirectPolicyFunc(func(next *http.Request, via []*http.Request) error {
		return exchangeOf(next).follow(next, via)
	}))
	client.SetPreRequestHook(func(_ *resty.Client, sent *http.Request) error {
		exchangeOf(sent).write(sent)
		return nil
	})
	return client
}

// silent drops the output of the client.
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
	result, err := p.exchangeAnywhere(ctx, request, r)
	if err != nil && ctx.Err() != nil { // the end of ctx is then the cause, regardless of err
		return nil, context.Cause(ctx)
	}
	return result, err
}

// exchangeAnywhere sends the request. As long as a server is unavailable, it sends the same request to the next server, with the same idempotency
// key, like another attempt.
func (p *httpPerformer) exchangeAnywhere(ctx context.Context, request *httpRequest, r interpreter.Request) (any, error) {
	result, err := p.exchange(ctx, request, r)
	for _, uri := range request.Elsewhere {
		if !isUnavailable(err) || ctx.Err() != nil {
			break
		}
		there := *request
		there.URI = uri
		result, err = p.exchange(ctx, &there, r)
		var need *interpreter.NeedError
		if errors.As(err, &need) { // something has been sent
			err = need.Err
		}
	}
	return result, err
}

// isUnavailable reports whether a server answered that it cannot do anything now, so that it did nothing.
func isUnavailable(err error) bool {
	fault := errors.AsError(err)
	if fault == nil || fault.Type != errors.Communication || fault.Status != http.StatusServiceUnavailable {
		return false
	}
	_, answered := fault.Extensions["response"]
	return answered
}

// exchange sends the request and reads the response. Both end with ctx.
func (p *httpPerformer) exchange(ctx context.Context, request *httpRequest, r interpreter.Request) (any, error) {
	return p.ask(ctx, request, r, func(response *http.Response) (any, error) { return request.receive(ctx, response, r) })
}

// ask sends the request, and returns the result of receive for the response. Neither the result nor an error contains a sent token.
func (p *httpPerformer) ask(ctx context.Context, request *httpRequest, r interpreter.Request, receive func(*http.Response) (any, error)) (any, error) {
	e, err := newExchange(request, r)
	if err != nil {
		return nil, err
	}
	if err := e.authenticate(ctx, request.Authentication, p.config); err != nil {
		return nil, err
	}
	response, err := p.send(ctx, e, request)
	if err != nil {
		return e.credential.hide(nil, err)
	}
	return e.credential.hide(receive(response))
}

// send sends the request of an exchange, and returns the response, whose body is still to be read.
func (p *httpPerformer) send(ctx context.Context, e *exchange, request *httpRequest) (*http.Response, error) {
	response, err := e.send(withCall(ctx), p.client)
	switch workflow := errors.AsError(err); {
	case workflow != nil:
		return nil, workflow.With("request", request.summary())
	case err != nil:
		fault, need := unreached(cmp.Or(e.redirected, request.Method+" "+withoutQuery(request.URI)), err)
		if fault = fault.With("request", request.summary()); need == "" || e.redirected != "" { // something has been sent
			return nil, fault
		}
		return nil, &interpreter.NeedError{Need: need, Err: fault}
	}
	return response, nil
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

// withoutQuery removes the query, which may contain a credential, from a URI in messages.
func withoutQuery(uri string) string {
	uri, _, _ = strings.Cut(withoutUser(uri), "?")
	uri, _, _ = strings.Cut(uri, "#")
	return uri
}

// withoutUser returns a URI without its user part, if it has one.
func withoutUser(uri string) string {
	u, err := url.Parse(uri)
	if err != nil || u.User == nil {
		return errors.MaskURL(uri)
	}
	u.User = nil
	return errors.MaskURL(u.String())
}
