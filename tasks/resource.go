package tasks

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"strings"

	"github.com/swrun/swrun/errors"
	"github.com/swrun/swrun/interpreter"
)

// resources reads the external resources whose place only a run knows.
type resources struct {
	load   interpreter.Loader // nil reads none
	config Config
}

// read returns a resource, with a credential if its policy is not nil. Its Place is never empty. Its errors are errors of the task that needs the
// resource: a server that does not answer with the resource is a communication error, and everything else is a configuration error (semantics 1.9).
func (r resources) read(ctx context.Context, uri string, policy *credential) (found interpreter.Resource, err error) {
	if r.load == nil {
		return found, interpreter.FailLoad(uri, errors.New("external resources are not available here"))
	}
	c, err := r.credential(ctx, policy)
	if err != nil {
		return found, err
	}
	found, failed := r.load(context.WithValue(ctx, resourceKey{}, c), uri)
	if failed != nil {
		return found, unread(ctx, uri, failed)
	}
	found.Place = cmp.Or(found.Place, uri)
	return found, nil
}

// unread returns the error of a task whose resource could not be read.
func unread(ctx context.Context, uri string, failed error) error {
	var need *interpreter.NeedError
	fault := errors.AsError(failed)
	if errors.As(failed, &need) {
		return need
	} else if fault != nil { // of the authority for the reader's token
		return fault
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	what := "cannot read " + withoutQuery(uri)
	var answered *answerError
	var notAllowed *NotAllowedError
	switch {
	case errors.As(failed, &notAllowed), errors.As(failed, new(*unansweredError)):
		fault, need := unreached(what, failed)
		return leftTo(need, fault)
	case errors.Is(failed, errNoFiles):
		return &interpreter.NeedError{Need: interpreter.NeedFiles, Err: errors.Configurationf("%s: %s; a worker allows it with --allow-files, a Go program with Host.Files", what, failed)}
	case errors.As(failed, &answered):
		fault := errors.Communicationf("%s: %s", what, answered)
		fault.Status = answered.status
		return fault
	}
	return interpreter.FailLoad(withoutQuery(uri), failed)
}

// maxDescribing is the approximate maximum number of bytes of memory for a document until a request is made of it.
const maxDescribing = 64 << 20

// withinMemory makes a request of a document, within the memory that all effects share. No part of the document stays in memory afterwards.
func withinMemory(ctx context.Context, memory interpreter.Memory, describe func() error) error {
	if memory == nil {
		return describe()
	}
	if err := memory.Reserve(ctx, maxDescribing); err != nil {
		return err
	}
	defer memory.Keep(0)
	return describe()
}

// credential returns the credential that a Loader sends; nil for none.
func (r resources) credential(ctx context.Context, policy *credential) (*credential, error) {
	if policy != nil && policy.Scheme == "digest" {
		return nil, errors.Configurationf("a document cannot be read with digest authentication: use another scheme")
	}
	return policy.resolve(ctx, r.config)
}

// withPolicy returns a context in which a Loader sends the credential of the policy that the document names for the resource, if it names one. config
// is the configuration for getting a token, if one is needed.
func withPolicy(ctx context.Context, config Config) (context.Context, error) {
	p := interpreter.PolicyOf(ctx)
	if p == nil {
		return ctx, nil
	}
	config.Secrets = p.Secrets
	policy := &credential{Scheme: p.Scheme, Secret: p.Secret}
	if properties, _ := p.Properties.(map[string]any); p.Secret == "" {
		if err := policy.fill(properties); err != nil {
			return nil, err
		}
	}
	c, err := resources{config: config}.credential(ctx, policy)
	if err != nil {
		return nil, err
	}
	return context.WithValue(ctx, resourceKey{}, c), nil
}

// resourceKey is the key under which the context of a Loader knows the credential to read with.
type resourceKey struct{}

// authorizing sends requests with the credential of their context, and once more with another token if the first one is refused. A request that is
// redirected to another origin goes without the credential.
type authorizing struct{ http.RoundTripper }

// RoundTrip implements http.RoundTripper.
func (a authorizing) RoundTrip(sent *http.Request) (*http.Response, error) {
	c, _ := sent.Context().Value(resourceKey{}).(*credential) // nil for documents that are read without a credential
	if c == nil || wasSentAway(sent) {
		return a.RoundTripper.RoundTrip(sent)
	}
	if err := c.needsTLS(withoutQuery(sent.URL.String()), sent.URL.Scheme == "https"); err != nil {
		return nil, err
	}
	transport, err := c.through(a.RoundTripper)
	if err != nil {
		return nil, err
	}
	request := sent.Clone(sent.Context())
	c.apply(request.Header)
	response, err := transport.RoundTrip(request)
	if err != nil {
		return nil, err
	}
	return c.again(transport, request, response)
}

// wasSentAway reports whether redirects led a request to another origin, even if they led it back.
func wasSentAway(request *http.Request) bool {
	for r := request; r.Response != nil; r = r.Response.Request {
		if originOf(r.URL) != originOf(r.Response.Request.URL) {
			return true
		}
	}
	return false
}

// maxResourceRedirects is the maximum number of redirects of a reader.
const maxResourceRedirects = 3

// followResource decides on a redirect in the same way as a call: never from https to http, and without the credential to another origin.
func followResource(next *http.Request, via []*http.Request) error {
	from := via[len(via)-1].URL
	switch {
	case len(via) > maxResourceRedirects:
		return fmt.Errorf("it redirects more than %d times", maxResourceRedirects)
	case next.URL.Scheme != "http" && next.URL.Scheme != "https":
		return fmt.Errorf("it redirects to %s, which is neither http nor https", withoutQuery(next.URL.String()))
	case from.Scheme == "https" && next.URL.Scheme == "http":
		return fmt.Errorf("it redirects from https to http")
	}
	return nil
}

// answerError is an answer that is not the resource.
type answerError struct {
	status int
	text   string
}

func (e *answerError) Error() string { return "the server answers " + strings.TrimSpace(e.text) }

// unansweredError is a server that does not answer, or not to the end.
type unansweredError struct{ err error }

func (e *unansweredError) Error() string { return connectionFailure(e.err) }

func (e *unansweredError) Unwrap() error { return e.err }
