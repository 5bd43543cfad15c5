package server

import (
	"context"
	"net/http"
	"net/url"

	"github.com/danielgtaylor/huma/v2"

	"github.com/swrun/swrun"
	"github.com/swrun/swrun/errors"
	"github.com/swrun/swrun/internal/api"
	"github.com/swrun/swrun/internal/control"
)

const (
	functionsPath   = "/v1/functions"
	functionPattern = functionsPath + "/{name}/{version}"
)

// maxFunction is the exclusive limit on the size of a function with its files in a request, in bytes.
const maxFunction = 4 << 20

type (
	functionsAnswer struct {
		Link string         `header:"Link" doc:"The next page, if there is one."`
		Body []api.Function `nullable:"false"`
	}
	functionInput struct {
		FunctionPath
		ContentType string `header:"Content-Type" hidden:"true"`
		IfNoneMatch string `header:"If-None-Match" doc:"With *, a version that is there already is refused with status 412, also if it is the same function."`
		RawBody     []byte
	}
	functionText struct {
		ContentType string `header:"Content-Type"`
		Vary        string `header:"Vary"`
		Body        any
	}
	functionAnswer struct {
		Status   int
		Location string `header:"Location"`
		Body     api.DeployedFunction
	}
)

// FunctionPath names a function in a path.
type FunctionPath struct {
	Name    string `path:"name"`
	Version string `path:"version"`
	Accept  string `header:"Accept" hidden:"true"`
}

// named returns the name of the function with its version.
func (in *FunctionPath) named() string { return in.Name + ":" + in.Version }

// functionRoutes serves the deployed functions of the default catalog. The functions are for all namespaces, and so must be the caller that changes
// them.
func (s *Server) functionRoutes() {
	operation := func(id, method, path, summary string) huma.Operation {
		return huma.Operation{OperationID: id, Method: method, Path: path, Tags: []string{"functions"}, Summary: summary}
	}
	route(s, RoleViewer, operation("listFunctions", http.MethodGet, functionsPath, "The functions of the default catalog that are deployed, with their versions"), s.listFunctions)
	get := operation("getFunction", http.MethodGet, functionPattern, "A function of the default catalog")
	get.Description = "The header Accept chooses the form: JSON with what is known of it and the files that it refers to, or its text."
	get.Responses = map[string]*huma.Response{"200": {Description: "The function", Content: map[string]*huma.MediaType{
		typeJSON: {Schema: schemaOf[api.DeployedFunction](s)}, typeYAML: {Schema: &huma.Schema{Type: huma.TypeString}},
	}}}
	route(s, RoleViewer, get, s.getFunction)
	put := operation("putFunction", http.MethodPut, functionPattern, "Deploy a function, so that workflows which are deployed afterwards may call it as name:version@default")
	put.Description = "The body is its text, YAML or JSON, or that with the files that it refers to by relative references. Answers 201, or 200 if exactly this function is deployed already. It never changes: another one is a problem with status 409. It is for all namespaces, and so must be the caller's token."
	put.DefaultStatus, put.MaxBodyBytes, put.RequestBody, put.SkipValidateBody = http.StatusCreated, maxFunction, functionBody(s), true
	put.Metadata = map[string]any{ofAll: true}
	put.Responses = map[string]*huma.Response{"200": {Description: "It is deployed already", Content: map[string]*huma.MediaType{typeJSON: {Schema: schemaOf[api.DeployedFunction](s)}}}}
	route(s, RoleAuthor, put, s.putFunction)
	remove := operation("deleteFunction", http.MethodDelete, functionPattern, "Delete a function: nothing can be deployed with it any more")
	remove.Description = "Workflows that are deployed hold what they call, and go on with it. The caller's token must be for all namespaces."
	remove.DefaultStatus, remove.Metadata = http.StatusNoContent, map[string]any{ofAll: true}
	route(s, RoleOperator, remove, func(ctx context.Context, in *FunctionPath) (*struct{}, error) {
		concerns(ctx, in.named())
		return nil, s.control.RemoveFunction(ctx, in.named())
	})
}

// exampleFunction is the function of the examples in the description.
const exampleFunction = `input: {schema: {document: {type: object, required: [name]}}}
set: '${ "Hello, " + .name + "!" }'
`

func functionBody(s *Server) *huma.RequestBody {
	return &huma.RequestBody{Required: true, Content: map[string]*huma.MediaType{
		typeYAML: {Schema: &huma.Schema{Type: huma.TypeString, Description: "The definition of a task"}, Example: exampleFunction},
		typeJSON: {Schema: &huma.Schema{Description: "The definition of a task"}}, api.FunctionMediaType: {Schema: schemaOf[api.FunctionDefinition](s)},
	}}
}

func (s *Server) listFunctions(ctx context.Context, in *Page) (*functionsAnswer, error) {
	all, err := s.control.Functions(ctx)
	if err != nil {
		return nil, err
	}
	list, cursor, err := paged(all, in, func(f api.Function) string { return f.Name })
	return &functionsAnswer{next(functionsPath, cursor, "limit", pageLimit(*in)), list}, err
}

func (s *Server) getFunction(ctx context.Context, in *FunctionPath) (*functionText, error) {
	chosen, err := negotiated(in.Accept, typeJSON, typeYAML)
	if err != nil {
		return nil, err
	}
	found, err := s.control.Function(ctx, in.named())
	if err != nil {
		return nil, err
	}
	answer := &functionText{ContentType: chosen, Vary: "Accept", Body: found}
	if chosen == typeYAML {
		answer.Body = []byte(found.Function)
	}
	return answer, nil
}

func (s *Server) putFunction(ctx context.Context, in *functionInput) (*functionAnswer, error) {
	f, err := control.SentFunction(in.named(), in.ContentType, in.RawBody)
	if err != nil {
		return nil, err
	}
	concerns(ctx, in.named())
	deployed, again, err := s.control.DeployFunction(ctx, f)
	if in.IfNoneMatch == anything && (again || errors.As(err, new(*swrun.FunctionDeployedError))) {
		return nil, preconditionFailed(in.named() + " is deployed already")
	}
	if err != nil {
		return nil, err
	}
	answer := &functionAnswer{Status: http.StatusCreated, Body: deployed}
	answer.Location = functionsPath + "/" + url.PathEscape(in.Name) + "/" + url.PathEscape(in.Version)
	if again {
		changesNothing(ctx)
		answer.Status = http.StatusOK
	}
	return answer, nil
}
