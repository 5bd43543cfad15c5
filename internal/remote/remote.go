// Package remote calls the operations of a deployment over the HTTP API of a server. It has the methods of package control: the verbs of the command
// do not know which of the two they use.
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

// Config specifies a server, and the identity of the caller.
type Config struct {
	URL   string // http:// or https://
	Token string // for a server that requires one
	CA    string // PEM file of the authorities that sign the server's certificate; default: those of the machine
	// Name is the name of the server in messages; default: the server with this URL.
	Name string
	// Dial connects to the server, instead of the URL's address.
	Dial func(context.Context) (net.Conn, error)
	// Handler answers in this process, instead of a server; nil to connect to one.
	Handler http.Handler
	// Actor is the giver of the commands, for a server that trusts the name from this user: a server on a Unix socket.
	Actor string
	// TraceParent names the span of the requests, in the form of the header `traceparent`; empty for none.
	TraceParent string
	// Host reads the external resources of sent documents. Functions that it lacks are read from the server.
	Host swrun.Host
	// Version is the version of this program, for servers that return theirs.
	Version string
	// Within is the time limit of an answer, in addition to requested waits; default 30 s.
	Within time.Duration
}

// Deployment calls the operations of a server. Several goroutines may use it.
type Deployment struct {
	http    *resty.Client
	name    string // the URL
	actor   string // empty if the server identifies its callers
	called  string
	version string
	within  time.Duration
	host    swrun.Host
}

// URLError is a URL that names no server.
type URLError struct{ Detail string }

func (e *URLError) Error() string { return e.Detail }

// New returns the deployment of a server. It connects to nothing yet. A URL that names no server is a *URLError.
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

// maxAnswer is the maximum size of an answer, in bytes: the largest history, and more.
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

// Host returns the host that reads the resources of sent documents.
func (d *Deployment) Host() swrun.Host { return d.host }

// UnreachableError reports that a server did not answer. It is not known whether the request was carried out.
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

// Untrusted reports whether the server was reached, but no authority that this machine trusts has signed its certificate.
func (e *UnreachableError) Untrusted() bool {
	return errors.As(e.cause, new(x509.UnknownAuthorityError))
}

// Cause returns the cause of a failed request, without the request.
func Cause(err error) error {
	if e := new(UnreachableError); errors.As(err, &e) {
		err = e.cause
	}
	if e := new(url.Error); errors.As(err, &e) {
		err = e.Err
	}
	return err
}

// Unwrap returns the cause.
func (e *UnreachableError) Unwrap() error { return e.cause }

// AnswerError is an answer that no swrun server gives.
type AnswerError struct{ Server, Detail string }

func (e *AnswerError) Error() string {
	return fmt.Sprintf("%s does not answer as a swrun server does: %s", e.Server, e.Detail)
}

// VersionError is a refusal that different versions of the caller and the server may have caused.
type VersionError struct {
	Server, Theirs, Ours string
	cause                error
}

func (e *VersionError) Error() string {
	return fmt.Sprintf("%s is swrun %s, and this is swrun %s, which it does not understand: %s", e.Server, shorten.To(e.Theirs, maxVersion), e.Ours, e.cause)
}

// maxVersion is the maximum length of a server's version in a message, in bytes.
const maxVersion = 100

// Unwrap returns the error of the server's answer.
func (e *VersionError) Unwrap() error { return e.cause }

// request is a request to a server.
type request struct {
	method, path string
	query        url.Values
	header       map[string]string
	body         any           // written as JSON; nil for none
	text         []byte        // replaces body, unchanged
	mediaType    string        // of text
	answers      []int         // statuses that are no refusals, besides the statuses of success
	wait         time.Duration // additional time for the server
	accept       string        // the media type of the answer; empty for JSON
}

// ask sends a request to a server, and reads the answer. A refusal is an *api.Problem.
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

// pages requests a list, page by page.
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
	sent, err := d.prepared(asking, r)
	if err != nil {
		return nil, err
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

// prepared returns a request that is ready to be sent.
func (d *Deployment) prepared(ctx context.Context, r request) (*resty.Request, error) {
	if err := api.CheckPath(r.path); err != nil {
		return nil, err
	}
	sent := d.http.R().SetContext(ctx).SetQueryParamsFromValues(r.query).SetHeaders(r.header)
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
	return sent, nil
}

// problem returns the error of an answer that is a refusal.
func (d *Deployment) problem(got *resty.Response) error {
	p := new(api.Problem)
	if strings.HasPrefix(got.Header().Get("Content-Type"), api.ProblemMediaType) && read(got.Body(), p) == nil && p.Type != "" {
		return p
	}
	return &AnswerError{d.called, fmt.Sprintf("status %d, %s", got.StatusCode(), shorten.To(got.Header().Get("Content-Type"), 50))}
}

// versioned returns the error of a refusal, which is a *VersionError if the server has another version and does not know the request.
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

// queryOf returns a query of names and values in turn, without the empty ones.
func queryOf(pairs ...string) url.Values {
	q := url.Values{}
	for n := 0; n < len(pairs); n += 2 {
		if pairs[n+1] != "" {
			q.Set(pairs[n], pairs[n+1])
		}
	}
	return q
}
