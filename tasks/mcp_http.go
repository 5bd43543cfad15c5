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

// ask calls a server in a separate session.
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

// mcpRoundTripper sends the requests of one session, with the headers of the call, during the call.
type mcpRoundTripper struct {
	transport http.RoundTripper
	exchange  *exchange              // contains the header and the credential of the call
	call      func() context.Context // the context of the call
	farewell  func() context.Context // the context of the requests after it
	agreed    func() string          // the version of the session; empty for none

	mu       sync.Mutex
	told     chan struct{} // closed when the server got the cancellation
	answered bool
	refused  int // the last unsuccessful status
	err      error
	ended    []func() // close bodies that are still being read
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

// versionHeader contains the version of the session in each request. The library writes it only for versions without sessions, because it does not
// know exactConnection.
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
		t.refused, t.err = 0, nil // an older server refused the request for its versions, and was asked in another way
	}
	response.Body = &boundedBody{body: response.Body, left: maxResponse(), exceeded: t.exceeded}
	return response, nil
}

// send sends a request. If the server refuses its token, it sends it once more with another one. Several requests may be in flight, so that each uses
// the credential at the time of its sending.
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

// tell notes that the library's message about a cancelled call was sent.
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

// part waits until the server was informed of the end of the call, for a second at most. The library sends that message automatically.
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

// end closes everything.
func (t *mcpRoundTripper) end() {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, end := range t.ended {
		end()
	}
}

// broke reports whether the connection failed. The library makes errors of the protocol from such failures, too, with its own code. Servers of the
// newest version send their errors with an unsuccessful status.
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

// boundedBody is a body that is read up to the maximum size of an answer.
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
