package dsl

// CallOpenAPI calls an operation that an OpenAPI document describes.
type CallOpenAPI struct {
	TaskBase
	Document       *ExternalResource
	OperationID    string
	Parameters     map[string]any
	Authentication *Authentication
	Format         string // content (default), raw or response
	Redirect       bool
}

// Kind returns KindCallOpenAPI.
func (*CallOpenAPI) Kind() Kind { return KindCallOpenAPI }

func parseCallOpenAPI(_ *parser, o *object, base TaskBase) Task {
	o.allow("document", "operationId", "parameters", "authentication", "output", "redirect").require("document", "operationId")
	return &CallOpenAPI{
		TaskBase: base, Document: o.resource("document"), OperationID: o.text("operationId"), Parameters: o.mapping("parameters"),
		Authentication: o.authentication("authentication"), Format: o.enum("output", "content", "raw", "response"),
		Redirect: o.boolean("redirect"),
	}
}
