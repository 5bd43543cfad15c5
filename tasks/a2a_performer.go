package tasks

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync"

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
	http func() *httpPerformer // made when it is needed
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
	if err != nil && ctx.Err() != nil { // then that is the cause, whatever err says
		return nil, context.Cause(ctx)
	}
	return result, err
}

// ask finds the agent, sends it the message, and returns what it answers.
func (p *a2aPerformer) ask(ctx context.Context, request *a2aRequest, r interpreter.Request) (any, error) {
	agent, err := p.find(ctx, request, r.Memory)
	if err != nil {
		return nil, err
	}
	method := a2a.MethodOf(request.Method)
	parameters, _ := request.Parameters.V.(map[string]any) // nothing else is prepared
	message, err := method.Request(r.Key, method.Complete(parameters, messageID(r.Key)))
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
	result, err := p.http().ask(ctx, call, r, func(response *http.Response) (any, error) {
		defer closing(ctx, response.Body)()
		return call.answer(ctx, method, response, r.Memory)
	})
	if err == nil && request.saysWhere() {
		result = map[string]any{"agent": agent, "result": result}
	}
	return result, err
}

// eventStream is the media type of streams.
const eventStream = "text/event-stream"

// messageID returns the id that a message has by default: a UUID that is the same for all attempts, as the key is.
func messageID(key string) string {
	const version = 8
	return uuid.NewHash(sha256.New(), uuid.Nil, []byte(key), version).String()
}

// find returns where the agent is. Its card is read if there is one that is not known yet, and also that of a host.
func (p *a2aPerformer) find(ctx context.Context, request *a2aRequest, memory interpreter.Memory) (agent string, err error) {
	look := p.read
	switch {
	case request.Agent != "":
		return request.Agent, nil
	case request.Card != "":
	case isOrigin(request.Server) && p.load.load != nil:
		look = p.discover
	default:
		return request.Server, nil
	}
	err = withinMemory(ctx, memory, func() (err error) {
		agent, err = look(ctx, request)
		return err
	})
	return agent, err
}

// read returns where an agent is by its card.
func (p *a2aPerformer) read(ctx context.Context, request *a2aRequest) (string, error) {
	card, err := p.card(ctx, request.Card, request.ForCard)
	if err != nil {
		return "", err
	}
	if refused := request.agree(card, card.URL); refused != nil {
		return "", refused
	}
	return card.URL, nil
}

// discover returns where the agent of a host is: at the path that its card names, if it has a card, and that names one of this host.
func (p *a2aPerformer) discover(ctx context.Context, request *a2aRequest) (string, error) {
	card, err := p.card(ctx, strings.TrimSuffix(request.Server, "/")+a2a.Place, nil)
	if lacks(err) {
		return request.Server, nil
	}
	if err != nil {
		return "", err
	}
	agent := request.Server
	if sameOrigin(card.URL, agent) {
		agent = card.URL
	}
	if refused := request.agree(card, agent); refused != nil {
		return "", refused
	}
	return agent, nil
}

// card reads a card.
func (p *a2aPerformer) card(ctx context.Context, at string, policy *credential) (*a2a.Card, error) {
	data, err := p.load.read(ctx, at, policy)
	if err != nil {
		return nil, err
	}
	card, err := parseCard(data)
	if err != nil {
		return nil, interpreter.FailLoad(withoutQuery(at), err)
	}
	return card, nil
}

// lacks reports whether a server has answered that it does not have, or does not give, what was asked for.
func lacks(err error) bool {
	fault := errors.AsError(err)
	return fault != nil && fault.Type == errors.Communication && fault.Status/100 == 4
}

// sameOrigin reports whether two URLs are of one scheme, host and port.
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
	if err := reserveValues(ctx, memory, data); err != nil {
		return nil, err
	}
	result, err := expr.Decode(data)
	if err != nil {
		return nil, request.agentFailure(err)
	}
	return result, nil
}

// results reads what an agent answers: more than one result only if the method streams, and the agent does.
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

// agentFailure returns what a task gets of an error of an answer; one that the agent answers with is of type runtime (semantics 11.11).
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

// reservingBody is a body for which memory is reserved once it is more than a little, as for one that is read at once.
type reservingBody struct {
	io.Reader
	read    int
	reserve func() error // nil once it is reserved
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
