package tasks

import (
	"context"
	"fmt"
	"net"
	"strconv"

	"github.com/swrun/swrun/dsl"
	"github.com/swrun/swrun/errors"
	"github.com/swrun/swrun/expr"
	"github.com/swrun/swrun/internal/protofile"
	"github.com/swrun/swrun/interpreter"
)

func callGRPC(c Config) interpreter.Kind {
	return told(interpreter.Kind{Kind: dsl.KindCallGRPC, Compile: compileCallGRPC, Perform: newGRPCPerformer(c).perform})
}

func compileCallGRPC(b *interpreter.Builder, t dsl.Task) interpreter.Body {
	call := t.(*dsl.CallGRPC)
	document := call.Proto.Endpoint
	body := &callGRPCBody{
		service: call.Service, name: call.Method, arguments: b.Value(call.Arguments), target: targetOf(call),
		authentication: compileAuthentication(b, call.Authentication), forDocument: compileAuthentication(b, document.Authentication),
	}
	if body.authentication != nil && body.authentication.scheme == "digest" {
		b.Report("SW801", call.Authentication.Pointer, "gRPC has no challenges, so that there is no digest authentication: use another scheme")
	}
	if document.Authentication == nil { // otherwise only the performer of the task holds the credential for reading it
		if found, ok := b.Load(call.Proto); ok {
			body.method = findGRPCMethod(b, call, found)
			return body
		}
	}
	body.source = compilePlace(b, document)
	return body
}

// targetOf returns the place of a service.
func targetOf(call *dsl.CallGRPC) grpcTarget {
	return grpcTarget{Address: net.JoinHostPort(call.Host, strconv.Itoa(call.At())), Plaintext: call.Plaintext()}
}

// findGRPCMethod returns the method that a task calls, and reports mistakes of the call that are known before a run.
func findGRPCMethod(b *interpreter.Builder, call *dsl.CallGRPC, found interpreter.Resource) *protofile.Method {
	d, err := protofile.Parse(context.Background(), found.Place, found.Data, b.Read)
	if err != nil {
		b.Report("SW802", call.Proto.Endpoint.Pointer, "cannot use "+withoutQuery(found.Place)+": "+err.Error())
		return nil
	}
	m, err := d.Method(call.Service, call.Method)
	if err != nil {
		reportGRPCMethod(b, call, err)
		return nil
	}
	reportGRPCFields(b, call, m)
	return m
}

func reportGRPCMethod(b *interpreter.Builder, call *dsl.CallGRPC, err error) {
	with := call.Pointer.Key("with")
	var unknown *protofile.UnknownError
	if !errors.As(err, &unknown) {
		b.Report("SW802", with.Key("method"), err.Error())
		return
	}
	at := with.Key("method")
	if unknown.Of == "" {
		at = with.Key("service").Key("name")
	}
	b.Add(dsl.Diagnostic{Code: "SW806", Pointer: at, Message: err.Error(), Help: listed(fmt.Sprintf("its %ss", unknown.What), unknown.All)})
}

// reportGRPCFields reports given fields that the requests do not have.
func reportGRPCFields(b *interpreter.Builder, call *dsl.CallGRPC, m *protofile.Method) {
	requests, streamed, err := splitRequests(m, call.Arguments.Data)
	if err != nil {
		b.Add(dsl.Diagnostic{Code: "SW806", Pointer: call.Arguments.Pointer, Message: err.Error()})
		return
	}
	for i, one := range requests {
		for _, wrong := range m.Check(one) {
			at := call.Arguments.Pointer
			if streamed {
				at = at.Key(streamMember).Index(i)
			}
			for _, key := range wrong.Path {
				at = at.Key(key)
			}
			b.Add(dsl.Diagnostic{Code: "SW806", Pointer: at, Message: wrong.Error(), Help: listed("its fields", wrong.All)})
		}
	}
}

// streamMember is the member of `arguments` that contains several requests. No field can have this name.
const streamMember = "$stream"

