package tasks_test

import (
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"strings"
	"syscall"
	"testing"

	"github.com/a2aproject/a2a-go/a2a"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/swrun/swrun/dsl"
	"github.com/swrun/swrun/errors"
	"github.com/swrun/swrun/internal/a2atest"
	"github.com/swrun/swrun/internal/brokers/brokertest"
	"github.com/swrun/swrun/internal/certtest"
	"github.com/swrun/swrun/internal/grpctest"
	"github.com/swrun/swrun/internal/oauthtest"
	"github.com/swrun/swrun/interpreter"
	"github.com/swrun/swrun/runtime/execution"
	"github.com/swrun/swrun/runtime/local"
	"github.com/swrun/swrun/tasks"
)

// authorityServer is an authority on this machine.
type authorityServer struct {
	*oauthtest.Server
	URL string
}

func mustAuthority(t *testing.T) *authorityServer {
	t.Helper()
	mux := http.NewServeMux()
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	a := &authorityServer{oauthtest.New(server.URL, map[string]oauthtest.Client{"app": {Secret: "s3cret-of-app"}}), server.URL}
	mux.Handle("/", a.Handler())
	return a
}

// policy returns the policy of a client of the authority.
func (a *authorityServer) policy() string {
	return fmt.Sprintf("{oauth2: {authority: '%s', grant: client_credentials, client: {id: app, secret: s3cret-of-app}}}", a.URL)
}

// accepts reports whether a request contains a token that is not the first one.
func (a *authorityServer) accepts(authorization string) bool {
	claims, err := a.Verify(authorization)
	return err == nil && claims.Number > 1
}

// TestRefusedTokens: every kind of call gets another token once if a server refuses the first one, and repeats the whole request.
func TestRefusedTokens(t *testing.T) {
	for name, call := range map[string]func(*testing.T, *authorityServer) (config tasks.Config, task string){
		"call http": func(t *testing.T, a *authorityServer) (tasks.Config, string) {
			return tasks.Config{}, fmt.Sprintf("call: http, with: {method: post, body: {a: 1}, endpoint: {uri: '%s/echo', authentication: %s}}", a.service(t), a.policy())
		},
		"call http, with redirects": func(t *testing.T, a *authorityServer) (tasks.Config, string) {
			return tasks.Config{}, fmt.Sprintf("call: http, with: {method: post, redirect: true, body: {a: 1}, endpoint: {uri: '%s/moved', authentication: %s}}", a.service(t), a.policy())
		},
		"the document of call openapi": func(t *testing.T, a *authorityServer) (tasks.Config, string) {
			config := tasks.Config{Transport: http.DefaultTransport, Load: tasks.Loader("test.yaml", tasks.Sources{Transport: http.DefaultTransport})}
			return config, fmt.Sprintf("call: openapi, with: {document: {endpoint: {uri: '%s/openapi.json', authentication: %s}}, operationId: ask}", a.service(t), a.policy())
		},
		"call mcp": func(t *testing.T, a *authorityServer) (tasks.Config, string) {
			return tasks.Config{}, fmt.Sprintf("call: mcp, with: {method: tools/list, transport: {http: {endpoint: {uri: '%s/mcp', authentication: %s}}}}", a.service(t), a.policy())
		},
		"call grpc": func(t *testing.T, a *authorityServer) (tasks.Config, string) {
			server := grpctest.New(nil)
			server.Allow = a.accepts
			t.Cleanup(server.Stop)
			load := describes(grpctest.Proto)
			return tasks.Config{Dial: server.Dial, Load: load}, "call: grpc, with: {proto: {endpoint: echo.proto}, service: {name: test.Echo, host: x, port: 5, authentication: " + a.policy() + "}, method: Say}"
		},
		"call asyncapi over http": func(t *testing.T, a *authorityServer) (tasks.Config, string) {
			at := strings.TrimPrefix(a.service(t), "http://")
			load := describes(`{"asyncapi": "3.0.0", "servers": {"s": {"host": "` + at + `", "protocol": "http"}}, "channels": {"echo": {"address": "echo"}}, "operations": {"send": {"action": "receive", "channel": {"$ref": "#/channels/echo"}}}}`)
			return tasks.Config{Load: load}, "call: asyncapi, with: {document: {endpoint: a.json}, operation: send, message: {payload: {a: 1}}, authentication: " + a.policy() + "}"
		},
	} {
		t.Run(name, func(t *testing.T) {
			a := mustAuthority(t)
			config, task := call(t, a)
			outcome := runDocument(t, config, "  - ask: {"+task+"}\n")
			if outcome.Fault != nil || len(a.Asked()) != 2 {
				t.Errorf("%v, with %d tokens", outcome.Fault, len(a.Asked()))
			}
		})
	}
}

