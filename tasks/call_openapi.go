package tasks

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"weak"

	"github.com/swrun/swrun/dsl"
	"github.com/swrun/swrun/errors"
	"github.com/swrun/swrun/expr"
	"github.com/swrun/swrun/internal/openapi"
	"github.com/swrun/swrun/interpreter"
)

func callOpenAPI(c Config) interpreter.Kind {
	known := openAPIDocuments{}
	return told(interpreter.Kind{Kind: dsl.KindCallOpenAPI, Compile: known.compile, Perform: newOpenAPIPerformer(c).perform})
}

// openAPIDocuments are the documents that the tasks of one workflow name, so that each is parsed once. They are needed only while the tasks are
// compiled.
type openAPIDocuments map[string]weak.Pointer[openapi.Document]

// parse reads the document of a literal URI.
func (all openAPIDocuments) parse(found interpreter.Resource) (*openapi.Document, error) {
	if d := all[found.Place].Value(); d != nil {
		return d, nil
	}
	d, err := openapi.Parse(found.Data, found.Place)
	all[found.Place] = weak.Make(d)
	return d, err
}

func (all openAPIDocuments) compile(b *interpreter.Builder, t dsl.Task) interpreter.Body {
	call := t.(*dsl.CallOpenAPI)
	document := call.Document.Endpoint
	body := &callOpenAPIBody{
		operationID: call.OperationID, parameters: b.Value(call.Parameters), format: call.Format, redirect: call.Redirect,
		authentication: compileAuthentication(b, call.Authentication), forDocument: compileAuthentication(b, document.Authentication),
	}
	if document.Authentication == nil { // otherwise only the performer of the task holds the credential for reading it
		if found, ok := b.Load(call.Document); ok {
			body.operation = all.operation(b, call, found)
			body.reportPlaintext(b, call)
			return body
		}
	}
	body.source = compilePlace(b, document)
	return body
}

// operation returns the operation that a task calls, and reports mistakes of the call that are known before a run.
func (all openAPIDocuments) operation(b *interpreter.Builder, call *dsl.CallOpenAPI, found interpreter.Resource) *openapi.Operation {
	d, err := all.parse(found)
	if err != nil {
		b.Report("SW802", call.Document.Endpoint.Pointer, "cannot use "+withoutQuery(found.Place)+": "+err.Error())
		return nil
	}
	o, err := d.Operation(call.OperationID)
	if err != nil {
		var unknown *openapi.UnknownOperationError
		code, help := "SW802", ""
		if errors.As(err, &unknown) {
			code, help = "SW806", listed("its operations", unknown.All)
		}
		b.Add(dsl.Diagnostic{Code: code, Pointer: call.Pointer.Key("with").Key("operationId"), Message: err.Error(), Help: help})
		return nil
	}
	parameters, _ := call.Parameters.Data.(map[string]any) // nil without parameters
	given := maps.Clone(parameters)
	maps.DeleteFunc(given, func(_ string, v any) bool { return v == nil })
	for _, wrong := range o.Check(slices.Sorted(maps.Keys(given))) {
		at := call.Pointer.Key("with").Key("operationId")
		if !wrong.Missing {
			at = call.Parameters.Pointer.Key(wrong.Name)
		}
		b.Add(dsl.Diagnostic{Code: "SW806", Pointer: at, Message: wrong.Error(), Help: listed("its parameters", o.Names())})
	}
	return o
}

// reportPlaintext reports a certificate for an operation that is called without TLS.
func (c *callOpenAPIBody) reportPlaintext(b *interpreter.Builder, call *dsl.CallOpenAPI) {
	if o, a := c.operation, c.authentication; o != nil && a != nil && a.scheme == dsl.SchemeCertificate && !strings.HasPrefix(o.Servers[0], "https:") {
		b.Report("SW806", call.Authentication.Pointer, fmt.Sprintf("the server %s: %s", withoutQuery(o.Servers[0]), withoutTLS))
	}
}

// callOpenAPIBody prepares a call of an operation (semantics 11.8). Everything else is the same as for any request over HTTP.
type callOpenAPIBody struct {
	operation      *openapi.Operation // nil if only the run can read the document
	source         *uri               // of the document, if the operation is nil
	forDocument    *authentication
	operationID    string
	parameters     *expr.Template
	format         string
	redirect       bool
	authentication *authentication
}

