package tasks

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/swrun/swrun/errors"
	"github.com/swrun/swrun/interpreter"
	"github.com/swrun/swrun/limits"
)

// askServer calls a server over streamable HTTP.
func (p *mcpPerformer) askServer(ctx context.Context, request *mcpRequest, r interpreter.Request) (any, error) {
	exchange := &httpRequest{Method: http.MethodPost, URI: request.Endpoint, Headers: request.Headers, Authentication: request.Authentication}
	e, err := newExchange(exchange, r)
	if err != nil {
		return nil, err
	}
	if err := e.authenticate(ctx, request.Authentication, p.config); err != nil {
		return nil, err
	}
	transport, err := e.credential.through(p.config.transport())
	if err != nil {
		return nil, err
	}
	result, err := mcpData(ctx, r.Memory, func() (json.RawMessage, error) { return p.ask(ctx, request, newMCPRoundTripper(ctx, transport, e)) })
	return e.credential.hide(result, err)
}

// ask calls a server in a session of its own.
func (p *mcpPerformer) ask(ctx context.Context, request *mcpRequest, asked *mcpRoundTripper) (json.RawMessage, error) {
	defer asked.end()
	exact := &exactTransport{method: request.Method, Transport: &mcp.StreamableClientTransport{
		Endpoint: request.Endpoint, MaxRetries: -1, DisableStandaloneSSE: true, MaxEventSize: maxResponse(),
		HTTPClient: &http.Client{Transport: asked, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }},
	}}
	asked.agreed = exact.agreed
	result, err := request.converse(ctx, exact, asked.part)
	if err == nil || ctx.Err() != nil {
		return result, err
	}
	if failed := mcpFailure(err); failed != nil && !asked.broke(err) {
		return nil, failed
	}
	return nil, asked.failure(request, err)
}

// mcpRoundTripper sends the requests of one session, with the headers of the call, as long as the call lasts.
type mcpRoundTripper struct {
	transport http.RoundTripper
	exchange  *exchange              // has the header and the credential of the call
	call      func() context.Context // that of the call
	farewell  func() context.Context // that of what comes after it
	agreed    func() string          // the version of the session; empty for none

	mu       sync.Mutex
	told     chan struct{} // closed when the server knows that nobody waits any more
	answered bool
	refused  int // the last status that was no success
	err      error
	ended    []func() // let go of what is still being read
}

func newMCPRoundTripper(ctx context.Context, transport http.RoundTripper, e *exchange) *mcpRoundTripper {
	t := &mcpRoundTripper{transport: transport, exchange: e, call: func() context.Context { return ctx }, told: make(chan struct{})}
	t.farewell = sync.OnceValue(func() context.Context {
		farewell, timeUp := context.WithTimeout(context.WithoutCancel(ctx), maxFarewell)
		t.mu.Lock()
		defer t.mu.Unlock()
		t.ended = append(t.ended, timeUp)
		return farewell
	})
	return t
}

// versionHeader says in each request which version the session has. The library writes it for versions without sessions only, since it does not know
// exactConnection.
const versionHeader = "Mcp-Protocol-Version"

// RoundTrip implements http.RoundTripper.
func (t *mcpRoundTripper) RoundTrip(sent *http.Request) (*http.Response, error) {
	ctx, cancel := context.WithCancel(sent.Context())
	ends := t.call()
	if sent.Method == http.MethodDelete || ends.Err() != nil {
		ends = t.farewell()
		defer t.tell(sent)
	}
	stop := context.AfterFunc(ends, cancel)
	cancel = joined(cancel, func() { stop() })
	t.mu.Lock()
	t.ended = append(t.ended, cancel)
	t.mu.Unlock()
	again := sent.Clone(withCall(ctx))
	for name, values := range t.exchange.header {
		again.Header[name] = values
	}
	if version := t.agreed(); version != "" && again.Header.Get(versionHeader) == "" {
		again.Header.Set(versionHeader, version)
	}
	response, err := t.send(again)
	t.mu.Lock()
	defer t.mu.Unlock()
	if err != nil {
		t.err = err
		return nil, err
	}
	switch t.answered = true; {
	case response.StatusCode/100 != 2:
		t.refused = response.StatusCode
	case sent.Method == http.MethodPost:
		t.refused, t.err = 0, nil // an older server has refused to say which versions it speaks, and was asked in another way
	}
	response.Body = &boundedBody{body: response.Body, left: maxResponse(), exceeded: t.exceeded}
	return response, nil
}

