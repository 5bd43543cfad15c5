package dsl

// KindCallOpenAPI is the kind of CallOpenAPI.
const KindCallOpenAPI Kind = "call_openapi"

// CallOpenAPI calls an operation that an OpenAPI document describes.
type CallOpenAPI struct {
	TaskBase
	Document       *ExternalResource
	OperationID    string
	Parameters     Value
	Authentication *Authentication
	Format         string // content (default), raw or response
	Redirect       bool
}

// Kind returns KindCallOpenAPI.
func (*CallOpenAPI) Kind() Kind { return KindCallOpenAPI }

// Traits returns the traits of a call that a server answers.
func (*CallOpenAPI) Traits() Traits { return serverCall() }

func (t *CallOpenAPI) parts(w *walker) {
	w.resource(t.Document)
	w.value(propertyCall, t.Parameters)
	w.authentication(t.Authentication)
}

func parseCallOpenAPI(_ *parser, o *object, base TaskBase) Task {
	o.allow("document", "operationId", "parameters", "authentication", "output", "redirect").require("document", "operationId")
	return &CallOpenAPI{
		TaskBase: base, Document: o.resource("document"), OperationID: o.text("operationId"), Parameters: o.mappingValue("parameters"),
		Authentication: o.authentication("authentication"), Format: o.enum("output", "content", "raw", "response"),
		Redirect: o.boolean("redirect"),
	}
}
