package faults

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/swrun/swrun/internal/enginetest"
	"github.com/swrun/swrun/internal/grpctest"
	"github.com/swrun/swrun/internal/pacetest"
	"github.com/swrun/swrun/interpreter"
)

// kindMark is in the command line of every process of these tests.
const kindMark = "swrun-kinds-7431"

// kinds are the kinds of effects, as branches of a fork. Calls reach the sink, with their key; @NOTE writes the value of KEY in its environment into
// a file, and takes its time.
const kinds = `
- http: {call: http, with: {method: get, endpoint: '@SINK/http'}}
- openapi: {call: openapi, with: {document: {endpoint: sink.yaml}, operationId: get, parameters: {n: openapi}}}
- grpc: {call: grpc, with: {proto: {endpoint: sink.proto}, service: {name: sink.Sink, host: 127.0.0.1, port: @GRPC}, method: Note}}
- mcp: {call: mcp, with: {method: tools/call, parameters: {name: note, arguments: {}}, transport: {http: {endpoint: '@MCP'}}}}
- function: {call: 'http://functions.invalid/note.yaml'}
- shell: {run: {shell: {command: '@NOTE', environment: {KEY: '${ $workflow.id + "/shell/" + (.round | tostring) }'}}}}
- script: {run: {script: {language: python, code: 'import subprocess; subprocess.run(["sh", "-c", """@NOTE"""])', environment: {KEY: '${ $workflow.id + "/script/" + (.round | tostring) }'}}}}
- container: {run: {container: {image: alpine, command: '@NOTE', environment: {KEY: '${ $workflow.id + "/container/" + (.round | tostring) }'}, lifetime: {cleanup: always}}}}
`

// The calls and the processes among kinds.
const callKinds, processKinds = 5, 3

// TestKinds (F1, F9): while effects of all kinds are in flight, the worker is killed, stopped for longer than its lease, and cut off from Redis.
// Nothing is lost and nothing is committed twice; an effect that is begun again has the key of the first time; and no process and no container is
// left running. The first attempt at each effect ends only after the fault, on a machine of any speed.
func TestKinds(t *testing.T) {
	engine := enginetest.New()
	socket := filepath.Join(t.TempDir(), "engine.sock")
	stop, err := engine.Listen(socket)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(stop)
	t.Setenv("DOCKER_HOST", "unix://"+socket)
	w := newWorld(t, 800*time.Millisecond)
	notes := filepath.Join(t.TempDir(), "notes")
	harms := []func(*worker){
		func(k *worker) { k.kill() },
		func(k *worker) {
			w.signal(k, syscall.SIGSTOP)
			time.Sleep(lease + 500*time.Millisecond)
			w.signal(k, syscall.SIGCONT)
		},
		func(*worker) {
			w.proxy.cut.Store(true)
			w.proxy.reset()
			time.Sleep(lease + 500*time.Millisecond)
			w.proxy.cut.Store(false)
		},
	}
	const runs = 2
	w.sink.hold()
	w.startKinds(runs, len(harms), notes)
	work := func() *worker { return w.work("--allow-processes", "--allow-containers") }
	current := work()
	for round, harm := range harms {
		for w.progressed() < callKinds*(round+1)*runs || len(noted(notes)) < processKinds*(round+1)*runs {
			time.Sleep(5 * time.Millisecond)
		}
		next := work()
		harm(current)
		w.sink.hold()() // holds the calls of the next round, and releases the calls of this one
		if err := os.WriteFile(fmt.Sprintf("%s.%d", notes, round), nil, 0o600); err != nil {
			t.Fatal(err)
		}
		current = next
	}
	w.settle(pacetest.Patience)
	w.audit(interpreter.StatusCompleted, nil)
	keys, again := w.sink.counts()
	begun := noted(notes)
	if keys != callKinds*runs*len(harms) || len(begun) != processKinds*runs*len(harms) {
		t.Errorf("%d different calls and %d processes, want %d and %d of each of %d rounds", keys, len(begun), callKinds*runs, processKinds*runs, len(harms))
	}
	processes := -len(begun)
	for _, n := range begun {
		processes += n
	}
	if t.Logf("%d calls and %d processes were repeated", again, processes); again == 0 || processes == 0 {
		t.Error("nothing was repeated: nothing was tested")
	}
	w.verifyNothingRuns(engine)
}

