package tasks

import (
	"bytes"
	"cmp"
	"context"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/go-resty/resty/v2"
	"github.com/icholy/digest"

	"github.com/swrun/swrun/errors"
	"github.com/swrun/swrun/interpreter"
	"github.com/swrun/swrun/limits"
)

// exchange is one call: its request, and the requests that follow from it because of a digest challenge or redirects.
type exchange struct {
	method     string
	uri        string
	url        *url.URL // the parsed uri
	host       string
	header     http.Header // in the form to be sent
	body       []byte
	redirect   bool        // redirects are followed
	credential *credential // of the policy; nil without one
	private    bool        // the request contains a credential, or may contain a secret in its header or its body
	redirected string      // the request that follows a redirect, without its query; "" before one
	away       bool        // a redirect led to another origin, which must not get the credentials of the first one
}

// newExchange returns the exchange of a request in the form to be sent, without the credential of a policy.
func newExchange(request *httpRequest, r interpreter.Request) (*exchange, error) {
	u, err := url.Parse(request.URI)
	if err != nil { // its text may quote a password
		return nil, errors.Expressionf("the endpoint %s is not a URL", withoutQuery(request.URI))
	}
	if u.Port() == "" {
		u.Host = strings.TrimSuffix(u.Host, ":")
	}
	e := &exchange{
		method: request.Method, uri: request.URI, url: u, host: cmp.Or(request.Headers["Host"], u.Host), body: request.Body,
		redirect: request.Redirect, private: r.ReadsSecret || request.Authentication != nil || u.User != nil,
	}
	values := [...]string{userAgent, r.Key, strconv.Itoa(r.Attempt), ""}
	e.header = make(http.Header, len(request.Headers)+len(values)+1)
	e.header["User-Agent"], e.header["Idempotency-Key"], e.header["X-Swrun-Attempt"] = values[0:1:1], values[1:2:2], values[2:3:3]
	if !r.Deadline.IsZero() {
		values[3] = r.Deadline.UTC().Format(time.RFC3339Nano)
		e.header["Swrun-Deadline"] = values[3:4:4]
	}
	if r.TraceParent != "" {
		e.header["Traceparent"] = []string{r.TraceParent}
	}
	for name, value := range request.Headers {
		e.header[name] = []string{value}
		e.private = e.private || isCredential(name)
	}
	return e, nil
}

// authenticate adds the credential of a policy. It does not change the policy, which may only name its secret.
func (e *exchange) authenticate(ctx context.Context, policy *credential, config Config) error {
	c, err := policy.resolve(ctx, config)
	if err != nil || c == nil {
		return err
	}
	if err := c.needsTLS(withoutQuery(e.uri), e.url.Scheme == "https"); err != nil {
		return err
	}
	e.credential = c
	c.apply(e.header)
	return nil
}

// exchangeKey is the key under which the context of a request knows its exchange.
type exchangeKey struct{}

func exchangeOf(sent *http.Request) *exchange { return sent.Context().Value(exchangeKey{}).(*exchange) }

// send returns the final response.
func (e *exchange) send(ctx context.Context, client *resty.Client) (*http.Response, error) {
	ctx = context.WithValue(ctx, exchangeKey{}, e)
	response, err := client.R().SetContext(ctx).SetDoNotParseResponse(true).Execute(e.method, e.uri)
	if err != nil {
		return nil, err
	}
	return response.RawResponse, nil
}

// write makes sent exactly the message of the exchange, without the headers and bodies that the client adds automatically.
func (e *exchange) write(sent *http.Request) {
	sent.URL, sent.Host, sent.Header = e.url, e.host, e.header
	sent.Body, sent.GetBody, sent.ContentLength = nil, nil, int64(len(e.body)) // no body at all, so that the message states this
	if len(e.body) > 0 {
		sent.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(e.body)), nil }
		sent.Body, _ = sent.GetBody()
	}
}

// originOf returns the scheme, host and port of a URL.
func originOf(u *url.URL) string {
	port := u.Port()
	switch {
	case port != "":
	case u.Scheme == "http":
		port = "80"
	case u.Scheme == "https":
		port = "443"
	}
	return u.Scheme + "://" + strings.ToLower(strings.TrimSuffix(u.Hostname(), ".")) + ":" + port
}

