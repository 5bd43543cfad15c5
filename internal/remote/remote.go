// Package remote asks a deployment over the HTTP API of a server, by the methods that package control has for one of this process: verbs of
// the command do not know which of them they speak to.
package remote

import (
	"bytes"
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"maps"
	"net"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/go-resty/resty/v2"

	"github.com/swrun/swrun"
	"github.com/swrun/swrun/errors"
	"github.com/swrun/swrun/internal/api"
	"github.com/swrun/swrun/internal/shorten"
	"github.com/swrun/swrun/runtime/client"
)

// Config says which server is asked, and as whom.
type Config struct {
	URL   string // http:// or https://
	Token string // for a server that asks for one
	CA    string // PEM file of the authorities that sign the server's certificate; default those of the machine
	// Name is what the server is called in messages; default that it is the one with this URL.
	Name string
	// Dial connects to the server, in place of the URL's address.
	Dial func(context.Context) (net.Conn, error)
	// Handler answers in this process, in place of a server; nil to connect to one.
	Handler http.Handler
	// Actor is who gives the commands, for a server that takes this user's word for it: one on a Unix socket.
	Actor string
	// TraceParent names the span that requests belong to, as the header `traceparent` does; empty for none.
	TraceParent string
	// Host reads the external resources of documents that are sent. Functions that it does not have are those of the server.
	Host swrun.Host
	// Version is that of this program, for servers that say theirs.
	Version string
	// Within is how long an answer may take, besides what is waited for; default 30 s.
	Within time.Duration
}

// Deployment asks a server. Several goroutines may use it.
type Deployment struct {
	http    *resty.Client
	name    string // the URL
	actor   string // empty if the server knows its callers by themselves
	called  string
	version string
	within  time.Duration
	host    swrun.Host
}

// URLError is a URL that names no server.
type URLError struct{ Detail string }

func (e *URLError) Error() string { return e.Detail }

// New returns what asks a server. It connects to nothing yet. A URL that names no server is a *URLError.
func New(c Config) (*Deployment, error) {
	u, err := url.Parse(c.URL)
	switch {
	case err != nil || u.Host == "":
		return nil, &URLError{fmt.Sprintf("%q is not the URL of a server", errors.MaskURL(c.URL))}
	case u.Scheme != "http" && u.Scheme != "https":
		return nil, &URLError{fmt.Sprintf("%q is not the URL of a server: it must begin with http:// or https://", errors.MaskURL(c.URL))}
	case u.User != nil || u.RawQuery != "" || u.Fragment != "":
		return nil, &URLError{fmt.Sprintf("%q must have neither a user, nor a query, nor a fragment", errors.MaskURL(c.URL))}
	}
	transport, err := c.roundTripper()
	if err != nil {
		return nil, err
	}
	name := strings.TrimSuffix(c.URL, "/")
	d := &Deployment{actor: c.Actor, name: name, called: cmp.Or(c.Name, "the server "+name), within: c.Within, host: c.Host, version: c.Version}
	if d.host.Functions == nil {
		d.host.Functions = d.functionFiles
	}
	if d.within == 0 {
		d.within = 30 * time.Second
	}
	d.http = resty.NewWithClient(&http.Client{Transport: transport}).SetBaseURL(d.name).SetDisableWarn(true).
		SetRedirectPolicy(resty.NoRedirectPolicy()).SetResponseBodyLimit(maxAnswer).SetHeader("Accept", "application/json, application/yaml;q=0.9, */*;q=0.1")
	if c.Token != "" {
		d.http.SetAuthToken(c.Token)
	}
	if c.TraceParent != "" {
		d.http.SetHeader("Traceparent", c.TraceParent)
	}
	return d, nil
}

// maxAnswer is how large an answer may be, in bytes: the largest history, and more.
const maxAnswer = 512 << 20

func (c *Config) roundTripper() (http.RoundTripper, error) {
	if c.Handler != nil {
		return here{c.Handler}, nil
	}
	return c.transport()
}