// startKinds starts runs that perform effects of all kinds, in rounds.
func (w *world) startKinds(n, rounds int, notes string) {
	w.Helper()
	const proto = "syntax = 'proto3'; package sink; message Nothing {} service Sink { rpc Note(Nothing) returns (Nothing); }"
	note := fmt.Sprintf(`first=$(grep -sx "$KEY" %[1]s | head -n 1); echo "$KEY" >> %[1]s; while [ -z "$first" ] && [ ! -e "%[1]s.${KEY##*/}" ]; do sleep 0.05; done; : %[2]s`, notes, kindMark)
	branches := strings.NewReplacer("@GRPC", w.sink.serveGRPC(w.T, proto), "@MCP", w.sink.serveMCP(w.T), "@NOTE", note).Replace(kinds)
	w.startWith(n, fmt.Sprintf("do:\n- all:\n    for: {each: round, in: '${ [range(%d)] }'}\n    do:\n    - kinds:\n        input: {from: '${ {round: $round} }'}\n        fork:\n          branches: %s\n",
		rounds, strings.ReplaceAll(branches, "\n", "\n          ")), map[string]string{
		"sink.proto": proto, "http://functions.invalid/note.yaml": "{call: http, with: {method: get, endpoint: '@SINK/function'}}",
	})
}

// serveGRPC makes the sink available over gRPC, and returns the port.
func (s *sink) serveGRPC(t *testing.T, proto string) (port string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := grpctest.New(nil, grpctest.Service{Proto: proto, Handlers: map[string]grpctest.Handler{"Note": func(stream *grpctest.Stream) error {
		if _, err := stream.Receive(); err != nil {
			return err
		}
		s.take(stream.Context(), s.note(stream.Came("idempotency-key"), request{path: "/grpc", attempt: stream.Came("x-swrun-attempt"), at: time.Now()}))
		return stream.Answer(map[string]any{})
	}}})
	go func() { _ = server.Serve(l) }() // until it is stopped
	t.Cleanup(server.Stop)
	_, port, _ = net.SplitHostPort(l.Addr().String()) // a host and a port
	return port
}

// serveMCP makes the sink available as a tool, and returns the URL of its server.
func (s *sink) serveMCP(t *testing.T) (url string) {
	t.Helper()
	tools := mcp.NewServer(&mcp.Implementation{Name: "sink", Version: "1"}, nil)
	mcp.AddTool(tools, &mcp.Tool{Name: "note"}, func(ctx context.Context, r *mcp.CallToolRequest, _ map[string]any) (*mcp.CallToolResult, any, error) {
		s.take(ctx, s.note(r.Extra.Header.Get("Idempotency-Key"), request{path: "/mcp", attempt: r.Extra.Header.Get("X-Swrun-Attempt"), at: time.Now()}))
		return nil, nil, nil
	})
	server := httptest.NewServer(mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return tools }, nil))
	t.Cleanup(func() { server.CloseClientConnections(); server.Close() })
	return server.URL
}

// noted returns the notes of processes, with their numbers.
func noted(file string) map[string]int {
	all := map[string]int{}
	data, _ := os.ReadFile(file) // the file is missing before the first note
	for line := range strings.Lines(string(data)) {
		all[line]++
	}
	return all
}

// verifyNothingRuns fails unless the processes and the containers of all attempts are ended. Those of a lost worker end soon after it, or when the
// next worker begins.
func (w *world) verifyNothingRuns(engines ...*enginetest.Engine) {
	w.Helper()
	all := func() (found []string) {
		found = running(kindMark)
		for _, engine := range engines {
			for _, c := range engine.All() {
				if c.State == "running" {
					found = append(found, c.Name)
				}
			}
		}
		return found
	}
	for end := time.Now().Add(pacetest.Patience); len(all()) > 0; time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			w.Fatalf("still running: %q", all())
		}
	}
}

// running returns the processes of this machine with a text in their command line.
func running(text string) (found []string) {
	files, _ := filepath.Glob("/proc/[0-9]*/cmdline") // the pattern is valid
	for _, file := range files {
		if line, err := os.ReadFile(file); err == nil && strings.Contains(string(line), text) {
			found = append(found, string(line))
		}
	}
	return found
}
