package conformance

import (
	"context"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"

	"github.com/swrun/swrun/internal/grpctest"
)

// greeterDocument is the document that the specification's example names.
const greeterDocument = `syntax = "proto3";
package GreeterApi;
service Greeter { rpc SayHello(HelloRequest) returns (HelloReply); }
message HelloRequest { string name = 1; }
message HelloReply { string message = 1; }
`

// grpcServer serves all services that cases call. It runs as long as the tests.
var grpcServer = sync.OnceValue(func() *grpctest.Server {
	return grpctest.New(nil, grpctest.Greeter(greeterDocument))
})

// dialOutside connects with the server of gRPC and with the brokers.
func dialOutside(ctx context.Context, network, address string) (net.Conn, error) {
	if strings.HasPrefix(address, "grpc.test:") || address == "localhost:5011" { // used by the specification's example
		return grpcServer().Dial(ctx, network, address)
	}
	return brokers.dial(ctx, network, address)
}

// calledByGRPC answers for the documents of services.
func calledByGRPC(mux *http.ServeMux) {
	mux.HandleFunc("grpc.test/echo.proto", func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, grpctest.Proto) })
}