// openAPIRequest is the frozen call. If the document is still to be read, the request is made from it later.
type openAPIRequest struct {
	Request     *httpRequest      `json:"request"`
	Document    string            `json:"document,omitempty"`
	ForDocument *credential       `json:"forDocument,omitempty"`
	Operation   string            `json:"operation,omitempty"`
	Parameters  interpreter.Value `json:"parameters"`
}

func (c *callOpenAPIBody) Enter(s *interpreter.Scope) interpreter.Next {
	request, err := c.prepare(s)
	if err != nil {
		return interpreter.Fail(err)
	}
	return interpreter.Perform(request)
}

func (c *callOpenAPIBody) prepare(s *interpreter.Scope) (*openAPIRequest, *errors.Error) {
	input := s.Input()
	parameters, err := evalObject(s, c.parameters, input, "the parameters")
	if err != nil {
		return nil, err
	}
	r := &openAPIRequest{Request: &httpRequest{Format: c.format, Redirect: c.redirect}}
	if r.Request.Authentication, err = c.authentication.prepare(s, input); err != nil {
		return nil, err
	}
	if c.operation != nil {
		if err := r.Request.describe(c.operation, parameters); err != nil && c.parameters != nil {
			return nil, s.WithExpression(err, c.parameters)
		} else if err != nil {
			return nil, err
		}
		return r, nil
	}
	r.Operation, r.Parameters = c.operationID, interpreter.Value{V: parameters}
	if r.Document, err = c.source.locate(s, input); err != nil {
		return nil, err
	}
	r.ForDocument, err = c.forDocument.prepare(s, input)
	return r, err
}

// describe fills in the parts of a call with parameters that the operation defines.
func (request *httpRequest) describe(o *openapi.Operation, parameters map[string]any) *errors.Error {
	made, err := o.Prepare(parameters)
	if err != nil {
		return errors.Validationf("%s", err)
	}
	request.Method, request.Headers, request.Body = made.Method, made.Headers, made.Body
	request.URI, request.Elsewhere = made.URLs[0], made.URLs[1:]
	for name, text := range made.Headers {
		if err := checkHeader(name, text, false); err != nil {
			return err
		}
	}
	return nil
}

func (c *callOpenAPIBody) Finish(s *interpreter.Scope, result any) interpreter.Next {
	if authorization := c.authentication.descriptor(s); authorization != nil {
		s.BindAfter("authorization", authorization)
	}
	return interpreter.Done(result)
}

// openAPIPerformer sends the requests of operations.
type openAPIPerformer struct {
	http func() *httpPerformer // created when it is needed
	load resources
}

func newOpenAPIPerformer(c Config) *openAPIPerformer {
	return &openAPIPerformer{sync.OnceValue(func() *httpPerformer { return newHTTPPerformer(c) }), resources{c.Load, c}}
}

func (p *openAPIPerformer) perform(ctx context.Context, r interpreter.Request) (any, error) {
	request, prepared := r.Prepared.(*openAPIRequest)
	if !prepared {
		request = new(openAPIRequest)
		if err := json.Unmarshal(r.Body, request); err != nil {
			return nil, err
		}
	}
	call := *request.Request
	if request.Document != "" {
		if err := p.describe(ctx, request, &call, r.Memory); err != nil {
			return nil, err
		}
	}
	r.Prepared = &call
	return p.http().perform(ctx, r)
}

// describe makes the request from the document. It holds no part of the document when the request is sent.
func (p *openAPIPerformer) describe(ctx context.Context, request *openAPIRequest, call *httpRequest, memory interpreter.Memory) error {
	return withinMemory(ctx, memory, func() error { return p.read(ctx, request, call) })
}

// read makes the request from the present document.
func (p *openAPIPerformer) read(ctx context.Context, request *openAPIRequest, call *httpRequest) error {
	found, err := p.load.read(ctx, request.Document, request.ForDocument)
	if err != nil {
		return err
	}
	d, err := openapi.Parse(found.Data, found.Place)
	if err != nil {
		return interpreter.FailLoad(withoutQuery(request.Document), err)
	}
	o, err := d.Operation(request.Operation)
	if err != nil {
		return errors.Configurationf("%s: %s", withoutQuery(request.Document), err)
	}
	parameters, _ := request.Parameters.V.(map[string]any) // no other type is prepared
	if fault := call.describe(o, parameters); fault != nil {
		return fault
	}
	return nil
}

// maxListed is the maximum number of names that a diagnostic lists.
const maxListed = 12

// listed lists names, if there are at most maxListed.
func listed(what string, names []string) string {
	if len(names) == 0 || len(names) > maxListed {
		return ""
	}
	return what + ": " + strings.Join(names, " ")
}
