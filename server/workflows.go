package server

import (
	"context"
	"net/http"
	"net/url"
	"slices"

	"github.com/danielgtaylor/huma/v2"

	"github.com/swrun/swrun"
	"github.com/swrun/swrun/errors"
	"github.com/swrun/swrun/internal/api"
	"github.com/swrun/swrun/internal/control"
	"github.com/swrun/swrun/runtime/definition"
)

const (
	workflowsPath = "/v1/workflows"
	namePattern   = workflowsPath + "/{namespace}/{name}"
	startPath     = namePattern + "/{version}/runs"
)

// The media types of the answers with a workflow.
const (
	typeJSON    = "application/json"
	typeYAML    = "application/yaml"
	typeMermaid = "text/vnd.mermaid"
	typeDOT     = "text/vnd.graphviz"
	typeSVG     = "image/svg+xml"
)

// maxDocument is above the limit of a document, so that a document that is too large is reported as such.
const maxDocument = 2 << 20

// maxDefinition is the maximum size of a document with its external resources in a request, in bytes.
const maxDefinition = 16 << 20

func (s *Server) workflowRoutes() {
	route(s, RoleViewer, huma.Operation{
		OperationID: "listWorkflows", Method: http.MethodGet, Path: workflowsPath, Tags: []string{"workflows"},
		Summary: "The workflows that are deployed, with their versions",
	}, s.listWorkflows)
	route(s, RoleViewer, s.readsWorkflow(huma.Operation{
		OperationID: "getLatestWorkflow", Method: http.MethodGet, Path: namePattern, Tags: []string{"workflows"},
		Summary: "The latest version of a workflow",
	}), func(ctx context.Context, in *NamePath) (*workflowAnswer, error) {
		return s.getWorkflow(ctx, definition.Reference{Namespace: in.Namespace, Name: in.Name, Version: definition.Latest}, in.Accept)
	})
	route(s, RoleViewer, s.readsWorkflow(huma.Operation{
		OperationID: "getWorkflow", Method: http.MethodGet, Path: namePattern + "/{version}", Tags: []string{"workflows"},
		Summary: "A version of a workflow",
	}), func(ctx context.Context, in *VersionPath) (*workflowAnswer, error) {
		return s.getWorkflow(ctx, in.reference(), in.Accept)
	})
	s.deployRoutes()
}

// deployRoutes serves the operations that check, deploy and delete documents.
func (s *Server) deployRoutes() {
	route(s, RoleAuthor, huma.Operation{
		OperationID: "putWorkflow", Method: http.MethodPut, Path: namePattern + "/{version}",
		Tags: []string{"workflows"}, DefaultStatus: http.StatusCreated,
		Summary:      "Deploy a document",
		Description:  "The body is the document, YAML or JSON, or a definition: the document with its external resources, for which the server then reads nothing. Of other documents it reads resources by http and https, and no files. Answers 201, or 200 if exactly this document is deployed already. A version never changes: another document is a problem with status 409.",
		MaxBodyBytes: maxDefinition, RequestBody: deployBody(s), SkipValidateBody: true,
		Responses: map[string]*huma.Response{"200": {Description: "It is deployed already", Content: map[string]*huma.MediaType{typeJSON: {Schema: schemaOf[api.DeployedWorkflow](s)}}}},
	}, s.putWorkflow)
	route(s, RoleAuthor, huma.Operation{
		OperationID: "checkRuns", Method: http.MethodPost, Path: namePattern + "/{version}/check-runs",
		Tags: []string{"workflows"}, Metadata: map[string]any{unaudited: true},
		Summary:      "What becomes of the runs in progress if a document is deployed",
		Description:  "The body is the document, as it would be deployed; nothing is changed. The runs of other versions go on with what they have: the answer says how many there are, how many could migrate, and why the others could not.",
		MaxBodyBytes: maxDefinition, RequestBody: deployBody(s), SkipValidateBody: true,
	}, func(ctx context.Context, in *documentInput) (*checkRunsAnswer, error) {
		d, err := control.Sent(in.ContentType, in.RawBody)
		if err != nil {
			return nil, err
		}
		checked, err := s.control.CheckRunsOf(ctx, in.reference(), d)
		return &checkRunsAnswer{checked}, err
	})
	route(s, RoleOperator, huma.Operation{
		OperationID: "deleteWorkflow", Method: http.MethodDelete, Path: namePattern + "/{version}", Tags: []string{"workflows"},
		Summary:     "Delete a version of a workflow of which no run is in progress",
		Description: "No run can be started by this name and version any more; those that have ended keep what they were started with.",
	}, func(ctx context.Context, in *VersionPath) (*struct{}, error) {
		concerns(ctx, in.reference().String())
		return nil, s.control.Undeploy(ctx, in.reference())
	})
	route(s, RoleViewer, huma.Operation{
		OperationID: "validate", Method: http.MethodPost, Path: "/v1/validate", Tags: []string{"workflows"}, Metadata: map[string]any{unaudited: true},
		Summary: "What is found in a document", MaxBodyBytes: maxDocument + 1, RequestBody: documentBody(), SkipValidateBody: true,
	}, func(_ context.Context, in *validateInput) (*findingsAnswer, error) {
		return &findingsAnswer{s.control.Validate(in.RawBody)}, nil
	})
}

