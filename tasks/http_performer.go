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
	client := resty.NewWithClient(&http.Client{Transport: challenged{transport}})
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
	message, err := request.message(withCall(ctx), r)
	if err != nil {
		return nil, err
	}
	if c := request.Authentication; c != nil {
		if err := c.resolve(p.secrets); err != nil {
			return nil, err
		}
		c.apply(message.Header)
	}
	response, err := newExchange(request, message, r.Secret).send(p.client)
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
