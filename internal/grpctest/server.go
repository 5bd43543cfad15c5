// Package grpctest contains a gRPC server for tests and examples. Its services are described by .proto texts, and implemented without generated code.
package grpctest

import (
	"bytes"
	"context"
	"crypto/tls"
	_ "embed"
	"encoding/json"
	"io"
	"net"
	"strconv"
	"strings"
	"time"

	"github.com/bufbuild/protocompile"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/grpc/test/bufconn"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/dynamicpb"
)

// Proto describes the service test.Echo.
//
//go:embed echo.proto
var Proto string

// Server serves test.Echo, and the services that a test adds.
type Server struct {
	*grpc.Server
	inMemory *bufconn.Listener

	// Allow decides by the authorization whether a call is answered; nil answers every call.
	Allow func(authorization string) bool

	Began, Cut chan struct{} // receive a value when Wait has begun, and when its caller is gone
}

// Service is another service of a server, the only one of a .proto text.
type Service struct {
	Proto    string
	Handlers map[string]Handler // by the name of the method; all other methods return Unimplemented
}

// Greeter is the service of a .proto text whose method SayHello answers a name with a message.
func Greeter(proto string) Service {
	return Service{proto, map[string]Handler{"SayHello": func(s *Stream) error {
		asked, err := s.Receive()
		if err != nil {
			return err
		}
		name, _ := asked["name"].(string) // absent if it is empty
		return s.Answer(map[string]any{"message": "Hello, " + name})
	}}}
}

// New returns a server; with a configuration of TLS, it speaks TLS. The caller must stop it.
func New(secured *tls.Config, more ...Service) *Server {
	s := &Server{}
	options := []grpc.ServerOption{grpc.StreamInterceptor(s.guard)}
	if secured != nil {
		options = append(options, grpc.Creds(credentials.NewTLS(secured)))
	}
	const buffer = 64 << 10
	*s = Server{Server: grpc.NewServer(options...), inMemory: bufconn.Listen(buffer), Began: make(chan struct{}, 1), Cut: make(chan struct{}, 1)}
	echo := Service{Proto, map[string]Handler{
		"Say": say, "Fail": fail, "Types": types, "Count": count, "Sum": sum, "Chat": chat, "Wait": s.wait, "Flood": flood,
	}}
	for _, one := range append(more, echo) {
		s.add(one)
	}
	go func() { _ = s.Serve(s.inMemory) }() // it ends when the server is stopped
	return s
}

// Dial connects to the server in memory, for any address.
func (s *Server) Dial(ctx context.Context, _, _ string) (net.Conn, error) {
	return s.inMemory.DialContext(ctx)
}

// guard answers only allowed calls.
func (s *Server) guard(of any, stream grpc.ServerStream, _ *grpc.StreamServerInfo, handle grpc.StreamHandler) error {
	came, _ := metadata.FromIncomingContext(stream.Context()) // empty without metadata
	if s.Allow != nil && !s.Allow(strings.Join(came.Get("authorization"), "")) {
		return status.Error(codes.Unauthenticated, "who is it?")
	}
	return handle(of, stream)
}

// Stream is one call.
type Stream struct {
	grpc.ServerStream
	method protoreflect.MethodDescriptor
}

// Handler answers a call of any kind.
type Handler func(*Stream) error

func (s *Server) add(one Service) {
	service := describe(one.Proto)
	of := &grpc.ServiceDesc{ServiceName: string(service.FullName()), HandlerType: (*any)(nil)}
	for i := range service.Methods().Len() {
		m := service.Methods().Get(i)
		handle := one.Handlers[string(m.Name())]
		if handle == nil {
			continue // it is unimplemented
		}
		of.Streams = append(of.Streams, grpc.StreamDesc{
			StreamName: string(m.Name()), ClientStreams: true, ServerStreams: true,
			Handler: func(_ any, stream grpc.ServerStream) error { return handle(&Stream{stream, m}) },
		})
	}
	s.RegisterService(of, nil)
}

// describe compiles a text with one service.
func describe(proto string) protoreflect.ServiceDescriptor {
	compiler := protocompile.Compiler{Resolver: protocompile.WithStandardImports(&protocompile.SourceResolver{
		Accessor: protocompile.SourceAccessorFromMap(map[string]string{"test.proto": proto}),
	})}
	files, err := compiler.Compile(context.Background(), "test.proto")
	if err != nil {
		panic(err) // the text of the test is wrong
	}
	return files[0].Services().Get(0)
}

