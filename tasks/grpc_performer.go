package tasks

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"strconv"
	"sync/atomic"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/mem"
	"google.golang.org/grpc/metadata"

	"github.com/swrun/swrun/errors"
	"github.com/swrun/swrun/expr"
	"github.com/swrun/swrun/internal/protofile"
	"github.com/swrun/swrun/interpreter"
	"github.com/swrun/swrun/limits"
)

// grpcPerformer calls methods of gRPC.
type grpcPerformer struct {
	connections *grpcConnections
	documents   resources
	config      Config
}

func newGRPCPerformer(c Config) *grpcPerformer {
	dial := c.Dial
	if dial == nil {
		dial = NewDial(nil)
	}
	return &grpcPerformer{&grpcConnections{dial: dial}, resources{c.Load, c}, c}
}

func (p *grpcPerformer) perform(ctx context.Context, r interpreter.Request) (any, error) {
	request, prepared := r.Prepared.(*grpcRequest)
	if !prepared {
		request = new(grpcRequest)
		if err := json.Unmarshal(r.Body, request); err != nil {
			return nil, err
		}
	}
	call, err := p.make(ctx, request, r.Memory)
	if err != nil {
		return nil, err
	}
	result, err := p.call(ctx, request, call, r)
	if err != nil && ctx.Err() != nil { // the end of ctx is then the cause, regardless of err
		return nil, context.Cause(ctx)
	}
	return result, err
}

// make returns the data to be sent.
func (p *grpcPerformer) make(ctx context.Context, request *grpcRequest, memory interpreter.Memory) (*grpcCall, error) {
	if request.made != nil {
		return request.made, nil
	}
	m, err := p.method(ctx, request, memory)
	if err != nil {
		return nil, err
	}
	call, failed := newGRPCCall(m, request.Arguments.V)
	if failed != nil {
		return nil, failed
	}
	return call, nil
}

// method returns the method of a frozen call. If its document is still to be read, it is read within the memory that all effects share.
func (p *grpcPerformer) method(ctx context.Context, request *grpcRequest, memory interpreter.Memory) (*protofile.Method, error) {
	if request.Signature != nil {
		return request.Signature.Method()
	}
	if memory != nil {
		if err := memory.Reserve(ctx, maxDescribing); err != nil {
			return nil, err
		}
		defer memory.Keep(0)
	}
	found, err := p.documents.read(ctx, request.Document, request.ForDocument)
	if err != nil {
		return nil, err
	}
	policy := request.ForDocument
	if !sameOrigin(request.Document, found.Place) { // the credential is for the origin that the document of the workflow names
		policy = nil
	}
	d, err := protofile.Parse(ctx, found.Place, found.Data, func(uri string) ([]byte, error) {
		imported, err := p.documents.read(ctx, uri, policy)
		return imported.Data, err
	})
	if err != nil {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		return nil, unusableDocument(request.Document, err)
	}
	m, err := d.Method(request.Service, request.Method)
	if err != nil {
		return nil, errors.Configurationf("%s: %s", withoutQuery(request.Document), err)
	}
	return m, nil
}

// unusableDocument returns the error of a text that is no document, or of an import that is missing.
func unusableDocument(uri string, err error) error {
	var need *interpreter.NeedError
	var missing *protofile.ImportError
	switch {
	case errors.As(err, &need):
		return need
	case errors.As(err, &missing):
		if fault := errors.AsError(missing.Err); fault != nil {
			return fault
		}
	}
	return interpreter.FailLoad(withoutQuery(uri), err)
}

// call sends the requests and returns the answer, or all answers of a stream. If a token is refused, it sends them once more with another one.
func (p *grpcPerformer) call(ctx context.Context, request *grpcRequest, call *grpcCall, r interpreter.Request) (any, error) {
	c, err := request.Authentication.resolve(ctx, p.config)
	if err != nil {
		return nil, err
	}
	if err := c.needsTLS(request.Target.Address, !request.Target.Plaintext); err != nil {
		return nil, err
	}
	result, err := p.send(ctx, request, call, c, r)
	if renewed, failed := c.renewRefused(ctx, err); failed != nil {
		err = failed
	} else if renewed {
		result, err = p.send(ctx, request, call, c, r)
	}
	return c.hide(result, err)
}

// send sends the requests with a credential.
func (p *grpcPerformer) send(ctx context.Context, request *grpcRequest, call *grpcCall, c *credential, r interpreter.Request) (any, error) {
	certificate := c.ofConnection()
	connection, err := p.connections.take(request.Target, certificate)
	if err != nil {
		return nil, errors.Configurationf("%s cannot be called: %s", request.Target.Address, err)
	}
	var answered atomic.Bool
	within := context.WithValue(metadata.NewOutgoingContext(ctx, outgoing(c, r)), answeredKey{}, func() { answered.Store(true) })
	body, err := call.exchange(deadlined(within, r.Deadline), connection, r.Memory)
	p.connections.giveBack(connection, answered.Load())
	if err != nil {
		return nil, request.failure(ctx, call, grpcEnd{err, answered.Load(), connection.unmade(), r.Deadline})
	}
	return decodeAnswers(ctx, body, r.Memory)
}

