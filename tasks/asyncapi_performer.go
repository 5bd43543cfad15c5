package tasks

import (
	"cmp"
	"context"
	"encoding/json"
	"net/http"
	"sync"

	"github.com/swrun/swrun/errors"
	"github.com/swrun/swrun/expr"
	"github.com/swrun/swrun/internal/asyncapi"
	"github.com/swrun/swrun/internal/brokers"
	"github.com/swrun/swrun/interpreter"
	"github.com/swrun/swrun/limits"
)

// asyncAPIPerformer talks to the servers of AsyncAPI documents.
type asyncAPIPerformer struct {
	config Config
	http   func() *httpPerformer // created when it is needed
	load   resources
	kept   *subscriptions
}

func newAsyncAPIPerformer(c Config) *asyncAPIPerformer {
	return &asyncAPIPerformer{c, sync.OnceValue(func() *httpPerformer { return newHTTPPerformer(c) }), resources{c.Load, c}, &subscriptions{}}
}

func (p *asyncAPIPerformer) perform(ctx context.Context, r interpreter.Request) (any, error) {
	request, prepared := r.Prepared.(*asyncAPIRequest)
	if !prepared {
		request = new(asyncAPIRequest)
		if err := json.Unmarshal(r.Body, request); err != nil {
			return nil, err
		}
	}
	call := *request
	if call.Target == nil {
		if err := p.describe(ctx, &call, r.Memory); err != nil {
			return nil, err
		}
	}
	if call.Receive != nil {
		return p.receive(ctx, &call, r)
	}
	return nil, p.publish(ctx, &call, r)
}

// describe makes the target of the document, within the memory that all effects share.
func (p *asyncAPIPerformer) describe(ctx context.Context, call *asyncAPIRequest, memory interpreter.Memory) error {
	return withinMemory(ctx, memory, func() error {
		found, err := p.load.read(ctx, call.Document, call.ForDocument)
		if err != nil {
			return err
		}
		d, err := asyncapi.Parse(found.Data)
		if err != nil {
			return interpreter.FailLoad(withoutQuery(call.Document), err)
		}
		route, err := d.Route(call.Call, speaks(call.Call))
		if err != nil {
			return errors.Configurationf("%s: %s", withoutQuery(call.Document), err)
		}
		if fault := call.aim(route); fault != nil {
			return fault
		}
		return nil
	})
}

// publish publishes the message, and returns when the other side holds it.
func (p *asyncAPIPerformer) publish(ctx context.Context, call *asyncAPIRequest, r interpreter.Request) error {
	var payload []byte
	if !call.Message.Empty {
		var err error
		if payload, err = expr.Encode(call.Message.Payload.V); err != nil {
			return err
		}
	}
	m := brokers.Message{Payload: payload, ID: r.Key, ContentType: cmp.Or(call.Target.ContentType, "application/json"), Headers: map[string]string{}}
	content := call.Message.content()
	m.CorrelationID = call.Target.CorrelationID(content)
	for name, value := range content.Headers {
		m.Headers[name] = stringify(value)
	}
	if call.Target.Protocol == protocolHTTP {
		return p.post(ctx, call, m, r)
	}
	if r.TraceParent != "" && m.Headers["traceparent"] == "" {
		m.Headers["traceparent"] = r.TraceParent
	}
	return p.deliver(ctx, call, m)
}

// deliver passes a message to a broker. If a token is refused, it tries once more with another one.
func (p *asyncAPIPerformer) deliver(ctx context.Context, call *asyncAPIRequest, m brokers.Message) error {
	client, c, err := p.client(ctx, call)
	if err != nil {
		return err
	}
	what := "publishing to " + call.Target.String()
	if err = client.Publish(ctx, m); err == nil {
		return nil
	}
	err = asyncAPIFailure(ctx, what, err)
	if renewed, failed := c.renewRefused(ctx, err); failed != nil {
		err = failed
	} else if renewed {
		client.Account = c.account()
		if err = client.Publish(ctx, m); err == nil {
			return nil
		}
		err = asyncAPIFailure(ctx, what, err)
	}
	_, err = c.hide(nil, err)
	return err
}

// post publishes by HTTP, as a request. The answer only confirms that the server accepted the message.
func (p *asyncAPIPerformer) post(ctx context.Context, call *asyncAPIRequest, m brokers.Message, r interpreter.Request) error {
	request := &httpRequest{
		Method: cmp.Or(call.Target.Bindings.Method, http.MethodPost), URI: call.Target.URL("http"),
		Headers: map[string]string{}, Body: m.Payload, Format: "raw",
		Authentication: call.Authentication,
	}
	if len(m.Payload) > 0 {
		request.Headers["Content-Type"] = m.ContentType
	}
	for name, text := range m.Headers {
		request.Headers[http.CanonicalHeaderKey(name)] = text
	}
	r.Prepared = request
	_, err := p.http().perform(ctx, r)
	return err
}

// client returns the client and the credential of a call.
func (p *asyncAPIPerformer) client(ctx context.Context, call *asyncAPIRequest) (*brokers.Client, *credential, error) {
	client := &brokers.Client{Target: *call.Target, Dial: p.config.Dial, MaxRead: maxResponse()}
	if client.Dial == nil {
		client.Dial = NewDial(nil)
	}
	c, err := call.Authentication.resolve(ctx, p.config)
	if err != nil {
		return nil, nil, err
	}
	client.Account, client.TLS = c.account(), c.ofConnection().settings()
	return client, c, nil
}

// account returns the account with which a client connects to a broker.
func (c *credential) account() brokers.Account {
	if c == nil {
		return brokers.Account{}
	}
	return brokers.Account{Username: c.Username, Password: c.Password, Token: c.Token}
}

// asyncAPIFailure returns the error of a failed request to a broker; what names the request.
func asyncAPIFailure(ctx context.Context, what string, err error) error {
	if ctx.Err() != nil { // the end of ctx is then the cause, regardless of err
		return context.Cause(ctx)
	}
	if workflow := errors.AsError(err); workflow != nil {
		return workflow
	}
	if errors.Is(err, brokers.ErrTooLarge) {
		return limits.Exceeded(limits.Response)
	}
	fault, need := unreached(what, err)
	var refused *brokers.RefusedError
	if errors.As(err, &refused) {
		fault.Status, fault.Title = refused.Status, http.StatusText(refused.Status)
	}
	return leftTo(need, fault)
}