// Receive returns the next request as JSON; io.EOF after the last one.
func (s *Stream) Receive() (map[string]any, error) {
	m := dynamicpb.NewMessage(s.method.Input())
	if err := s.RecvMsg(m); err != nil {
		return nil, err
	}
	text, err := protojson.Marshal(m)
	if err != nil {
		return nil, err
	}
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	v := map[string]any{}
	return v, decoder.Decode(&v)
}

// Answer sends an answer that is given as JSON.
func (s *Stream) Answer(v any) error {
	text, err := json.Marshal(v)
	if err != nil {
		return err
	}
	m := dynamicpb.NewMessage(s.method.Output())
	if err := protojson.Unmarshal(text, m); err != nil {
		return err
	}
	return s.SendMsg(m)
}

// Came returns the metadata of a name, or an empty text.
func (s *Stream) Came(name string) string {
	came, _ := metadata.FromIncomingContext(s.Context())
	if values := came.Get(name); len(values) > 0 {
		return values[0]
	}
	return ""
}

// all returns all requests.
func (s *Stream) all() (all []map[string]any, err error) {
	for {
		v, err := s.Receive()
		if err == io.EOF {
			return all, nil
		}
		if err != nil {
			return nil, err
		}
		all = append(all, v)
	}
}

// say answers with its input, and with the metadata.
func say(s *Stream) error {
	v, err := s.Receive()
	if err != nil {
		return err
	}
	name, _ := v["name"].(string) // absent if it is empty
	_, deadline := s.Context().Deadline()
	return s.Answer(map[string]any{
		"text": "Hello, " + name, "authorization": s.Came("authorization"), "authority": s.Came(":authority"),
		"keyed": s.Came("idempotency-key") != "", "attempt": s.Came("x-swrun-attempt"), "deadline": deadline, "key": s.Came("idempotency-key"),
	})
}

// fail fails with the requested code.
func fail(s *Stream) error {
	v, err := s.Receive()
	if err != nil {
		return err
	}
	var code struct{ Code uint32 }
	text, _ := json.Marshal(v) // it comes from JSON
	if err := json.Unmarshal(text, &code); err != nil {
		return err
	}
	return status.Errorf(codes.Code(code.Code), "%v", v["message"])
}

// types answers with its input.
func types(s *Stream) error {
	m := dynamicpb.NewMessage(s.method.Input())
	if err := s.RecvMsg(m); err != nil {
		return err
	}
	return s.SendMsg(m)
}

// count counts, and then fails on request.
func count(s *Stream) error {
	v, err := s.Receive()
	if err != nil {
		return err
	}
	to, _ := v["to"].(json.Number) // absent if it is 0
	n, _ := to.Int64()
	for i := range n {
		if err := s.Answer(map[string]any{"n": i + 1}); err != nil {
			return err
		}
	}
	if v["fails"] == true {
		return status.Error(codes.DataLoss, "the rest is lost")
	}
	return nil
}

// sum adds up its inputs.
func sum(s *Stream) error {
	all, err := s.all()
	if err != nil {
		return err
	}
	var total int64
	for _, v := range all {
		n, _ := v["n"].(string) // absent if it is 0
		one, _ := strconv.ParseInt(n, 10, 64)
		total += one
	}
	return s.Answer(map[string]any{"n": total})
}

// chat answers each message with the same message.
func chat(s *Stream) error {
	for {
		v, err := s.Receive()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		if err := s.Answer(v); err != nil {
			return err
		}
	}
}

// wait never answers.
func (s *Server) wait(stream *Stream) error {
	tell(s.Began)
	<-stream.Context().Done()
	tell(s.Cut)
	return stream.Context().Err()
}

func tell(whoever chan struct{}) {
	select {
	case whoever <- struct{}{}:
	default: // the channel has a value already
	}
}

// flood answers without end.
func flood(s *Stream) error {
	for {
		if err := s.Answer(map[string]any{"n": time.Now().UnixNano()}); err != nil {
			return err
		}
	}
}
