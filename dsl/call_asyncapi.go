package dsl

// CallAsyncAPI publishes to or consumes from a channel that an AsyncAPI document describes.
type CallAsyncAPI struct {
	TaskBase
	Document        *ExternalResource
	Channel         string
	Operation       string
	Server          string
	ServerVariables map[string]any
	Protocol        string
	Message         *Message
	Subscription    *Subscription
	Authentication  *Authentication
}

// Kind returns KindCallAsyncAPI.
func (*CallAsyncAPI) Kind() Kind { return KindCallAsyncAPI }

// Message is what a call publishes.
type Message struct {
	Payload any
	Headers any
}

// Subscription tells which messages a call consumes. Exactly one of Amount, While and Until is set.
type Subscription struct {
	Pointer Pointer
	Filter  Expression
	For     *Duration
	Amount  *int
	While   Expression
	Until   Expression
	ForEach *Iterator
}
