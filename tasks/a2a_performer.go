package tasks

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/google/uuid"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"github.com/swrun/swrun/errors"
	"github.com/swrun/swrun/expr"
	"github.com/swrun/swrun/internal/a2a"
	"github.com/swrun/swrun/internal/content"
	"github.com/swrun/swrun/interpreter"
)

// a2aPerformer calls methods of agents, each with one request.
type a2aPerformer struct {
	http func() *httpPerformer // created when it is needed
	load resources
}

func newA2APerformer(c Config) *a2aPerformer {
	return &a2aPerformer{sync.OnceValue(func() *httpPerformer { return newHTTPPerformer(c) }), resources{c.Load, c}}
}

func (p *a2aPerformer) perform(ctx context.Context, r interpreter.Request) (any, error) {
	request, prepared := r.Prepared.(*a2aRequest)
	if !prepared {
		request = new(a2aRequest)
		if err := json.Unmarshal(r.Body, request); err != nil {
			return nil, err
		}
	}
	result, err := p.ask(ctx, request, r)
	if err != nil && ctx.Err() != nil { // the end of ctx is then the cause, regardless of err
		return nil, context.Cause(ctx)
	}
	return result, err
}

// ask finds the agent, sends it the message, and returns the answer.
func (p *a2aPerformer) ask(ctx context.Context, request *a2aRequest, r interpreter.Request) (any, error) {
	found, err := p.find(ctx, request, r.Memory)
	if err != nil {
		return nil, err
	}
	agent, method := found.URL, a2a.MethodOf(request.Method, found.Version)
	message, err := request.message(method, r.Key, found.Tenant)
	if err != nil {
		return nil, err
	}
	accepted := "application/json"
	if method.Streams {
		accepted = eventStream + ", " + accepted
	}
	call := &httpRequest{
		Method: http.MethodPost, URI: agent, Body: message, Authentication: request.credentialFor(agent),
		Headers: map[string]string{"Content-Type": "application/json", "Accept": accepted},
	}
	if found.Version == a2a.V1 {
		call.Headers[a2a.Header] = string(a2a.V1)
	}
	result, err := p.http().ask(ctx, call, r, func(response *http.Response) (any, error) {
		defer closing(ctx, response.Body)()
		return call.answer(ctx, method, response, r.Memory)
	})
	if fault := errors.AsError(err); fault != nil && request.Agent == "" && request.Card == "" && fault.Title == rpcTitle(jsonrpc.CodeMethodNotFound) {
		guessed := *fault
		guessed.Detail += fmt.Sprintf(" (the agent was asked in version %s of A2A; name its card, `agentCard`, if it speaks another one)", found.Version)
		return nil, &guessed
	}
	if err == nil && request.saysWhere() {
		result = map[string]any{"agent": agent, "result": result}
	}
	return result, err
}

// message returns the message for an agent whose version is known.
func (r *a2aRequest) message(method a2a.Method, key, tenant string) ([]byte, error) {
	parameters, _ := r.Parameters.V.(map[string]any) // no other type is prepared
	complete := method.Complete(parameters, messageID(key))
	if wrong := method.Check(complete); len(wrong) > 0 {
		return nil, errors.Validationf("%s", wrong[0])
	}
	if wrong := method.Fits(complete); wrong != nil {
		return nil, errors.Validationf("the parameters do not fit %s: %s", r.Method, wrong)
	}
	if tenant != "" && complete["tenant"] == nil {
		if complete = maps.Clone(complete); complete == nil {
			complete = map[string]any{}
		}
		complete["tenant"] = tenant
	}
	return method.Request(key, complete)
}

// eventStream is the media type of streams.
const eventStream = "text/event-stream"

// messageID returns the default id of a message: a UUID that is the same for all attempts, as the key is.
func messageID(key string) string {
	const version = 8
	return uuid.NewHash(sha256.New(), uuid.Nil, []byte(key), version).String()
}

// find returns the place of the agent, and its version of the protocol. It reads the agent's card, or the card of a host, if the card exists and is
// not known yet.
func (p *a2aPerformer) find(ctx context.Context, request *a2aRequest, memory interpreter.Memory) (agent *a2a.Card, err error) {
	look := p.read
	switch {
	case request.Agent != "":
		return &a2a.Card{URL: request.Agent, Version: request.Version, Tenant: request.Tenant}, nil
	case request.Card != "":
	case isOrigin(request.Server) && p.load.load != nil:
		look = p.discover
	default:
		return &a2a.Card{URL: request.Server, Version: a2a.V03}, nil
	}
	err = withinMemory(ctx, memory, func() (err error) {
		agent, err = look(ctx, request)
		return err
	})
	return agent, err
}

// read returns the place of an agent by its card.
func (p *a2aPerformer) read(ctx context.Context, request *a2aRequest) (*a2a.Card, error) {
	card, err := p.card(ctx, request)
	if err != nil {
		return nil, err
	}
	if refused := request.agree(card, card.URL); refused != nil {
		return nil, refused
	}
	return card, nil
}

