// Command oauth is an authority, and a service that requires its tokens or, by TLS, the certificate of a client. The examples of authentication call them.
package main

import (
	"fmt"
	"net/http"
	"os"

	"github.com/swrun/swrun/internal/oauthtest"
)

func main() {
	authority := oauthtest.New("http://localhost:8099", map[string]oauthtest.Client{"demo": {Secret: "demo-secret"}})
	mux := http.NewServeMux()
	mux.Handle("/", authority.Handler())
	mux.Handle("GET /pets", oauthtest.Pets(authority))
	fmt.Println("the authority and its pets are at", authority.Issuer)
	fmt.Fprintln(os.Stderr, http.ListenAndServe("localhost:8099", mux))
	os.Exit(1)
}
