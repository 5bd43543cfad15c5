package tasks

import (
	"net/url"

	"github.com/swrun/swrun/dsl"
	"github.com/swrun/swrun/errors"
	"github.com/swrun/swrun/expr"
	"github.com/swrun/swrun/internal/a2a"
	"github.com/swrun/swrun/interpreter"
)

func callA2A(c Config) interpreter.Kind {
	return interpreter.Kind{Kind: dsl.KindCallA2A, Compile: compileCallA2A, Perform: newA2APerformer(c).perform}
}

func compileCallA2A(b *interpreter.Builder, t dsl.Task) interpreter.Body {
	call := t.(*dsl.CallA2A)
	body := &callA2ABody{method: a2a.MethodOf(call.Method), parameters: b.Value(call.Parameters)}
	body.reportParameters(b, call)
	if call.Server != nil {
		body.server, body.authentication = compileURI(b, call.Server), compileAuthentication(b, call.Server.Authentication)
	}
	switch {
	case call.AgentCard != nil:
		body.compileCard(b, call)
	case call.Server == nil:
		b.Report("SW107", call.Pointer.Key("with"), "an agent is called at its `server`, or where its `agentCard` says")
	}
	return body
}

// compileCard reads the card of an agent now, if it can be, so that a run does not depend on it.
func (c *callA2ABody) compileCard(b *interpreter.Builder, call *dsl.CallA2A) {
	at := call.AgentCard.Endpoint
	c.forCard = compileAuthentication(b, at.Authentication)
	if at.Authentication == nil { // otherwise only who performs the task has what it takes to read it
		if data, ok := b.Load(call.AgentCard); ok {
			c.card = c.known(b, call, data)
			return
		}
	}
	c.source = compileURI(b, at)
}

// known returns a card that is known before a run, and reports what can be said of the call then.
func (c *callA2ABody) known(b *interpreter.Builder, call *dsl.CallA2A, data []byte) *a2a.Card {
	at := call.AgentCard.Endpoint
	card, err := parseCard(data)
	if err != nil {
		b.Report("SW802", at.Pointer, "cannot use "+withoutQuery(b.Located(at.URI.Text()))+": "+err.Error())
		return nil
	}
	scheme := ""
	if c.authentication != nil {
		scheme = c.authentication.scheme
	}
	if err := card.Admits(scheme); err != nil {
		b.Add(dsl.Diagnostic{Code: "SW806", Pointer: call.Pointer.Key("with"), Message: err.Error(), Help: "the credential for the agent stands at `server`, or at `agentCard` if both are at the same place"})
	}
	return card
}

// parseCard reads a card whose agent can be called.
func parseCard(data []byte) (*a2a.Card, error) {
	card, err := a2a.ParseCard(data)
	if err == nil && !isHTTP(card.URL) {
		err = errors.New("the agent is at no URL that could be called")
	}
	return card, err
}

// reportParameters reports the parameters that do not fit the method, as far as they are literal.
func (c *callA2ABody) reportParameters(b *interpreter.Builder, call *dsl.CallA2A) {
	if text, ok := call.Parameters.Data.(string); ok {
		if !expr.Delimited(text) {
			b.Report("SW806", call.Parameters.Pointer, "the parameters of "+call.Method+" are an object, or one expression")
		}
		return
	}
	at := call.Parameters.Pointer
	if c.parameters == nil {
		at = call.Pointer.Key("with")
	}
	given, _ := call.Parameters.Data.(map[string]any) // nil if there are none
	given = c.method.Complete(given, "id")
	wrong := c.method.Check(given)
	for _, one := range wrong {
		here := at
		for _, name := range one.Path {
			here = here.Key(name)
		}
		b.Add(dsl.Diagnostic{Code: "SW806", Pointer: here, Message: one.Error(), Help: listed("its parameters", one.All)})
	}
	if c.parameters == nil || len(wrong) > 0 {
		return
	}
	if _, literal := c.parameters.Literal(); literal {
		if err := c.method.Fits(given); err != nil {
			b.Report("SW806", at, "the parameters do not fit "+call.Method+": "+err.Error())
		}
	}
}

// callA2ABody calls a method of an agent by the A2A protocol (semantics 11.11).
type callA2ABody struct {
	method         a2a.Method
	parameters     *expr.Template
	server         *uri            // nil if the card says where the agent is
	authentication *authentication // for the server
	card           *a2a.Card       // nil if there is none, or only the run knows it
	source         *uri            // of a card that only the run knows
	forCard        *authentication
}

// a2aRequest is the frozen call.
type a2aRequest struct {
	Method         string            `json:"method"`
	Parameters     interpreter.Value `json:"parameters"`
	Server         string            `json:"server,omitempty"` // where the agent is; empty if the card is still to say so
	Authentication *credential       `json:"authentication,omitempty"`
	Discover       bool              `json:"discover,omitempty"` // the server may have a card that says at which path the agent is
	Card           string            `json:"card,omitempty"`     // to be read first
	ForCard        *credential       `json:"forCard,omitempty"`
}

func (c *callA2ABody) Enter(s *interpreter.Scope) interpreter.Next {
	request, err := c.prepare(s)
	if err != nil {
		return interpreter.Fail(err)
	}
	return interpreter.Perform(request)
}

func (c *callA2ABody) prepare(s *interpreter.Scope) (*a2aRequest, *errors.Error) {
	input := s.Input()
	parameters, err := c.prepareParameters(s, input)
	if err != nil {
		return nil, err
	}
	r := &a2aRequest{Method: c.method.Name, Parameters: interpreter.Value{V: parameters}}
	if c.server != nil {
		if r.Server, err = c.server.expand(s, input); err != nil {
			return nil, err
		}
		if r.Authentication, err = c.authentication.prepare(s, input); err != nil {
			return nil, err
		}
	}
	switch {
	case c.card != nil && c.server == nil:
		r.Server = c.card.URL
	case c.source != nil:
		if r.Card, err = c.source.expand(s, input); err != nil {
			return nil, err
		}
		r.ForCard, err = c.forCard.prepare(s, input)
	case c.card == nil:
		r.Discover = isOrigin(r.Server)
	}
	return r, err
}

// isOrigin reports whether a URL names a host, and nothing of it.
func isOrigin(text string) bool {
	u, err := url.Parse(text)
	return err == nil && (u.Path == "" || u.Path == "/") && u.RawQuery == "" && u.User == nil
}

// prepareParameters returns the parameters as the author has them, once it is sure that they fit the method.
func (c *callA2ABody) prepareParameters(s *interpreter.Scope, input any) (map[string]any, *errors.Error) {
	parameters, err := evalObject(s, c.parameters, input, "the parameters")
	if err != nil {
		return nil, err
	}
	complete := c.method.Complete(parameters, "id")
	if wrong := c.method.Check(complete); len(wrong) > 0 {
		return nil, errors.Validationf("%s", wrong[0])
	}
	if wrong := c.method.Fits(complete); wrong != nil {
		return nil, errors.Validationf("the parameters do not fit %s: %s", c.method.Name, wrong)
	}
	return parameters, nil
}

func (c *callA2ABody) Finish(s *interpreter.Scope, result any) interpreter.Next {
	used := c.authentication
	if c.server == nil {
		used = c.forCard
	}
	if authorization := used.descriptor(s); authorization != nil {
		s.BindAfter("authorization", authorization)
	}
	return interpreter.Done(result)
}