func (c *Config) transport() (*http.Transport, error) {
	t := http.DefaultTransport.(*http.Transport).Clone()
	if c.Dial != nil {
		t.Proxy = nil
		t.DialContext = func(ctx context.Context, _, _ string) (net.Conn, error) { return c.Dial(ctx) }
	}
	if c.CA == "" {
		return t, nil
	}
	text, err := os.ReadFile(c.CA)
	if err != nil {
		return nil, err
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(text) {
		return nil, fmt.Errorf("%s has no certificate in PEM form", c.CA)
	}
	t.TLSClientConfig = &tls.Config{RootCAs: pool}
	return t, nil
}

// String returns the URL of the server.
func (d *Deployment) String() string { return d.name }

// Host returns what documents that are sent are read with.
func (d *Deployment) Host() swrun.Host { return d.host }

// UnreachableError says that a server has not answered. Whether what was asked for is done is not known.
type UnreachableError struct {
	Server string
	cause  error
}

func (e *UnreachableError) Error() string {
	cause := Cause(e.cause)
	if errors.Is(cause, context.DeadlineExceeded) {
		return e.Server + " does not answer"
	}
	return fmt.Sprintf("%s cannot be reached: %s", e.Server, cause)
}

// Untrusted reports whether the server was reached, and its certificate is not signed by anybody who is trusted here.
func (e *UnreachableError) Untrusted() bool {
	return errors.As(e.cause, new(x509.UnknownAuthorityError))
}

// Cause returns why a request has failed, without what it was.
func Cause(err error) error {
	if e := new(UnreachableError); errors.As(err, &e) {
		err = e.cause
	}
	if e := new(url.Error); errors.As(err, &e) {
		err = e.Err
	}
	return err
}

// Unwrap returns why.
func (e *UnreachableError) Unwrap() error { return e.cause }

// AnswerError is an answer that no swrun server gives.
type AnswerError struct{ Server, Detail string }

func (e *AnswerError) Error() string {
	return fmt.Sprintf("%s does not answer as a swrun server does: %s", e.Server, e.Detail)
}

// VersionError is an answer that may be due to what asks and what answers being of different versions.
type VersionError struct {
	Server, Theirs, Ours string
	cause                error
}

func (e *VersionError) Error() string {
	return fmt.Sprintf("%s is swrun %s, and this is swrun %s, which it does not understand: %s", e.Server, shorten.To(e.Theirs, maxVersion), e.Ours, e.cause)
}

// maxVersion is how many bytes of a server's version are shown.
const maxVersion = 100

// Unwrap returns what the server has answered.
func (e *VersionError) Unwrap() error { return e.cause }

// request is what a server is asked.
type request struct {
	method, path string
	query        url.Values
	header       map[string]string
	body         any           // written as JSON; nil for none
	text         []byte        // in place of body: as it is
	mediaType    string        // of text
	answers      []int         // statuses that are no refusals, besides those of success
	wait         time.Duration // that the server may take besides
	accept       string        // the media type of the answer; empty for JSON
}

// ask asks a server, and reads the answer. A request that the server refuses is an *api.Problem.
func ask[T any](ctx context.Context, d *Deployment, r request) (answer T, err error) {
	got, err := d.send(ctx, r)
	if err != nil || len(got.Body()) == 0 {
		return answer, err
	}
	if err := read(got.Body(), &answer); err != nil {
		return answer, &AnswerError{d.called, err.Error()}
	}
	return answer, nil
}

// pages asks for a list, page by page.
func pages[T any](ctx context.Context, d *Deployment, r request) ([]T, error) {
	all := []T{}
	for {
		page, next, err := askPage[[]T](ctx, d, r)
		if all = append(all, page...); err != nil || next == "" {
			return all, err
		}
		query := maps.Clone(r.query)
		if query == nil {
			query = url.Values{}
		}
		query.Set("cursor", next)
		r.query = query
	}
}

// read reads JSON. Numbers keep their digits.
func read(data []byte, v any) error {
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.UseNumber()
	return decoder.Decode(v)
}

// send sends a request, and returns an answer that is no refusal.
func (d *Deployment) send(ctx context.Context, r request) (*resty.Response, error) {
	asking, cancel := context.WithTimeout(ctx, d.within+r.wait)
	defer cancel()
	sent := d.http.R().SetContext(asking).SetQueryParamsFromValues(r.query).SetHeaders(r.header)
	if d.actor != "" {
		sent.SetHeader(api.ActorHeader, cmp.Or(client.Actor(ctx), d.actor))
	}
	if r.accept != "" {
		sent.SetHeader("Accept", r.accept)
	}
	switch {
	case r.text != nil:
		sent.SetHeader("Content-Type", r.mediaType).SetBody(r.text)
	case r.body != nil:
		data, err := json.Marshal(r.body)
		if err != nil {
			return nil, err
		}
		sent.SetHeader("Content-Type", "application/json").SetBody(data)
	}
	got, err := sent.Execute(r.method, r.path)
	var own ownError
	switch {
	case errors.As(err, &own):
		return nil, own.error
	case err != nil && ctx.Err() != nil:
		return nil, context.Cause(ctx)
	case err != nil && got.StatusCode() >= 300 && got.StatusCode() < 400:
		return nil, &AnswerError{d.called, "it redirects to " + shorten.To(got.Header().Get("Location"), 100) + ": name that server"}
	case err != nil:
		return nil, &UnreachableError{d.called, err}
	case got.StatusCode() >= 400 && ctx.Err() != nil:
		return nil, context.Cause(ctx)
	case got.StatusCode() >= 400 && !slices.Contains(r.answers, got.StatusCode()):
		return nil, d.versioned(got, d.problem(got))
	}
	return got, nil
}

// problem returns the error of an answer that is a refusal.
func (d *Deployment) problem(got *resty.Response) error {
	p := new(api.Problem)
	if strings.HasPrefix(got.Header().Get("Content-Type"), api.ProblemMediaType) && read(got.Body(), p) == nil && p.Type != "" {
		return p
	}
	return &AnswerError{d.called, fmt.Sprintf("status %d, %s", got.StatusCode(), shorten.To(got.Header().Get("Content-Type"), 50))}
}

// versioned returns the error of a refusal, which is a *VersionError if the server is of another version and does not know what it was asked.
func (d *Deployment) versioned(got *resty.Response, err error) error {
	theirs := got.Header().Get(api.VersionHeader)
	if theirs == "" || theirs == d.version {
		return err
	}
	var p *api.Problem
	if errors.As(err, &p) && p.Status != http.StatusMethodNotAllowed && p.Name() != "invalid-request" && !strings.HasPrefix(p.Detail, "there is no path ") {
		return err
	}
	return &VersionError{d.called, theirs, d.version, err}
}

// path returns a path of names.
func path(first string, names ...string) string {
	for _, name := range names {
		first += "/" + url.PathEscape(name)
	}
	return first
}

// queryOf returns a query of names and values in turn, without those that are empty.
func queryOf(pairs ...string) url.Values {
	q := url.Values{}
	for n := 0; n < len(pairs); n += 2 {
		if pairs[n+1] != "" {
			q.Set(pairs[n], pairs[n+1])
		}
	}
	return q
}
