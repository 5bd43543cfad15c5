package dsl

// CallGRPC calls a gRPC method.
type CallGRPC struct {
	TaskBase
	Proto          *ExternalResource
	Service        string
	Host           string
	Port           int // 0 if absent
	Authentication *Authentication
	Method         string
	Arguments      map[string]any
}

// Kind returns KindCallGRPC.
func (*CallGRPC) Kind() Kind { return KindCallGRPC }