// outgoing returns the metadata of the requests.
func outgoing(c *credential, r interpreter.Request) metadata.MD {
	md := metadata.Pairs("idempotency-key", r.Key, "x-swrun-attempt", strconv.Itoa(r.Attempt))
	if r.TraceParent != "" {
		md.Set("traceparent", r.TraceParent)
	}
	if c != nil && c.header() != "" {
		md.Set("authorization", c.header())
	}
	return md
}

// deadlined returns ctx with a deadline that is only sent to the server. The performer of the task ends ctx.
func deadlined(ctx context.Context, at time.Time) context.Context {
	if at.IsZero() || !time.Now().Before(at) {
		return ctx
	}
	return toldDeadline{ctx, at}
}

type toldDeadline struct {
	parent
	at time.Time
}

// parent is a context whose derived contexts report another deadline.
type parent interface{ context.Context }

// Deadline implements context.Context.
func (d toldDeadline) Deadline() (time.Time, bool) { return d.at, true }

// exchange sends the requests, and returns the answers as JSON. It ends with ctx.
func (call *grpcCall) exchange(ctx context.Context, c *grpcConnection, memory interpreter.Memory) ([]byte, error) {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	of := &grpc.StreamDesc{ClientStreams: call.method.Requests, ServerStreams: call.method.Answers}
	stream, err := c.NewStream(ctx, of, call.method.Path, grpc.ForceCodecV2(frames{}), grpc.MaxCallRecvMsgSize(maxResponse()))
	if err != nil {
		return nil, err
	}
	if !call.method.Requests {
		if err := call.send(stream); err != nil {
			return nil, err
		}
		return call.receive(ctx, stream, memory)
	}
	sent := make(chan struct{})
	go func() { // the server may answer, and wait, before it has read all requests
		defer close(sent)
		_ = call.send(stream) // the received answer contains the reason
	}()
	defer func() { stop(); <-sent }()
	return call.receive(ctx, stream, memory)
}

// send sends all requests. If the server does not accept them, its answer contains the reason.
func (call *grpcCall) send(stream grpc.ClientStream) error {
	for _, one := range call.requests {
		if err := stream.SendMsg(&one); err != nil && err != io.EOF {
			return err
		} else if err != nil {
			return nil
		}
	}
	return stream.CloseSend()
}

// receive returns the answer, or an array of all answers.
func (call *grpcCall) receive(ctx context.Context, stream grpc.ClientStream, memory interpreter.Memory) ([]byte, error) {
	var all bytes.Buffer
	reserved := false
	for n := 0; ; n++ {
		var frame []byte
		err := stream.RecvMsg(&frame)
		if err == io.EOF && call.method.Answers {
			if n == 0 {
				all.WriteByte('[')
			}
			return append(all.Bytes(), ']'), nil
		}
		if err != nil {
			return nil, err
		}
		if memory != nil && !reserved && all.Len()+len(frame) > unreserved { // flow control keeps the server from sending much more
			if err := memory.Reserve(ctx, int64(maxResponse())*perByte); err != nil {
				return nil, err
			}
			reserved = true
		}
		text, err := call.method.Answer(frame)
		if err != nil {
			return nil, errors.Communicationf("the answer of %s does not fit %s: %s", call.method.Path, call.method.Output, err)
		}
		if !call.method.Answers {
			return text, nil
		}
		all.WriteByte("[,"[min(n, 1)])
		if all.Write(text); all.Len() > maxResponse() {
			return nil, limits.Exceeded(limits.Response)
		}
	}
}

// decodeAnswers returns answers as data.
func decodeAnswers(ctx context.Context, body []byte, memory interpreter.Memory) (any, error) {
	if memory != nil && len(body) > unreserved {
		if err := memory.ReserveValues(ctx, int64(expr.DecodedSize(body))); err != nil {
			return nil, err
		}
	}
	result, err := expr.Decode(body)
	if err != nil {
		return nil, errors.Communicationf("the answer cannot be read: %s", err)
	}
	return result, nil
}

// frames passes messages on unchanged. The document of the call defines their meaning.
type frames struct{}

// Marshal implements encoding.CodecV2.
func (frames) Marshal(v any) (mem.BufferSlice, error) {
	return mem.BufferSlice{mem.SliceBuffer(*v.(*[]byte))}, nil
}

// Unmarshal implements encoding.CodecV2.
func (frames) Unmarshal(data mem.BufferSlice, v any) error {
	*v.(*[]byte) = data.Materialize()
	return nil
}

// Name implements encoding.CodecV2.
func (frames) Name() string { return "proto" }
