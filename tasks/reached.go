package tasks

import (
	"cmp"
	"context"
	"encoding/json"
	"strings"

	"github.com/swrun/swrun/errors"
	"github.com/swrun/swrun/interpreter"
)

// told returns a kind whose errors, including timeouts, name the target of the call, unless its performer adds the target itself.
func told(kind interpreter.Kind) interpreter.Kind {
	perform := kind.Perform
	kind.Perform = func(ctx context.Context, r interpreter.Request) (any, error) {
		result, err := perform(ctx, r)
		return result, withRequest(err, r)
	}
	kind.Reached = requestMember
	return kind
}

// withRequest adds the target of the call to its error.
func withRequest(err error, r interpreter.Request) error {
	switch e := err.(type) {
	case *interpreter.NeedError:
		if e.Err != nil {
			return &interpreter.NeedError{Need: e.Need, Err: requested(e.Err, r)}
		}
	case *interpreter.TimeoutError:
		return &interpreter.TimeoutError{Kind: e.Kind, Err: requested(e.Err, r)}
	case *errors.Error:
		return requested(e, r)
	}
	return err
}

func requested(e *errors.Error, r interpreter.Request) *errors.Error {
	if _, is := e.Extensions[errors.MemberRequest]; is {
		return e
	}
	if member := requestMember(r); member != nil {
		return e.With(errors.MemberRequest, member)
	}
	return e
}

// addressed is the common part of requests of all kinds: their target.
type addressed struct {
	Method, URI, Image, Endpoint, Agent, Card, Server, Document string

	Command any
	Request *struct{ Method, URI string }
	Target  struct {
		Address, Protocol, Channel string
		Plaintext, Secure          bool
		Addresses                  []string
	}
	Signature struct{ Path string }
	Service   string
	Message   json.RawMessage
}

// requestMember returns the member of an error that describes the target of a request; nil if the target is not known.
func requestMember(r interpreter.Request) map[string]any {
	body := []byte(r.Body)
	if r.Prepared != nil {
		body, _ = json.Marshal(r.Prepared) // a request that cannot be encoded has no address
	}
	var a addressed
	if json.Unmarshal(body, &a) != nil {
		return nil
	}
	member := map[string]any{}
	for name, value := range a.members() {
		if value != "" {
			member[name] = value
		}
	}
	if len(member) == 0 {
		return nil
	}
	return member
}

// members returns the description of the request; empty members are not known.
func (a *addressed) members() map[string]string {
	switch {
	case a.Image != "":
		return map[string]string{"image": a.Image}
	case a.Request != nil:
		return map[string]string{"method": a.Request.Method, "uri": withoutQuery(a.Request.URI)}
	case a.Target.Protocol != "":
		return map[string]string{"method": a.direction(), "uri": withoutQuery(a.broker())}
	case a.Target.Address != "":
		method := cmp.Or(strings.TrimPrefix(a.Signature.Path, "/"), strings.Trim(a.Service+"/"+a.Method, "/"))
		return map[string]string{"method": method, "uri": a.scheme("grpcs", "grpc") + a.Target.Address}
	}
	program := ""
	if command, ok := a.Command.([]any); ok && len(command) > 0 { // without its arguments, which may contain any data
		program, _ = command[0].(string)
	}
	uri := withoutQuery(cmp.Or(a.URI, a.Endpoint, a.Agent, a.Server, a.Card, a.Document))
	return map[string]string{"method": a.Method, "uri": uri, "command": program}
}

// direction returns the direction of the use of a channel.
func (a *addressed) direction() string {
	if len(a.Message) > 0 {
		return "publish"
	}
	return "subscribe"
}

// broker returns the URI of the first server of a channel, with the channel as its path.
func (a *addressed) broker() string {
	address := ""
	if len(a.Target.Addresses) > 0 {
		address = a.Target.Addresses[0]
	}
	return a.scheme(a.Target.Protocol, a.Target.Protocol) + address + "/" + strings.TrimPrefix(a.Target.Channel, "/")
}

func (a *addressed) scheme(secure, plain string) string {
	if a.Target.Plaintext || a.Target.Protocol != "" && !a.Target.Secure {
		return plain + "://"
	}
	return secure + "://"
}
