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
