package tasks

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/swrun/swrun/errors"
	"github.com/swrun/swrun/process"
)

// startServer starts a server for the call and calls it over its standard input and output. If the server ends because it does not know the newest
// version of the protocol, it starts the server once more and asks for an older version.
func (p *mcpPerformer) startServer(ctx context.Context, request *mcpRequest) (json.RawMessage, error) {
	if p.config.Processes == nil {
		return nil, errNoProcesses()
	}
	result, outdated, err := p.startOnce(ctx, request)
	if outdated && ctx.Err() == nil {
		older := *request
		older.Version = lastWithSessions
		result, _, err = p.startOnce(ctx, &older)
	}
	return result, err
}

// lastWithSessions is the last version of the protocol that begins with `initialize`.
const lastWithSessions = "2025-11-25"

// maxSilence is the default maximum silence of a server after its start, when it is asked for its versions. The server may have to be loaded first.
const maxSilence = 30 * time.Second

// startOnce runs the server below a supervisor, as all processes do, so that it ends with the call and with this process. It reports whether the
// server probably ended because of the version: it sent nothing in answer to the first request.
func (p *mcpPerformer) startOnce(ctx context.Context, request *mcpRequest) (result json.RawMessage, outdated bool, err error) {
	name := request.Command[0]
	path, err := exec.LookPath(name)
	if err != nil {
		return nil, false, errors.Configurationf("%s cannot be started: %s", name, cause(err))
	}
	pipes, err := openPipes()
	if err != nil {
		return nil, false, err
	}
	defer pipes.close()
	running, end := context.WithCancel(ctx)
	over := make(chan endedServer, 1)
	go func() {
		// The shell connects the server with the pipes, and becomes the server.
		argv := append([]string{"sh", "-c", `exec "$@" <"$0/in" >"$0/out"`, pipes.folder, path}, request.Command[1:]...)
		end, err := p.config.run(running, name, process.Job{Path: "/bin/sh", Arguments: argv, Environment: environment(request.Environment)})
		pipes.close() // ends the waiting for an answer
		over <- endedServer{end, err}
	}()
	exact := &exactTransport{method: request.Method, patience: cmp.Or(p.config.Silence, maxSilence),
		Transport: &mcp.IOTransport{Reader: pipes.out, Writer: pipes.in, MaxLineLength: maxResponse()}}
	result, err = request.converse(ctx, exact, end)
	end()
	died := <-over
	if err == nil || ctx.Err() != nil {
		return result, false, err
	}
	for _, why := range []*errors.Error{mcpFailure(err), errors.AsError(died.err)} {
		if why != nil {
			return nil, false, why
		}
	}
	if died.err == nil { // without an order to end
		return nil, exact.probing().IsValid(), died.failure(name, request.Method)
	}
	return nil, false, errors.Communicationf("%s of %s: %s", request.Method, name, cut(cause(err)))
}

// endedServer describes the end of a server that swrun started.
type endedServer struct {
	ended
	err error
}

// failure returns the error of a call that the server did not answer. It quotes the standard error of the server.
func (e endedServer) failure(name, method string) *errors.Error {
	text := fmt.Sprintf("%s has ended with exit code %d, and has not answered %s", name, e.code, method)
	if said := strings.TrimSpace(e.stderr); said != "" {
		text += ": " + ends(said)
	}
	return errors.Communicationf("%s", text)
}

// namedPipes connect this process with a server.
type namedPipes struct {
	folder  string // with no other content
	in, out *os.File
}

// openPipes makes the pipes. They are opened for both directions, so that neither side waits for the other.
func openPipes() (p namedPipes, err error) {
	if p.folder, err = os.MkdirTemp("", "swrun-mcp-"); err != nil {
		return p, err
	}
	for name, file := range map[string]**os.File{"in": &p.in, "out": &p.out} {
		at := filepath.Join(p.folder, name)
		if err = syscall.Mkfifo(at, 0o600); err == nil {
			*file, err = os.OpenFile(at, os.O_RDWR|syscall.O_NONBLOCK, 0)
		}
		if err != nil {
			p.close()
			return p, err
		}
	}
	return p, nil
}

// close closes and removes them. It may be called again.
func (p namedPipes) close() {
	_ = os.RemoveAll(p.folder) // of the temporary folder
	for _, file := range []*os.File{p.in, p.out} {
		if file != nil {
			_ = file.Close() // it may be closed
		}
	}
}