// exampleDocument is the workflow of the examples in the description.
const exampleDocument = `document: {dsl: 1.0.3, namespace: demo, name: order, version: 1.0.0}
input: {schema: {document: {type: object, properties: {lines: {type: array, items: {type: string}}}}}}
do:
- ship: {wait: {minutes: 10}}
`

func documentBody() *huma.RequestBody {
	text := &huma.MediaType{Schema: &huma.Schema{Type: huma.TypeString, Description: "A workflow document"}, Example: exampleDocument}
	return &huma.RequestBody{Required: true, Content: map[string]*huma.MediaType{
		typeYAML: text, typeJSON: {Schema: &huma.Schema{Description: "A workflow document"}},
	}}
}

// deployBody is the body of a deployment of a document.
func deployBody(s *Server) *huma.RequestBody {
	body := documentBody()
	body.Content[api.DefinitionMediaType] = &huma.MediaType{Schema: schemaOf[api.Definition](s)}
	return body
}

func (s *Server) readsWorkflow(o huma.Operation) huma.Operation {
	text := &huma.MediaType{Schema: &huma.Schema{Type: huma.TypeString}}
	o.Description = "The header Accept chooses the form: JSON with what is known of it, the document as it was deployed, or a drawing."
	o.Responses = map[string]*huma.Response{"200": {Description: "The workflow", Content: map[string]*huma.MediaType{
		typeJSON: {Schema: schemaOf[api.DeployedWorkflow](s)}, typeYAML: text, typeMermaid: text, typeDOT: text, typeSVG: text,
	}}}
	return o
}

type workflowsAnswer struct {
	Link string         `header:"Link" doc:"The next page, if there is one."`
	Body []api.Workflow `nullable:"false"`
}

func (s *Server) listWorkflows(ctx context.Context, in *Page) (*workflowsAnswer, error) {
	all, err := s.control.Workflows(ctx, "")
	if err != nil {
		return nil, err
	}
	all = slices.DeleteFunc(all, func(w api.Workflow) bool { return !callerOf(ctx).Sees(w.Namespace) })
	list, cursor, err := paged(all, in, func(w api.Workflow) string { return w.Namespace + "/" + w.Name })
	return &workflowsAnswer{next(workflowsPath, cursor, "limit", pageLimit(*in)), list}, err
}

type NamePath struct {
	Namespace string `path:"namespace"`
	Name      string `path:"name"`
	Accept    string `header:"Accept" hidden:"true"`
}

type VersionPath struct {
	NamePath
	Version string `path:"version"`
}

func (in *VersionPath) reference() definition.Reference {
	return definition.Reference{Namespace: in.Namespace, Name: in.Name, Version: in.Version}
}

type workflowAnswer struct {
	Status      int
	Location    string `header:"Location"`
	ContentType string `header:"Content-Type"`
	Vary        string `header:"Vary"`
	Body        any    `data:"show"`
}

func (s *Server) getWorkflow(ctx context.Context, r definition.Reference, accept string) (*workflowAnswer, error) {
	chosen, err := negotiated(accept, typeJSON, typeYAML, typeMermaid, typeDOT, typeSVG)
	if err != nil {
		return nil, err
	}
	answer := &workflowAnswer{Status: http.StatusOK, ContentType: chosen, Vary: "Accept"}
	switch chosen {
	case typeJSON:
		answer.Body, err = s.control.Deployed(ctx, r)
	case typeYAML:
		text := ""
		text, err = s.control.WorkflowText(ctx, r)
		answer.Body = []byte(text)
	default:
		drawing := ""
		drawing, err = s.control.DrawWorkflow(ctx, r, map[string]string{typeMermaid: "mermaid", typeDOT: "dot", typeSVG: "svg"}[chosen])
		answer.Body = []byte(drawing)
	}
	return answer, err
}

type documentInput struct {
	VersionPath
	ContentType string `header:"Content-Type" hidden:"true"`
	RawBody     []byte
}

type putInput struct {
	VersionPath
	ContentType string `header:"Content-Type" hidden:"true"`
	IfNoneMatch string `header:"If-None-Match" doc:"With *, a version that is there already is refused with status 412, also if it is the same document."`
	RawBody     []byte
}

func (s *Server) putWorkflow(ctx context.Context, in *putInput) (*deployedAnswer, error) {
	d, err := control.Sent(in.ContentType, in.RawBody)
	if err != nil {
		return nil, err
	}
	concerns(ctx, in.reference().String())
	w, again, err := s.control.Deploy(ctx, in.reference(), d)
	if in.IfNoneMatch == anything && (again || errors.As(err, new(*swrun.DeployedError))) {
		return nil, preconditionFailed(in.reference().String() + " is deployed already")
	}
	if err != nil {
		return nil, err
	}
	answer := &deployedAnswer{Status: http.StatusCreated, Body: w}
	answer.Location = workflowsPath + "/" + url.PathEscape(w.Namespace) + "/" + url.PathEscape(w.Name) + "/" + url.PathEscape(w.Version)
	if again {
		changesNothing(ctx)
		answer.Status = http.StatusOK
	}
	return answer, nil
}

type deployedAnswer struct {
	Status   int
	Location string `header:"Location"`
	Body     api.DeployedWorkflow
}

type checkRunsAnswer struct{ Body api.DeployResult }

type validateInput struct{ RawBody []byte }

type findingsAnswer struct{ Body api.Findings }
