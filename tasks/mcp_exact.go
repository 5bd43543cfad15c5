package tasks

import (
	"bytes"
	"context"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/swrun/swrun/errors"
	"github.com/swrun/swrun/internal/shorten"
)

// exactTransport keeps the result of one method exactly as the server sent it. The library decodes results into its own types, which drop unknown
// members and digits of large numbers, and which fail at content of an unknown type.
type exactTransport struct {
	mcp.Transport
	method   string
	patience time.Duration // maximum silence of a server after the request for its versions; zero for no limit within the call

	mu      sync.Mutex
	asked   jsonrpc.ID // the request for the method
	probe   jsonrpc.ID // the request for the versions, until it is answered
	opening jsonrpc.ID // the request that begins a session
	version string     // the version that the server accepted there
	result  json.RawMessage
}

// discover is the method by which a server of 2026-07-28 and later lists its versions of the protocol. Older servers do not know it.
const discover = "server/discover"

// Connect implements mcp.Transport.
func (t *exactTransport) Connect(ctx context.Context) (mcp.Connection, error) {
	connection, err := t.Transport.Connect(ctx)
	if err != nil {
		return nil, err
	}
	silence := time.NewTimer(t.patience)
	silence.Stop()
	c := &exactConnection{Connection: connection, exact: t, silence: silence, read: make(chan arrival), closed: make(chan struct{}), ended: make(chan struct{})}
	go c.readAll(context.WithoutCancel(ctx)) // until it is closed
	return c, nil
}

// probing returns the request for the versions that the server has not answered; an invalid id if there is no such request.
func (t *exactTransport) probing() jsonrpc.ID {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.probe
}

// agreed returns the version of a session with an older server; empty without a session.
func (t *exactTransport) agreed() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.version
}

// answer returns the result that the server sent.
func (t *exactTransport) answer() (json.RawMessage, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if result := bytes.TrimSpace(t.result); len(result) == 0 || result[0] != '{' {
		return nil, errors.Communicationf("the result of the server is not an object")
	}
	if t.version != "" { // results of older versions have no type
		return t.result, nil
	}
	return t.result, checkComplete(t.result)
}

// checkComplete returns an error if the type of a result is not "complete". A call of a workflow cannot give the input that some servers request, and
// the specification requires clients to refuse unknown types.
func checkComplete(result json.RawMessage) error {
	var r struct {
		Type     *string `json:"resultType"`
		Requests map[string]struct {
			Method string `json:"method"`
		} `json:"inputRequests"`
	}
	if json.Unmarshal(result, &r) != nil || r.Type == nil || *r.Type == "complete" { // the author reads a result of another form
		return nil
	}
	if *r.Type != "input_required" {
		return errors.Communicationf("the result of the server has the type %s, which is not known: it is neither complete nor input_required", shorten.Quoted(*r.Type))
	}
	asked := "another request"
	if len(r.Requests) > 0 {
		var named []string
		for _, name := range slices.Sorted(maps.Keys(r.Requests)) {
			named = append(named, shorten.To(name, maxNamed)+" ("+shorten.To(r.Requests[name].Method, maxNamed)+")")
		}
		asked = shorten.To(strings.Join(named, ", "), 10*maxNamed)
	}
	return errors.Communicationf("the server asks for input before it answers: %s; a workflow cannot give it: pass all that the server needs in the parameters", asked)
}

// maxNamed is the maximum length in bytes of a name that a server gives.
const maxNamed = 64

// sends notes the requests that the library sends.
func (t *exactTransport) sends(request *jsonrpc.Request) {
	t.mu.Lock()
	defer t.mu.Unlock()
	switch request.Method {
	case t.method:
		t.asked = request.ID
	case discover:
		t.probe = request.ID
	case "initialize":
		t.opening = request.ID
	}
}

// gets returns the form of a response for the library, with an empty object in place of the kept result. A result that is no object is an error for
// the library too.
func (t *exactTransport) gets(response *jsonrpc.Response) *jsonrpc.Response {
	t.mu.Lock()
	defer t.mu.Unlock()
	switch {
	case response.ID == t.probe:
		t.probe = jsonrpc.ID{}
	case response.ID == t.opening:
		var began struct {
			Version string `json:"protocolVersion"`
		}
		if json.Unmarshal(response.Result, &began) == nil { // otherwise the library reports the mistake
			t.version = began.Version
		}
	case response.ID == t.asked && response.Error == nil:
		t.result = response.Result
		seen := *response
		seen.Result = json.RawMessage("{}")
		return &seen
	}
	return response
}

// exactConnection reads ahead, so that silence can be noticed.
type exactConnection struct {
	mcp.Connection
	exact   *exactTransport
	silence *time.Timer

	read          chan arrival
	closed, ended chan struct{}
	closing       sync.Once
}

type arrival struct {
	message jsonrpc.Message
	err     error
}

func (c *exactConnection) readAll(ctx context.Context) {
	defer close(c.ended)
	for {
		message, err := c.Connection.Read(ctx)
		select {
		case c.read <- arrival{message, err}:
		case <-c.closed:
			return
		}
		if err != nil {
			return
		}
	}
}

// Read implements mcp.Connection.
func (c *exactConnection) Read(ctx context.Context) (jsonrpc.Message, error) {
	for {
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-c.ended:
			return nil, mcp.ErrConnectionClosed
		case <-c.silence.C:
			if probe := c.exact.probing(); probe.IsValid() {
				return c.exact.gets(&jsonrpc.Response{ID: probe, Error: &jsonrpc.Error{Code: jsonrpc.CodeMethodNotFound, Message: "no answer"}}), nil
			}
		case got := <-c.read:
			if response, ok := got.message.(*jsonrpc.Response); ok {
				return c.exact.gets(response), got.err
			}
			return got.message, got.err
		}
	}
}

// Write implements mcp.Connection.
func (c *exactConnection) Write(ctx context.Context, message jsonrpc.Message) error {
	if request, ok := message.(*jsonrpc.Request); ok && request.IsCall() {
		c.exact.sends(request)
		if request.Method == discover && c.exact.patience > 0 {
			c.silence.Reset(c.exact.patience)
		}
	}
	return c.Connection.Write(ctx, message)
}

// Close implements mcp.Connection.
func (c *exactConnection) Close() error {
	err := c.Connection.Close()
	c.closing.Do(func() {
		c.silence.Stop()
		close(c.closed)
	})
	<-c.ended
	return err
}
