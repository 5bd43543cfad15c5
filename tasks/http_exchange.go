package tasks

import (
	"cmp"
	"context"
	"io"
	"net/http"
	"net/url"
	"strings"

	"github.com/go-resty/resty/v2"
	"github.com/icholy/digest"

	"github.com/swrun/swrun/errors"
)

// maxRedirect is how many redirects are followed.
const maxRedirect = 3

// exchange is one call: its request, and what follows from it, the answer to a digest challenge and redirects.
type exchange struct {
	message    *http.Request // as it is to be sent
	redirect   bool          // redirects are followed
	origin     string        // that the task asks
	credential *credential   // nil if the policy is none or already in the header
	private    bool          // the request has a credential or may hold a secret, in its header or its body
	away       bool          // a redirect has led to another origin: from there on nothing goes along that was meant for the first
}

func newExchange(request *httpRequest, message *http.Request, secret bool) *exchange {
	e := &exchange{message: message, redirect: request.Redirect, origin: originOf(message.URL)}
	if c := request.Authentication; c != nil && c.Scheme == "digest" {
		e.credential = c
	}
	e.private = secret || request.Authentication != nil || message.URL.User != nil
	for name := range request.Headers {
		e.private = e.private || isCredential(name)
	}
	return e
}

// exchangeKey is the key under which the context of a request knows its exchange.
type exchangeKey struct{}

func exchangeOf(sent *http.Request) *exchange { return sent.Context().Value(exchangeKey{}).(*exchange) }

// send returns the response that is not followed any further.
func (e *exchange) send(client *resty.Client) (*http.Response, error) {
	ctx := context.WithValue(e.message.Context(), exchangeKey{}, e)
	response, err := client.R().SetContext(ctx).SetDoNotParseResponse(true).Execute(e.message.Method, e.message.URL.String())
	if err != nil {
		return nil, err
	}
	return response.RawResponse, nil
}

// write makes sent the message of the exchange, and nothing else: the client has its own ideas of bodies and headers.
func (e *exchange) write(sent *http.Request) {
	m := e.message
	sent.URL, sent.Host, sent.Header = m.URL, m.Host, m.Header
	sent.Body, sent.GetBody, sent.ContentLength = m.Body, m.GetBody, m.ContentLength
}

// originOf returns the scheme, host and port of a URL.
func originOf(u *url.URL) string {
	port := cmp.Or(u.Port(), map[string]string{"http": "80", "https": "443"}[u.Scheme])
	return u.Scheme + "://" + strings.ToLower(strings.TrimSuffix(u.Hostname(), ".")) + ":" + port
}

// follow decides on a redirect before it is sent: what may go along, and whether it is followed at all (spec/call_http.md).
func (e *exchange) follow(next *http.Request, via []*http.Request) error {
	if !e.redirect {
		return http.ErrUseLastResponse
	}
	if len(via) > maxRedirect {
		return errors.Communicationf("there are more than %d redirects", maxRedirect).
			With("limit", "redirects").With("value", len(via)).With("max", maxRedirect)
	}
	to, from := next.URL, via[len(via)-1].URL
	if to.Scheme != "http" && to.Scheme != "https" {
		return errors.Communicationf("the redirect to %s is not followed: it is neither http nor https", withoutQuery(to.String()))
	}
	if from.Scheme == "https" && to.Scheme == "http" {
		return errors.Communicationf("the redirect to %s is not followed: it leads from https to http", withoutQuery(to.String()))
	}
	e.away = e.away || originOf(to) != e.origin
	if !e.away {
		return nil
	}
	if e.private && next.Body != nil && next.Body != http.NoBody {
		return errors.Communicationf("the redirect to %s is not followed: the body of a request with credentials or secrets does not go to another origin", withoutQuery(to.String()))
	}
	e.strip(next)
	return nil
}

// strip leaves in the header of a request to another origin what describes the content. What a service calls its key is
// up to the service, so that all else stays behind.
func (e *exchange) strip(next *http.Request) {
	for name := range next.Header {
		if name != "User-Agent" && (e.private || !describesContent(name)) {
			next.Header.Del(name)
		}
	}
	if e.private { // a secret may be in any header, this one too
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

// maxChallenge is how much of the body of a refusal is read so that its connection can be used again.
const maxChallenge = 64 << 10

// challenged sends requests, and once more with a digest if the origin that the task asks wants one.
type challenged struct{ http.RoundTripper }

func (c challenged) RoundTrip(request *http.Request) (*http.Response, error) {
	e := exchangeOf(request)
	response, err := c.RoundTripper.RoundTrip(request)
	if err != nil || e.credential == nil || e.away || response.StatusCode != http.StatusUnauthorized {
		return response, err
	}
	challenge, err := digest.FindChallenge(response.Header)
	if err != nil {
		return response, nil // the refusal is the answer
	}
	_, _ = io.CopyN(io.Discard, response.Body, maxChallenge) // closing drops what is left, with the connection
	response.Body.Close()
	again, err := e.answer(request, challenge)
	if err != nil {
		return nil, err
	}
	return c.RoundTripper.RoundTrip(again)
}

// answer returns a request once more, with the answer to a challenge.
func (e *exchange) answer(request *http.Request, challenge *digest.Challenge) (*http.Request, error) {
	answer, err := digest.Digest(challenge, digest.Options{
		Method: request.Method, URI: request.URL.RequestURI(), GetBody: request.GetBody, Count: 1,
		Username: e.credential.Username, Password: e.credential.Password,
	})
	if err != nil {
		return nil, errors.Authenticationf("the digest challenge cannot be answered: %s", err)
	}
	again := request.Clone(request.Context())
	if request.GetBody != nil {
		if again.Body, err = request.GetBody(); err != nil {
			return nil, err
		}
	}
	again.Header.Set("Authorization", answer.String())
	return again, nil
}
