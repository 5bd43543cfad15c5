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

// startServer calls a server that is started for it, over its standard input and output. One that ends because it does not know the newest version of
// the protocol is started once more, and asked for an older one.
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

// maxSilence is how long a server that was started may say nothing when it is asked which versions it speaks, unless the configuration says
// otherwise: it may have to be loaded first.
const maxSilence = 30 * time.Second

// startOnce runs the server below a supervisor, as all processes do: it ends with the call, and with this process. It reports whether the server has
// ended because of the version, as far as that can be known: it said nothing to the first question.
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
		pipes.close() // whoever waits for an answer waits no more
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
	if died.err == nil { // by itself, before it was told to
		return nil, exact.probing().IsValid(), died.failure(name, request.Method)
	}
	return nil, false, errors.Communicationf("%s of %s: %s", request.Method, name, cut(cause(err)))
}

// endedServer is how a server that was started has ended.
type endedServer struct {
	ended
	err error
}

// failure is the error of a call that the server has not answered; it quotes what that has written to standard error.
func (e endedServer) failure(name, method string) *errors.Error {
	text := fmt.Sprintf("%s has ended with exit code %d, and has not answered %s", name, e.code, method)
	if said := strings.TrimSpace(e.stderr); said != "" {
		text += ": " + ends(said)
	}
	return errors.Communicationf("%s", text)
}

// namedPipes connect this process with a server.
type namedPipes struct {
	folder  string // of their own
	in, out *os.File
}

// openPipes makes them. They are opened for both directions, so that nobody has to wait for the other side.
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
