package tasks

import (
	"context"
	"fmt"
	"net/http"
	"strings"

	"github.com/swrun/swrun/errors"
	"github.com/swrun/swrun/interpreter"
)

// resources reads the external resources whose place only a run knows.
type resources struct {
	load    interpreter.Loader // nil reads none
	secrets interpreter.Secrets
}

// read returns a resource, with a credential if its policy is not nil. Its errors are those of the task that needs it: a server that does not
// answer with it is a communication error, everything else a configuration error (semantics 1.9).
func (r resources) read(ctx context.Context, uri string, policy *credential) ([]byte, error) {
	if r.load == nil {
		return nil, interpreter.FailLoad(uri, errors.New("external resources are not available here"))
	}
	loading, err := r.authorized(ctx, policy)
	if err != nil {
		return nil, err
	}
	data, failed := r.load(loading, uri)
	if failed == nil {
		return data, nil
	}
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	what := "cannot read " + withoutQuery(uri)
	var answered *answerError
	var notAllowed *NotAllowedError
	switch {
	case errors.As(failed, &notAllowed):
		fault, need := unreached(what, failed)
		return nil, &interpreter.NeedError{Need: need, Err: fault}
	case errors.Is(failed, errNoFiles):
		return nil, &interpreter.NeedError{Need: interpreter.NeedFiles, Err: errors.Configurationf("%s: %s; a worker allows it with --allow-files, a Go program with Host.Files", what, failed)}
	case errors.As(failed, &answered):
		fault := errors.Communicationf("%s: %s", what, answered)
		fault.Status = answered.status
		return nil, fault
	case errors.As(failed, new(*unansweredError)):
		return nil, errors.Communicationf("%s: %s", what, cut(cause(failed)))
	}
	return nil, interpreter.FailLoad(withoutQuery(uri), failed)
}

// maxDescribing is about how many bytes of memory a document takes at most until a request is made of it.
const maxDescribing = 64 << 20

// withinMemory makes a request of a document, within the memory that all effects share. Nothing of the document is held afterwards.
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

// authorized returns a context in which a Loader sends a credential.
func (r resources) authorized(ctx context.Context, policy *credential) (context.Context, error) {
	if policy == nil {
		return ctx, nil
	}
	c := *policy
	if c.Scheme == "digest" {
		return nil, errors.Configurationf("a document cannot be read with digest authentication: use basic or bearer")
	}
	if err := c.resolve(r.secrets); err != nil {
		return nil, err
	}
	return context.WithValue(ctx, resourceKey{}, c.header()), nil
}

// withPolicy returns a context in which a Loader sends the credential of the policy that the document names for the resource, if it names one.
func withPolicy(ctx context.Context) (context.Context, error) {
	p := interpreter.PolicyOf(ctx)
	if p == nil {
		return ctx, nil
	}
	c := &credential{Scheme: p.Scheme, Secret: p.Secret}
	switch c.Scheme {
	case "basic", "bearer", "digest":
	default:
		return nil, fmt.Errorf("authentication by `%s` is not supported yet", c.Scheme)
	}
	if properties, _ := p.Properties.(map[string]any); p.Secret == "" {
		if err := c.fill(properties); err != nil {
			return nil, err
		}
	}
	return resources{secrets: p.Secrets}.authorized(ctx, c)
}

// resourceKey is the key under which the context of a Loader knows the credential to read with.
type resourceKey struct{}

// authorize adds the credential of the context to a request.
func authorize(request *http.Request) {
	if header, ok := request.Context().Value(resourceKey{}).(string); ok {
		request.Header.Set("Authorization", header)
	}
}

// maxResourceRedirects is how often a server may send a reader on.
const maxResourceRedirects = 3

// followResource decides on a redirect as a call does: never from https to http, and without the credential to another origin.
func followResource(next *http.Request, via []*http.Request) error {
	from := via[len(via)-1].URL
	switch {
	case len(via) > maxResourceRedirects:
		return fmt.Errorf("it redirects more than %d times", maxResourceRedirects)
	case next.URL.Scheme != "http" && next.URL.Scheme != "https":
		return fmt.Errorf("it redirects to %s, which is neither http nor https", withoutQuery(next.URL.String()))
	case from.Scheme == "https" && next.URL.Scheme == "http":
		return fmt.Errorf("it redirects from https to http")
	case originOf(next.URL) != originOf(via[0].URL):
		next.Header.Del("Authorization")
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

func (e *unansweredError) Error() string { return e.err.Error() }

func (e *unansweredError) Unwrap() error { return e.err }
