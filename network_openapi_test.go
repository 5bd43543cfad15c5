package swrun

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/swrun/swrun/errors"
)

// TestServersThatAreNotAllowed: the policy applies to the servers that a document names, and to the servers from which documents are read. A
// forbidden server gets no connection (reliability B32, B33, B37, B42).
func TestServersThatAreNotAllowed(t *testing.T) {
	var reached atomic.Int64
	canary := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { reached.Add(1) }))
	defer canary.Close()
	port := canary.URL[strings.LastIndexByte(canary.URL, ':'):]
	const head = "document: {dsl: 1.0.3, namespace: test, name: a, version: 1.0.0}\n"
	call := func(document string) string {
		return head + "do: [{a: {call: openapi, with: {document: {endpoint: " + document + "}, operationId: x}}}]\n"
	}
	for _, policy := range []string{NetworkDeny, NetworkPublic} {
		for _, host := range []string{"127.0.0.1" + port, "localhost" + port, "[::ffff:127.0.0.1]" + port, "169.254.169.254", "user:pass@127.0.0.1" + port} {
			for what, text := range map[string]string{
				"a server":           call("pets.yaml"),
				"a document":         call(`'${ "http://` + host + `/openapi.yaml" }'`),
				"a guarded document": call(`{uri: 'http://` + host + `/openapi.yaml', authentication: {bearer: {token: t}}}`),
			} {
				d, err := Parse("", []byte(text))
				if err != nil {
					t.Fatal(err)
				}
				d.Resources = map[string][]byte{"pets.yaml": []byte("{openapi: 3.1.0, servers: [{url: 'http://" + host + "'}], paths: {/x: {get: {operationId: x}}}}")}
				_, err = d.Run(t.Context(), nil, RunConfig{Host: Host{Network: policy}})
				fault := errors.AsError(err)
				if fault == nil || !errors.Same(fault.Type, errors.Configuration) || !strings.Contains(fault.Detail, "may not be called here") || strings.Contains(fault.Detail, "pass@") {
					t.Errorf("%s at %s with %s: %v, want a configuration error", what, host, policy, err)
				}
			}
		}
	}
	if n := reached.Load(); n > 0 {
		t.Errorf("the canary was reached %d times", n)
	}
}
