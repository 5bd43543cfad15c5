package tasks

import (
	"cmp"
	"fmt"
	"net/url"

	"github.com/swrun/swrun/dsl"
	"github.com/swrun/swrun/errors"
	"github.com/swrun/swrun/expr"
	"github.com/swrun/swrun/internal/a2a"
	"github.com/swrun/swrun/internal/content"
	"github.com/swrun/swrun/interpreter"
)

func callA2A(c Config) interpreter.Kind {
	return told(interpreter.Kind{Kind: dsl.KindCallA2A, Compile: compileCallA2A, Perform: newA2APerformer(c).perform})
}

func compileCallA2A(b *interpreter.Builder, t dsl.Task) interpreter.Body {
	call := t.(*dsl.CallA2A)
	body := &callA2ABody{name: call.Method, parameters: b.Value(call.Parameters)}
	if call.Server != nil {
		body.server, body.authentication = compileURI(b, call.Server), compileAuthentication(b, call.Server.Authentication)
	}
	switch {
	case call.AgentCard != nil:
		body.compileCard(b, call)
	case call.Server == nil:
		b.Report("SW107", call.Pointer.Key("with"), "a call of an agent needs its `server` or its `agentCard`")
	}
	body.reportParameters(b, call)
	return body
}

// compileCard reads the card of an agent at compile time, if possible, so that a run does not depend on the card.
func (c *callA2ABody) compileCard(b *interpreter.Builder, call *dsl.CallA2A) {
	at := call.AgentCard.Endpoint
	c.source, c.forCard = compilePlace(b, at), compileAuthentication(b, at.Authentication)
	if at.Authentication != nil || isOrigin(at.URI.Text()) { // only its performer holds the credential for the card, or looks for the card on the host
		return
	}
	found, ok := b.Load(call.AgentCard)
	if !ok {
		return
	}
	card, err := parseCard(found.Data)
	if err != nil {
		b.Report("SW802", at.Pointer, "cannot use "+withoutQuery(found.Place)+": "+err.Error())
		return
	}
	if c.card = card; c.server == nil || c.server.fixed {
		c.reportSecurity(b, call)
	}
}

// reportSecurity reports a credential that a card does not request.
func (c *callA2ABody) reportSecurity(b *interpreter.Builder, call *dsl.CallA2A) {
	scheme := ""
	if c.server != nil && c.authentication != nil && sameOrigin(c.server.template, c.card.URL) {
		scheme = c.authentication.scheme
	}
	if err := c.card.Admits(scheme); err != nil {
		b.Add(dsl.Diagnostic{
			Code: "SW806", Pointer: call.Pointer.Key("with"), Message: err.Error(),
			Help: "write the credential at `server`, which names the host of the agent, or at `agentCard` if the agent is at the same host",
		})
	}
}

// parseCard reads a card whose agent can be called.
func parseCard(data []byte) (*a2a.Card, error) {
	text, err := content.Text("", data)
	if err != nil {
		return nil, fmt.Errorf("it %w", err)
	}
	card, err := a2a.ParseCard(text)
	if err == nil && !isHTTP(card.URL) {
		err = errors.New("the agent is at no URL that could be called")
	}
	return card, err
}

// reportParameters reports literal parameters that do not fit the method.
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
	given, _ := call.Parameters.Data.(map[string]any) // nil without parameters
	fits := func(a2a.Method, map[string]any) error { return nil }
	if c.parameters != nil {
		if _, literal := c.parameters.Literal(); literal {
			fits = a2a.Method.Fits
		}
	}
	wrong, err := c.check(given, fits)
	for _, one := range wrong {
		here := at
		for _, name := range one.Path {
			here = here.Key(name)
		}
		b.Add(dsl.Diagnostic{Code: "SW806", Pointer: here, Message: one.Error(), Help: listed("its parameters", one.All)})
	}
	if err != nil {
		b.Report("SW806", at, "the parameters do not fit "+call.Method+": "+err.Error())
	}
}

// check returns the mistakes in parameters, by name and by type. As long as the version of the agent is not known, the parameters have to fit one of
// the two versions.
func (c *callA2ABody) check(given map[string]any, fits func(a2a.Method, map[string]any) error) (wrong []*a2a.ParameterError, unfit error) {
	versions := []a2a.Version{a2a.V03, a2a.V1}
	if c.card != nil {
		versions = []a2a.Version{c.card.Version}
	}
	for i, version := range versions {
		method := a2a.MethodOf(c.name, version)
		complete := method.Complete(given, "id")
		names := method.Check(complete)
		err := fits(method, complete)
		if len(names) == 0 && err == nil {
			return nil, nil
		}
		if i == 0 {
			wrong, unfit = names, err
		}
	}
	if len(wrong) > 0 {
		unfit = nil // a consequence of the names
	}
	return wrong, unfit
}