// follow decides on a redirect before it is sent: which headers may go along, and whether it is followed at all (spec/call_http.md).
func (e *exchange) follow(next *http.Request, via []*http.Request) error {
	if !e.redirect {
		return http.ErrUseLastResponse
	}
	e.redirected = next.Method + " " + withoutQuery(next.URL.String())
	if err := (limits.Set{}).Check(limits.Redirects, len(via)); err != nil {
		return err
	}
	to, from := next.URL, via[len(via)-1].URL
	if to.Scheme != "http" && to.Scheme != "https" {
		return errors.Communicationf("the redirect to %s is not followed: it is neither http nor https", withoutQuery(to.String()))
	}
	if from.Scheme == "https" && to.Scheme == "http" {
		return errors.Communicationf("the redirect to %s is not followed: it leads from https to http", withoutQuery(to.String()))
	}
	if next.Method != e.method && next.Method == http.MethodGet && e.method != http.MethodPost && next.Response.StatusCode != http.StatusSeeOther {
		return errors.Communicationf("the redirect to %s is not followed: its status %d would make a GET of the %s; ask that URI",
			withoutQuery(to.String()), next.Response.StatusCode, e.method)
	}
	e.away = e.away || originOf(to) != originOf(e.url)
	if !e.away {
		return nil
	}
	if e.private && next.Body != nil && next.Body != http.NoBody {
		return errors.Communicationf("the redirect to %s is not followed: the body of a request with credentials or secrets does not go to another origin", withoutQuery(to.String()))
	}
	e.strip(next)
	return nil
}

// strip keeps only headers that describe the content in a request to another origin. Any other field may be a credential, because services use their
// own names for credentials.
func (e *exchange) strip(next *http.Request) {
	for name := range next.Header {
		if name != "User-Agent" && (e.private || !describesContent(name)) {
			next.Header.Del(name)
		}
	}
	if e.private { // a secret may be in any header, including this one
		next.Header.Set("User-Agent", userAgent)
	}
	next.Host = "" // the author's Host was for the first origin
}

func describesContent(name string) bool {
	switch name {
	case "Accept", "Accept-Encoding", "Accept-Language", "Content-Type", "Content-Encoding", "Content-Language":
		return true
	}
	return false
}

// isCredential reports whether a header exists to carry credentials.
func isCredential(name string) bool {
	return name == "Authorization" || name == "Proxy-Authorization" || name == "Cookie"
}

// located refuses a redirect whose target cannot be parsed. The client would refuse it too, but the error of the client quotes text that may contain
// a password.
type located struct{ http.RoundTripper }

func (l located) RoundTrip(request *http.Request) (*http.Response, error) {
	response, err := sendOnce(l.RoundTripper, request)
	if err != nil || !exchangeOf(request).redirect || response.StatusCode/100 != 3 {
		return response, err
	}
	if _, err := response.Location(); err != nil && err != http.ErrNoLocation {
		response.Body.Close()
		return nil, errors.Communicationf("the redirect is not followed: its Location is not a URL")
	}
	return response, nil
}

// maxChallenge is the part of a refusal's body that is read so that its connection can be used again.
const maxChallenge = 64 << 10

// challenged sends requests. It sends a request once more with a digest or another token if the origin that the task calls requires it.
type challenged struct{ http.RoundTripper }

func (c challenged) RoundTrip(request *http.Request) (*http.Response, error) {
	e := exchangeOf(request)
	if e.credential == nil || e.away {
		return sendOnce(c.RoundTripper, request)
	}
	transport, err := e.credential.through(c.RoundTripper)
	if err != nil {
		return nil, err
	}
	if len(e.credential.tokens) > 1 { // the client repeats the token that it got first
		request = request.Clone(request.Context())
		e.credential.apply(request.Header)
	}
	response, err := sendOnce(transport, request)
	switch {
	case err != nil || response.StatusCode != http.StatusUnauthorized:
		return response, err
	case e.credential.Scheme == "digest":
		return c.digested(e, request, response)
	}
	return e.credential.again(transport, request, response)
}

// answer sends a request once more, with the answer to a challenge.
func (e *exchange) answer(request *http.Request, response *http.Response, challenge *digest.Challenge) (*http.Request, error) {
	again, err := repeated(request, response)
	if err != nil {
		return nil, err
	}
	answer, err := digestOf(challenge, digest.Options{
		Method: request.Method, URI: request.URL.RequestURI(), GetBody: request.GetBody, Count: 1,
		Username: e.credential.Username, Password: e.credential.Password,
	})
	if err != nil {
		return nil, errors.Authenticationf("the digest challenge cannot be answered: %s", err)
	}
	again.Header.Set("Authorization", answer.String())
	return again, nil
}

// repeated returns a copy of a request for sending it once more. It drops the answer.
func repeated(request *http.Request, answer *http.Response) (*http.Request, error) {
	_, _ = io.CopyN(io.Discard, answer.Body, maxChallenge) // closing drops the rest, with the connection
	answer.Body.Close()
	again := request.Clone(request.Context())
	if request.GetBody == nil {
		return again, nil
	}
	body, err := request.GetBody()
	again.Body = body
	return again, err
}
