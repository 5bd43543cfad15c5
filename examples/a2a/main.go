// Command a2a serves an agent, which examples/call_a2a.yaml calls.
package main

import (
	"fmt"
	"net"
	"net/http"
	"os"

	"github.com/swrun/swrun/internal/a2atest"
)

func main() {
	l, err := net.Listen("tcp", "127.0.0.1:9001")
	if err == nil {
		fmt.Println("the agent is at", l.Addr())
		err = http.Serve(l, a2atest.New(a2atest.Card("http://localhost:9001")))
	}
	fmt.Fprintln(os.Stderr, err)
	os.Exit(1)
}