// callA2ABody calls a method of an agent by the A2A protocol (semantics 11.11).
type callA2ABody struct {
	name           string // of the method
	parameters     *expr.Template
	server         *uri // nil without a server
	authentication *authentication
	source         *uri // of the card; nil without a card
	forCard        *authentication
	card           *a2a.Card // nil if only the run can read it
}

// a2aRequest is the frozen call. If its card was read, the agent is at the place that the card names, and otherwise at the server.
type a2aRequest struct {
	Method         string            `json:"method"`
	Parameters     interpreter.Value `json:"parameters"`
	Agent          string            `json:"agent,omitempty"` // place of the agent, if it is known from its card
	Version        a2a.Version       `json:"version,omitempty"`
	Tenant         string            `json:"tenant,omitempty"`
	Card           string            `json:"card,omitempty"`
	ForCard        *credential       `json:"forCard,omitempty"`
	Server         string            `json:"server,omitempty"`
	Authentication *credential       `json:"authentication,omitempty"` // for the server
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
	r := &a2aRequest{Method: c.name, Parameters: interpreter.Value{V: parameters}}
	if c.server != nil {
		if r.Server, err = c.server.expand(s, input); err != nil {
			return nil, err
		}
		if r.Authentication, err = c.authentication.prepare(s, input); err != nil {
			return nil, err
		}
	}
	switch {
	case c.card != nil:
		r.Agent, r.Version, r.Tenant = c.card.URL, c.card.Version, c.card.Tenant
		err = r.agree(c.card, c.card.URL)
	case c.source != nil:
		if r.Card, err = c.source.expand(s, input); err != nil {
			return nil, err
		}
		r.ForCard, err = c.forCard.prepare(s, input)
	}
	return r, err
}

// agree returns an error if a card requests another credential than the credential for the place of its agent.
func (r *a2aRequest) agree(card *a2a.Card, agent string) *errors.Error {
	scheme := ""
	if policy := r.credentialFor(agent); policy != nil {
		scheme = policy.Scheme
	}
	if err := card.Admits(scheme); err != nil {
		return errors.Authenticationf("%s: %s", withoutQuery(agent), err)
	}
	return nil
}

// credentialFor returns the credential for the origin of a URL, nil for none.
func (r *a2aRequest) credentialFor(at string) *credential {
	switch {
	case r.Authentication != nil && sameOrigin(at, r.Server):
		return r.Authentication
	case r.ForCard != nil && sameOrigin(at, r.Card):
		return r.ForCard
	}
	return nil
}

// isOrigin reports whether a URL names only a host, and no path on it.
func isOrigin(text string) bool {
	u, err := url.Parse(text)
	return err == nil && (u.Path == "" || u.Path == "/") && u.RawQuery == "" && u.Fragment == "" && u.User == nil
}

// prepareParameters returns the parameters as the author wrote them, after it checked that they fit the method.
func (c *callA2ABody) prepareParameters(s *interpreter.Scope, input any) (map[string]any, *errors.Error) {
	parameters, err := evalObject(s, c.parameters, input, "the parameters")
	if err != nil {
		return nil, err
	}
	wrong, unfit := c.check(parameters, a2a.Method.Fits)
	if len(wrong) > 0 {
		return nil, errors.Validationf("%s", wrong[0])
	}
	if unfit != nil {
		return nil, errors.Validationf("the parameters do not fit %s: %s", c.name, unfit)
	}
	return parameters, nil
}

func (c *callA2ABody) Finish(s *interpreter.Scope, result any) interpreter.Next {
	if c.authentication == nil && c.forCard == nil {
		return interpreter.Done(result)
	}
	request, err := c.prepare(s)
	if err != nil { // it was prepared before
		return interpreter.Fail(err)
	}
	agent := cmp.Or(request.Agent, request.Server) // or the card of a host, which is at the same origin
	if request.saysWhere() {
		found, _ := result.(map[string]any) // the form that the performer returns
		agent, _ = found["agent"].(string)
		result = found["result"]
	}
	var used *authentication
	switch sent := request.credentialFor(agent); {
	case sent == nil:
	case sent == request.Authentication:
		used = c.authentication
	default:
		used = c.forCard
	}
	if authorization := used.descriptor(s); authorization != nil {
		s.BindAfter("authorization", authorization)
	}
	return interpreter.Done(result)
}

// saysWhere reports whether the result contains the place of the agent. Only the reader of the card knows that place, and so the receiver of each
// credential.
func (r *a2aRequest) saysWhere() bool {
	return r.Card != "" && (r.Authentication != nil || r.ForCard != nil)
}
