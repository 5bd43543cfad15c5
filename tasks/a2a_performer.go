package tasks

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"sync"

	"github.com/google/uuid"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"github.com/swrun/swrun/errors"
	"github.com/swrun/swrun/expr"
	"github.com/swrun/swrun/internal/a2a"
	"github.com/swrun/swrun/interpreter"
)

// a2aPerformer calls methods of agents, each with one request.
type a2aPerformer struct {
	http func() *httpPerformer // made when it is needed
	load resources
}

func newA2APerformer(c Config) *a2aPerformer {
	return &a2aPerformer{sync.OnceValue(func() *httpPerformer { return newHTTPPerformer(c) }), resources{c.Load, c.Secrets}}
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
	server, policy := request.Server, request.Authentication
	if request.Card != "" || request.Discover && p.load.load != nil {
		err := withinMemory(ctx, r.Memory, func() (err error) {
			server, policy, err = p.find(ctx, request)
			return err
		})
		if err != nil {
			return nil, err
		}
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
		Method: http.MethodPost, URI: server, Body: message, Authentication: policy,
		Headers: map[string]string{"Content-Type": "application/json", "Accept": accepted},
	}
	response, err := p.http().send(ctx, call, r)
	if err != nil {
		return nil, err
	}
	defer closing(ctx, response.Body)()
	return call.answer(ctx, method, response, r.Memory)
}

// eventStream is the media type of streams.
const eventStream = "text/event-stream"

// messageID returns the id that a message has by default: a UUID that is the same for all attempts, as the key is.
func messageID(key string) string {
	const version = 8
	return uuid.NewHash(sha256.New(), uuid.Nil, []byte(key), version).String()
}

// find reads the card of an agent, and returns where the agent is, and the credential for it. Each is only for where it was meant for.
func (p *a2aPerformer) find(ctx context.Context, request *a2aRequest) (server string, policy *credential, err error) {
	at := request.Card
	if request.Discover {
		at = discovered(request.Server)
	}
	data, err := p.load.read(ctx, at, request.ForCard)
	if request.Discover && lacks(err) { // so that the server itself is the agent
		return request.Server, request.Authentication, nil
	}
	if err != nil {
		return "", nil, err
	}
	card, err := parseCard(data)
	if err != nil {
		return "", nil, interpreter.FailLoad(withoutQuery(at), err)
	}
	server, policy = request.Server, request.Authentication
	switch {
	case request.Discover && sameOrigin(card.URL, server):
		server = card.URL
	case server == "":
		if server = card.URL; sameOrigin(server, at) {
			policy = request.ForCard
		}
	}
	scheme := ""
	if policy != nil {
		scheme = policy.Scheme
	}
	if err := card.Admits(scheme); err != nil {
		return "", nil, errors.Authenticationf("%s: %s", withoutQuery(server), err)
	}
	return server, policy, nil
}

// discovered returns where the card of a host is.
func discovered(server string) string {
	u, err := url.Parse(server)
	if err != nil {
		return server
	}
	return u.JoinPath(a2a.Place).String()
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
	if !method.Streams || mediaType(response.Header.Get("Content-Type")) != eventStream {
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
