// Command grpc serves greet.Greeter, which examples/call_grpc.yaml calls.
package main

import (
	_ "embed"
	"fmt"
	"net"
	"os"

	"github.com/swrun/swrun/internal/grpctest"
)

//go:embed greet.proto
var proto string

func main() {
	l, err := net.Listen("tcp", "127.0.0.1:50051")
	if err == nil {
		fmt.Println("greet.Greeter is at", l.Addr())
		err = grpctest.New(nil, grpctest.Greeter(proto)).Serve(l)
	}
	fmt.Fprintln(os.Stderr, err)
	os.Exit(1)
}