// card reads the card that the task names. For a host, it reads the card at the usual path.
func (p *a2aPerformer) card(ctx context.Context, request *a2aRequest) (*a2a.Card, error) {
	if !isOrigin(request.Card) || !isHTTP(request.Card) {
		return p.cardAt(ctx, request.Card, request.ForCard)
	}
	card, err := p.cardOf(ctx, request.Card, request.ForCard)
	if !lacks(err) {
		return card, err
	}
	if at, strange := p.cardAt(ctx, request.Card, request.ForCard); strange == nil {
		return at, nil // as it is written
	}
	return nil, err
}

// discover returns the place of the agent of a host: the path that the host's card names, if the host has a card and the path is on this host.
func (p *a2aPerformer) discover(ctx context.Context, request *a2aRequest) (*a2a.Card, error) {
	card, err := p.cardOf(ctx, request.Server, nil)
	if lacks(err) {
		return &a2a.Card{URL: request.Server, Version: a2a.V03}, nil
	}
	if err != nil {
		return nil, err
	}
	if !sameOrigin(card.URL, request.Server) {
		moved := *card
		moved.URL = request.Server
		card = &moved
	}
	if refused := request.agree(card, card.URL); refused != nil {
		return nil, refused
	}
	return card, nil
}

// cardOf reads the card of a host.
func (p *a2aPerformer) cardOf(ctx context.Context, host string, policy *credential) (card *a2a.Card, err error) {
	for _, place := range a2a.Places() {
		if card, err = p.cardAt(ctx, strings.TrimSuffix(host, "/")+place, policy); !lacks(err) {
			break
		}
	}
	return card, err
}

func (p *a2aPerformer) cardAt(ctx context.Context, at string, policy *credential) (*a2a.Card, error) {
	found, err := p.load.read(ctx, at, policy)
	if err != nil {
		return nil, err
	}
	card, err := parseCard(found.Data)
	if err != nil {
		return nil, interpreter.FailLoad(withoutQuery(at), err)
	}
	return card, nil
}

// lacks reports whether a server answered that it does not have the resource, or does not give it.
func lacks(err error) bool {
	fault := errors.AsError(err)
	return fault != nil && fault.Type == errors.Communication && fault.Status/100 == 4
}

// sameOrigin reports whether two URLs share the scheme, host and port.
func sameOrigin(a, b string) bool {
	first, err := url.Parse(a)
	if err != nil {
		return false
	}
	second, err := url.Parse(b)
	return err == nil && originOf(first) == originOf(second)
}

// answer returns the result of an answer, or all of a stream.
func (request *httpRequest) answer(ctx context.Context, method a2a.Method, response *http.Response, memory interpreter.Memory) (any, error) {
	if err := request.refusal(response); err != nil {
		return nil, err
	}
	results, err := request.results(ctx, method, response, memory)
	if err != nil {
		return nil, request.agentFailure(err)
	}
	data := bytes.Join(results, []byte(","))
	if method.Streams {
		data = append(append([]byte("["), data...), ']')
	}
	if !utf8.Valid(data) {
		return nil, errors.Communicationf("%s: the answer is not UTF-8", withoutQuery(request.URI)).With("request", request.summary())
	}
	if err := reserveValues(ctx, memory, data); err != nil {
		return nil, err
	}
	result, err := expr.Decode(data)
	if err != nil {
		return nil, request.agentFailure(err)
	}
	return result, nil
}

// results reads the answer of an agent. It returns more than one result only if both the method and the agent stream.
func (request *httpRequest) results(ctx context.Context, method a2a.Method, response *http.Response, memory interpreter.Memory) (all [][]byte, err error) {
	if !method.Streams || content.Media(response.Header.Get("Content-Type")) != eventStream {
		body, err := request.read(ctx, response, memory)
		if err != nil {
			return nil, err
		}
		result, err := method.Result(body)
		return [][]byte{result}, err
	}
	body := &reservingBody{Reader: &boundedBody{body: response.Body, left: maxResponse(), exceeded: func() {}}}
	if memory != nil {
		body.reserve = func() error { return memory.Reserve(ctx, int64(maxResponse())*perByte) }
		defer func() {
			if body.reserve == nil {
				memory.Keep(int64(body.read) * perByte)
			}
		}()
	}
	for result, err := range method.Results(body, maxResponse()+1) {
		if err != nil {
			return nil, err
		}
		all = append(all, result)
	}
	return all, nil
}

// agentFailure returns the error of a task for the error of an answer. An error that the agent answered is of type runtime (semantics 11.11).
func (request *httpRequest) agentFailure(err error) error {
	var answered *jsonrpc.Error
	var strange *a2a.AnswerError
	switch {
	case errors.AsError(err) != nil:
		return err
	case errors.As(err, &answered):
		return rpcFailure(answered).With("request", request.summary())
	case errors.As(err, &strange):
		return errors.Communicationf("%s: %s", withoutQuery(request.URI), cut(strange.Error())).With("request", request.summary())
	}
	return request.broken(err)
}

// reservingBody is a body that reserves memory once it exceeds a small size, as bodies do that are read in one piece.
type reservingBody struct {
	io.Reader
	read    int
	reserve func() error // nil after the reservation
}

func (b *reservingBody) Read(p []byte) (int, error) {
	if b.reserve != nil && b.read > unreserved {
		if err := b.reserve(); err != nil {
			return 0, err
		}
		b.reserve = nil
	}
	n, err := b.Reader.Read(p[:min(len(p), unreserved)])
	b.read += n
	return n, err
}