// send sends a request, once more with another token if the server refuses the one that it has. Several may be on their way, so that each has the
// credential as it was when it was sent.
func (t *mcpRoundTripper) send(sent *http.Request) (*http.Response, error) {
	if t.exchange.credential == nil {
		return sendOnce(t.transport, sent)
	}
	t.mu.Lock()
	c := *t.exchange.credential
	t.mu.Unlock()
	c.apply(sent.Header)
	response, err := sendOnce(t.transport, sent)
	if err != nil {
		return nil, err
	}
	response, err = c.again(t.transport, sent, response)
	t.mu.Lock()
	defer t.mu.Unlock()
	*t.exchange.credential = c
	return response, err
}

// tell notes that what the library sends when a call is cancelled has been sent.
func (t *mcpRoundTripper) tell(sent *http.Request) {
	t.mu.Lock()
	defer t.mu.Unlock()
	select {
	case <-t.told:
	default:
		if sent.Method == http.MethodPost {
			close(t.told)
		}
	}
}

// part waits until the server was told that the call is over, for a second at most. The library tells it on its own.
func (t *mcpRoundTripper) part() {
	select {
	case <-t.told:
	case <-t.farewell().Done():
	}
}

func joined(all ...func()) func() {
	return func() {
		for _, one := range all {
			one()
		}
	}
}

// exceeded notes that an answer is too large.
func (t *mcpRoundTripper) exceeded() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.err = limits.Exceeded(limits.Response)
}

// end lets go of everything.
func (t *mcpRoundTripper) end() {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, end := range t.ended {
		end()
	}
}

// broke reports whether the connection is what has failed. The library makes errors of the protocol of that, too, with a code of its own; servers of
// the newest version send theirs with a status that is no success.
func (t *mcpRoundTripper) broke(err error) bool {
	var answered *jsonrpc.Error
	byLibrary := !errors.As(err, &answered) || answered.Code == rejectedByTransport
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.err != nil || t.refused != 0 && byLibrary
}

// rejectedByTransport is the code of the library for a message that did not arrive.
const rejectedByTransport = -32005

// failure returns the error of a call whose session broke.
func (t *mcpRoundTripper) failure(request *mcpRequest, err error) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	what := request.Method + " of " + withoutQuery(request.Endpoint)
	if workflow := errors.AsError(t.err); workflow != nil {
		return workflow
	}
	if t.refused != 0 {
		failed := errors.Communicationf("%s: the server answers %d", what, t.refused)
		failed.Status, failed.Title = t.refused, http.StatusText(t.refused)
		return failed
	}
	if t.err != nil {
		err = t.err
	}
	fault, need := unreached(what, err)
	if need == "" || t.answered {
		return fault
	}
	return &interpreter.NeedError{Need: need, Err: fault}
}

// boundedBody is a body of which no more is read than an answer may have.
type boundedBody struct {
	body     io.ReadCloser
	left     int
	exceeded func()
}

func (b *boundedBody) Read(p []byte) (int, error) {
	if b.left <= 0 {
		b.exceeded()
		return 0, limits.Exceeded(limits.Response)
	}
	n, err := b.body.Read(p[:min(len(p), b.left)])
	b.left -= n
	return n, err
}

func (b *boundedBody) Close() error { return b.body.Close() }