// splitRequests returns the requests in arguments: one request, or the requests of the stream. Before a run, the stream may be an expression.
func splitRequests(m *protofile.Method, arguments any) (requests []any, streamed bool, err error) {
	object, _ := arguments.(map[string]any)
	stream, streamed := object[streamMember]
	switch {
	case arguments == nil:
		return []any{map[string]any{}}, false, nil
	case !streamed:
		return []any{arguments}, false, nil
	case len(object) > 1:
		return nil, true, fmt.Errorf("`%s` contains the whole stream of requests: remove the other members", streamMember)
	case !m.Requests:
		return nil, true, fmt.Errorf("%s takes one request, and no stream of them", m.Path)
	}
	if requests, isList := stream.([]any); isList {
		return requests, true, nil
	}
	if text, isText := stream.(string); isText && expr.Delimited(text) {
		return nil, true, nil
	}
	return nil, true, fmt.Errorf("`%s` must be an array of requests, got %s", streamMember, kindOf(stream))
}

// callGRPCBody prepares a call of a method (semantics 11.9).
type callGRPCBody struct {
	method         *protofile.Method // nil if only the run can read the document
	source         *uri              // of the document, if the method is nil
	forDocument    *authentication
	service, name  string
	target         grpcTarget
	arguments      *expr.Template
	authentication *authentication
}

// grpcRequest is the frozen call.
type grpcRequest struct {
	Target         grpcTarget           `json:"target"`
	Authentication *credential          `json:"authentication,omitempty"`
	Arguments      interpreter.Value    `json:"arguments"`
	Signature      *protofile.Signature `json:"signature,omitempty"` // nil if the document is still to be read
	Document       string               `json:"document,omitempty"`
	ForDocument    *credential          `json:"forDocument,omitempty"`
	Service        string               `json:"service,omitempty"`
	Method         string               `json:"method,omitempty"`

	made *grpcCall // made from the other fields, unless they come from storage
}

// grpcCall is the data to be sent.
type grpcCall struct {
	method   *protofile.Method
	requests [][]byte
}

func (c *callGRPCBody) Enter(s *interpreter.Scope) interpreter.Next {
	request, err := c.prepare(s)
	if err != nil {
		return interpreter.Fail(err)
	}
	return interpreter.Perform(request)
}

func (c *callGRPCBody) prepare(s *interpreter.Scope) (*grpcRequest, *errors.Error) {
	arguments, err := evalObject(s, c.arguments, s.Input(), "the arguments")
	if err != nil {
		return nil, err
	}
	r := &grpcRequest{Target: c.target}
	if arguments != nil {
		r.Arguments.V = arguments
	}
	if r.Authentication, err = c.authentication.prepare(s, s.Input()); err != nil {
		return nil, err
	}
	if c.method != nil {
		r.Signature = &c.method.Signature
		if r.made, err = newGRPCCall(c.method, r.Arguments.V); err != nil && c.arguments != nil {
			err = s.WithExpression(err, c.arguments)
		}
		return r, err
	}
	r.Service, r.Method = c.service, c.name
	if r.Document, err = c.source.locate(s, s.Input()); err != nil {
		return nil, err
	}
	r.ForDocument, err = c.forDocument.prepare(s, s.Input())
	return r, err
}

// newGRPCCall encodes the requests of a method.
func newGRPCCall(m *protofile.Method, arguments any) (*grpcCall, *errors.Error) {
	requests, _, err := splitRequests(m, arguments)
	if err != nil {
		return nil, errors.Validationf("%s", err)
	}
	call := &grpcCall{method: m}
	for _, one := range requests {
		text, err := expr.Encode(one)
		if err != nil {
			return nil, errors.Validationf("the arguments cannot be sent: %s", err)
		}
		data, err := m.Request(text)
		if err != nil {
			return nil, errors.Validationf("the arguments do not fit %s: %s", m.Input, err)
		}
		call.requests = append(call.requests, data)
	}
	return call, nil
}

func (c *callGRPCBody) Finish(s *interpreter.Scope, result any) interpreter.Next {
	if authorization := c.authentication.descriptor(s); authorization != nil {
		s.BindAfter("authorization", authorization)
	}
	return interpreter.Done(result)
}