// service is a server that refuses the first token of the authority.
func (a *authorityServer) service(t *testing.T) string {
	t.Helper()
	server := mcp.NewServer(&mcp.Implementation{Name: "x", Version: "1"}, nil)
	mux := http.NewServeMux()
	mux.Handle("/mcp", mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, nil))
	mux.HandleFunc("/moved", func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "/echo", http.StatusTemporaryRedirect)
	})
	mux.HandleFunc("/openapi.json", func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, `{"openapi": "3.0.3", "paths": {"/open": {"get": {"operationId": "ask"}}}}`)
	})
	mux.HandleFunc("/open", func(http.ResponseWriter, *http.Request) {})
	mux.HandleFunc("/echo", func(w http.ResponseWriter, r *http.Request) {
		if body, err := io.ReadAll(r.Body); err != nil || string(body) != `{"a":1}` {
			http.Error(w, "the body is "+string(body), http.StatusBadRequest)
		}
	})
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/open" && !a.accepts(r.Header.Get("Authorization")) {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		mux.ServeHTTP(w, r)
	}))
	t.Cleanup(s.Close)
	return s.URL
}

// TestTokensOfBrokers: an account contains a token, and another token if the first one is refused.
func TestTokensOfBrokers(t *testing.T) {
	broker, err := brokertest.NATS(t.TempDir(), "token-2")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(broker.Stop)
	asked := 0
	authority := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		asked++
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"access_token": "token-%d"}`, asked)
	}))
	t.Cleanup(authority.Close)
	load := describes(`{"asyncapi": "3.0.0", "servers": {"s": {"host": "` + broker.Address + `", "protocol": "nats"}}, "channels": {"echo": {"address": "echo"}}, "operations": {"send": {"action": "receive", "channel": {"$ref": "#/channels/echo"}}}}`)
	outcome := runDocument(t, tasks.Config{Load: load}, "  - ask: {call: asyncapi, with: {document: {endpoint: a.json}, operation: send, message: {payload: {a: 1}}, authentication: {oauth2: {authority: '"+authority.URL+"', grant: client_credentials, client: {id: a, secret: b}}}}}\n")
	if outcome.Fault != nil || asked != 2 {
		t.Errorf("%v, with %d tokens", outcome.Fault, asked)
	}
}

// TestOneTokenForManyCalls: simultaneous calls request one token, and later calls use it.
func TestOneTokenForManyCalls(t *testing.T) {
	a := mustAuthority(t)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if _, err := a.Verify(r.Header.Get("Authorization")); err != nil {
			w.WriteHeader(http.StatusUnauthorized)
		}
	}))
	t.Cleanup(server.Close)
	config := tasks.Config{Credentials: &tasks.Credentials{}}
	call := fmt.Sprintf("{call: http, with: {method: get, endpoint: {uri: '%s', authentication: %s}}}", server.URL, a.policy())
	branches := strings.Repeat("        - b: "+call+"\n", 20)
	for range 2 { // of the same process
		if outcome := runDocument(t, config, "  - all:\n      fork:\n        branches:\n"+branches); outcome.Fault != nil {
			t.Fatal(outcome.Fault)
		}
	}
	if asked := a.Asked(); len(asked) != 1 {
		t.Errorf("%d tokens were asked for", len(asked))
	}
}

// TestAuthorityThatMayNotBeCalled: the network policy applies to the authority, and the error names the need that another worker has to meet.
func TestAuthorityThatMayNotBeCalled(t *testing.T) {
	a := mustAuthority(t)
	refuse := func(_, address string, _ syscall.RawConn) error {
		if strings.HasSuffix(a.URL, address) {
			return &tasks.NotAllowedError{Detail: address + " may not be called here", Address: address}
		}
		return nil
	}
	transport := tasks.NewTransport(tasks.TransportConfig{Control: refuse})
	t.Cleanup(transport.CloseIdleConnections)
	outcome := runDocument(t, tasks.Config{Transport: transport}, fmt.Sprintf("  - ask: {call: http, with: {method: get, endpoint: {uri: 'http://127.0.0.1:1/', authentication: %s}}}\n", a.policy()))
	if f := outcome.Fault; f == nil || !errors.Same(f.Type, errors.Configuration) || !strings.Contains(f.Detail, "may not be called here") {
		t.Errorf("%v", f)
	}
}

// TestTimeoutCutsTheRequestOfAToken: the authority sees that the client no longer waits.
func TestTimeoutCutsTheRequestOfAToken(t *testing.T) {
	for _, scheme := range []string{"oauth2", "oidc"} {
		wantEnd(t, (*counterpart).listen, false, func(config tasks.Config, url, after string) execution.Outcome {
			return runDocument(t, config, fmt.Sprintf("  - ask: {timeout: {after: %s}, call: http, with: {method: get, endpoint: {uri: 'http://127.0.0.1:1/', authentication: {%s: {authority: '%s', grant: client_credentials, client: {id: a, secret: b}}}}}}\n", after, scheme, url))
		})
	}
}

// TestRequestsHoldNoTokens: the stored form of a call before its performance contains the policy, and nothing that was obtained with it.
func TestRequestsHoldNoTokens(t *testing.T) {
	a := mustAuthority(t)
	w, found := dsl.Parse("test.yaml", []byte(header+fmt.Sprintf("  - ask: {call: http, with: {method: get, endpoint: {uri: '%s/open', authentication: %s}}}\n", a.service(t), a.policy())))
	if err := found.Err(); err != nil {
		t.Fatal(err)
	}
	var bodies []string
	kinds := tasks.All(tasks.Config{})
	for i, kind := range kinds {
		if perform := kind.Perform; kind.Kind == dsl.KindCallHTTP {
			kinds[i].Perform = func(ctx context.Context, r interpreter.Request) (any, error) {
				result, err := perform(ctx, r)
				r.Prepared = nil // as after it was stored
				if err == nil {
					result, err = perform(ctx, r)
				}
				bodies = append(bodies, string(r.Body))
				return result, err
			}
		}
	}
	p, found := interpreter.Compile(w, interpreter.Config{Kinds: kinds})
	if err := found.Err(); err != nil {
		t.Fatal(err)
	}
	outcome, err := local.Run(context.Background(), p, nil, local.Config{})
	if err != nil || outcome.Fault != nil {
		t.Fatal(err, outcome.Fault)
	}
	if text := strings.Join(bodies, ""); text == "" || strings.Contains(text, "eyJ") || strings.Contains(text, "openID") {
		t.Errorf("got %s", text)
	}
}

func mustCertificates(t *testing.T, name string) *certtest.Authority {
	t.Helper()
	a, err := certtest.New(name)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// mustSettings returns the settings of a server that requires certificates of the authority.
func mustSettings(t *testing.T, a *certtest.Authority) *tls.Config {
	t.Helper()
	settings, err := a.Server()
	if err != nil {
		t.Fatal(err)
	}
	return settings
}

// mustClients returns the secrets of two clients, of a client without a certificate that the server trusts, and of some invalid clients.
func mustClients(t *testing.T, c *certtest.Authority) interpreter.Secrets {
	t.Helper()
	all := map[string]any{"text": "a", "none": map[string]any{}, "broken": map[string]any{"certificate": "-----BEGIN CERTIFICATE-----\nabc", "key": "s3cret-key"}}
	for name, issuer := range map[string]*certtest.Authority{"ada": c, "bob": c, "eve": mustCertificates(t, "ours"), "mallory": mustCertificates(t, "theirs")} {
		secret, err := issuer.Secret(name)
		if err != nil {
			t.Fatal(err)
		}
		secret["authority"] = c.PEM
		all[name] = secret
	}
	ada := all["ada"].(map[string]any)
	all["alone"] = map[string]any{"certificate": ada["certificate"], "key": ada["key"]} // a client that trusts no server of a private authority
	all["mixed"] = map[string]any{"certificate": ada["certificate"], "key": all["bob"].(map[string]any)["key"]}
	return func(name string) (any, bool) { v, ok := all[name]; return v, ok }
}

// TestCertificates: a call opens its connections with the certificate that its policy names, and never uses the connections of another certificate.
func TestCertificates(t *testing.T) {
	c := mustCertificates(t, "ours")
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, r.TLS.PeerCertificates[0].Subject.CommonName+" "+r.Header.Get("Authorization"))
	}))
	server.TLS, server.Config.ErrorLog = mustSettings(t, c), log.New(io.Discard, "", 0)
	server.StartTLS()
	t.Cleanup(server.Close)
	transport := tasks.NewTransport(tasks.TransportConfig{})
	t.Cleanup(transport.CloseIdleConnections)
	proofs := &tasks.Credentials{}
	t.Cleanup(proofs.Close)
	config := tasks.Config{Transport: transport, Credentials: proofs, Secrets: mustClients(t, c)}
	for _, one := range []struct{ secret, url, want, fault string }{
		{"ada", server.URL, "ada ", ""}, {"bob", server.URL, "bob ", ""}, {"ada", server.URL, "ada ", ""},
		{"eve", server.URL, "", "does not accept the certificate"}, {"mallory", server.URL, "", "wants a certificate"}, {"alone", server.URL, "", "communication"},
		{"mixed", server.URL, "", "do not make a pair"}, {"text", server.URL, "", "must be an object"}, {"none", server.URL, "", "needs a certificate"}, {"broken", server.URL, "", "do not make a pair"},
		{"ada", "http://127.0.0.1:1", "", "without TLS"}, {"gone", server.URL, "", "not available"},
	} {
		outcome := runDocument(t, config, fmt.Sprintf("  - ask: {call: http, with: {method: get, endpoint: {uri: '%s', authentication: {certificate: {use: %s}}}}}\nuse: {secrets: [%[2]s]}\n", one.url, one.secret))
		if one.fault == "" && (outcome.Fault != nil || outcome.Output != one.want) || one.fault != "" && (outcome.Fault == nil || !strings.Contains(outcome.Fault.Error(), one.fault)) {
			t.Errorf("%s: %v, %v", one.secret, outcome.Output, outcome.Fault)
		}
	}
	outcome := runDocument(t, config, "  - ask: {call: http, with: {method: get, endpoint: '"+server.URL+"'}}\n")
	if outcome.Fault == nil {
		t.Error("a call without a policy uses the connection of another one")
	}
}

// TestCertificatesOfTheOtherKinds: MCP, A2A, gRPC, and documents that are read use certificates too.
func TestCertificatesOfTheOtherKinds(t *testing.T) {
	c := mustCertificates(t, "ours")
	server := mcp.NewServer(&mcp.Implementation{Name: "x", Version: "1"}, nil)
	mux := http.NewServeMux()
	mux.Handle("/mcp", mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, nil))
	mux.HandleFunc("/echo.proto", func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, grpctest.Proto) })
	guarded := httptest.NewUnstartedServer(mux)
	guarded.TLS, guarded.Config.ErrorLog = mustSettings(t, c), log.New(io.Discard, "", 0)
	guarded.StartTLS()
	t.Cleanup(guarded.Close)
	card := a2atest.Card(guarded.URL)
	card.SecuritySchemes = a2a.NamedSecuritySchemes{"mine": a2a.MutualTLSSecurityScheme{}}
	card.Security = []a2a.SecurityRequirements{{"mine": nil}}
	mux.Handle("/", a2atest.New(card))
	services := grpctest.New(mustSettings(t, c))
	t.Cleanup(services.Stop)
	transport := tasks.NewTransport(tasks.TransportConfig{})
	t.Cleanup(transport.CloseIdleConnections)
	config := tasks.Config{Transport: transport, Dial: services.Dial, Secrets: mustClients(t, c), Load: tasks.Loader("test.yaml", tasks.Sources{Transport: transport})}
	for _, task := range []string{
		"call: mcp, with: {method: tools/list, transport: {http: {endpoint: {uri: URL/mcp, authentication: {certificate: {use: CLIENT}}}}}}",
		"call: a2a, with: {method: message/send, agentCard: {endpoint: {uri: URL/.well-known/agent-card.json, authentication: {certificate: {use: CLIENT}}}}, parameters: {message: {parts: [{kind: text, text: Ada}]}}}",
		"call: grpc, with: {proto: {endpoint: {uri: URL/echo.proto, authentication: {certificate: {use: CLIENT}}}}, service: {name: test.Echo, host: 127.0.0.1, authentication: {certificate: {use: CLIENT}}}, method: Say}",
	} {
		for _, client := range []string{"ada", "eve", "mallory"} {
			outcome := runDocument(t, config, strings.NewReplacer("URL", guarded.URL, "CLIENT", client).Replace("  - ask: {"+task+"}\nuse: {secrets: [CLIENT]}\n"))
			if client == "ada" && outcome.Fault != nil || client != "ada" && !isUnauthenticated(outcome.Fault) {
				t.Errorf("%s: %s: %v", client, task, outcome.Fault)
			}
		}
	}
	plain := runDocument(t, config, "  - ask: {call: grpc, with: {proto: {endpoint: {uri: "+guarded.URL+"/echo.proto, authentication: {certificate: {use: ada}}}}, service: {name: test.Echo, host: 127.0.0.1, port: 5, authentication: {certificate: {use: ada}}}, method: Say}}\nuse: {secrets: [ada]}\n")
	if plain.Fault == nil || !strings.Contains(plain.Fault.Detail, "without TLS") {
		t.Errorf("%v", plain.Fault)
	}

}

// isUnauthenticated reports whether a task failed because a service did not accept its identity.
func isUnauthenticated(fault *errors.Error) bool {
	return fault != nil && fault.Type == errors.Authentication && fault.Status == http.StatusUnauthorized
}

// TestCertificatesOfBrokers: a broker gets the certificate that a policy names. A client that is not admitted, and a broker that is not trusted, are
// errors of the task.
func TestCertificatesOfBrokers(t *testing.T) {
	for name, protocol := range map[string]string{"kafka": "kafka-secure", "nats": "nats", "mqtt": "mqtts", "mqtt5": "secure-mqtt", "redis": "rediss", "ws": "wss"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := mustCertificates(t, "ours")
			broker, err := brokertest.Secured(name, t.TempDir(), c)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(broker.Stop)
			load := describes(fmt.Sprintf(`{"asyncapi": "3.0.0", "servers": {"s": {"host": "%s", "protocol": "%s"}}, "channels": {"orders": {"address": "orders"}},
					"operations": {"send": {"action": "receive", "channel": {"$ref": "#/channels/orders"}}, "take": {"action": "send", "channel": {"$ref": "#/channels/orders"}}}}`, broker.Address, protocol))
			config := tasks.Config{Secrets: mustClients(t, c), Load: load}
			call := "{call: asyncapi, with: {document: {endpoint: a.json}, protocol: " + name + ", authentication: {certificate: {use: CLIENT}}, "
			send, take := call+"operation: send, message: {payload: {a: 1}}}}", call+"operation: take, subscription: {consume: {amount: 1}}}}"
			as := func(client, do string) *errors.Error {
				return runDocument(t, config, strings.ReplaceAll(do+"use: {secrets: [CLIENT]}\n", "CLIENT", client)).Fault
			}
			both := "  - both: {fork: {compete: true, branches: [{take: " + take + "}, {send: {for: {in: '${ [range(500)] }'}, do: [{one: " + send + "}, {pause: {wait: {milliseconds: 20}}}]}}]}}\n"
			if fault := as("ada", both); fault != nil {
				t.Error(fault)
			}
			for client, want := range map[string]string{"eve": errors.Authentication, "mallory": errors.Authentication, "alone": errors.Communication} {
				for _, one := range []string{send, take} {
					if fault := as(client, "  - ask: "+one+"\n"); fault == nil || fault.Type != want {
						t.Errorf("%s: %s: %v", client, one, fault)
					}
				}
			}
		})
	}
}
