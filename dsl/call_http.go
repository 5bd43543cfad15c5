package dsl

// CallHTTP sends an HTTP request.
type CallHTTP struct {
	TaskBase
	Method   string
	Endpoint *Endpoint
	Headers  any    // nil, an object, or a ${ } string for the whole map
	Query    any    // as Headers
	Body     any    // nil if absent
	Format   string // content (default), raw or response
	Redirect bool
}

// Kind returns KindCallHTTP.
func (*CallHTTP) Kind() Kind { return KindCallHTTP }
