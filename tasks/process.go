package tasks

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/swrun/swrun/dsl"
	"github.com/swrun/swrun/errors"
	"github.com/swrun/swrun/expr"
	"github.com/swrun/swrun/interpreter"
)

// What is kept of a process's output, each of stdout and stderr, and how much of stderr an error quotes.
const (
	maxOutput = 1 << 20
	maxStderr = 2 << 10
)

// process is what shell commands and scripts share: how they are started and what becomes of their end
// (semantics 10.1 to 10.5).
type process struct {
	base                          dsl.RunBase
	stdin, arguments, environment *expr.Template
	mapped                        bool // arguments are a map
}

func compileProcess(b *interpreter.Builder, at dsl.Pointer, base dsl.RunBase, p dsl.Process) process {
	compiled := process{
		base:        base,
		stdin:       b.Optional(at.Key("stdin"), p.Stdin),
		arguments:   b.Optional(at.Key("arguments"), p.Arguments),
		environment: b.Optional(at.Key("environment"), anyMap(p.Environment)),
	}
	_, compiled.mapped = p.Arguments.(map[string]any)
	return compiled
}

// anyMap returns nil for a nil map, which would not be nil as an any.
func anyMap(m map[string]any) any {
	if m == nil {
		return nil
	}
	return m
}

// processRequest is the evaluated part that all processes share.
type processRequest struct {
	Stdin       *string           `json:"stdin,omitempty"`
	Arguments   []string          `json:"arguments,omitempty"`
	Globals     map[string]any    `json:"globals,omitempty"` // arguments given as a map
	Environment map[string]string `json:"environment,omitempty"`
	Return      string            `json:"return"`
}

func (p process) prepare(s *interpreter.Scope) (processRequest, *errors.Error) {
	r := processRequest{Return: p.base.Return, Environment: map[string]string{}}
	if p.stdin != nil {
		v, err := s.Eval(p.stdin, s.Input())
		if err != nil {
			return r, err
		}
		text := stringify(v)
		r.Stdin = &text
	}
	environment, err := evalObject(s, p.environment, s.Input(), "the environment")
	if err != nil {
		return r, err
	}
	for name, value := range environment {
		if name == "" || strings.ContainsAny(name, "=\x00") || strings.Contains(stringify(value), "\x00") {
			return r, errors.Expressionf("the environment variable %q cannot be set", name)
		}
		r.Environment[name] = stringify(value)
	}
	if p.arguments == nil {
		return r, nil
	}
	v, err := s.Eval(p.arguments, s.Input())
	if err != nil {
		return r, err
	}
	return r, r.setArguments(v)
}

func (r *processRequest) setArguments(v any) *errors.Error {
	switch v := v.(type) {
	case nil:
	case []any:
		for _, item := range v {
			r.Arguments = append(r.Arguments, stringify(item))
		}
	case map[string]any:
		r.Globals = v
	default:
		return errors.Expressionf("the arguments must be a list or an object, got %s", kindOf(v))
	}
	for _, argument := range r.Arguments {
		if strings.Contains(argument, "\x00") {
			return errors.Expressionf("an argument must not hold the character NUL")
		}
	}
	return nil
}

// next performs the request, or starts it and goes on.
func (p process) next(s *interpreter.Scope, request any) interpreter.Next {
	if p.base.Detached {
		return interpreter.Detach(request, s.Input())
	}
	return interpreter.Perform(request)
}

func (p process) finish(s *interpreter.Scope, result any) interpreter.Next {
	if p.base.Return == "none" {
		return interpreter.Done(s.Input())
	}
	return interpreter.Done(result)
}

// ended is how a process ended.
type ended struct {
	code           int
	stdout, stderr string
}

// result is what the task returns of a process; a failure is an error unless the task asks for it (semantics 10.3).
func (e ended) result(returns string) (any, error) {
	trim := func(s string) string { return strings.TrimRight(s, "\r\n") }
	switch returns {
	case "code":
		return e.code, nil
	case "stderr":
		return trim(e.stderr), nil
	case "all":
		return map[string]any{"code": e.code, "stdout": trim(e.stdout), "stderr": trim(e.stderr)}, nil
	}
	if e.code != 0 {
		failed := errors.Runtimef("%s", tail(trim(e.stderr)))
		failed.Title = fmt.Sprintf("Exit Code %d", e.code)
		return nil, failed
	}
	return trim(e.stdout), nil
}

func tail(s string) string {
	if len(s) <= maxStderr {
		return s
	}
	return "…" + strings.ToValidUTF8(s[len(s)-maxStderr:], "")
}

// errNoProcesses is what a task gets where processes are not granted.
func errNoProcesses() *errors.Error {
	return errors.Configurationf("running processes is not granted here; a worker grants it with --allow-processes")
}

// execute runs argv to its end. When ctx ends first, the process and everything it has started get SIGTERM, and
// SIGKILL after a grace.
func (c Config) execute(ctx context.Context, argv []string, r processRequest) (ended, error) {
	if !c.Processes {
		return ended{}, errNoProcesses()
	}
	command := exec.Command(argv[0], argv[1:]...)
	command.Env = environment(r.Environment)
	command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	stdout, stderr := &limitedBuffer{}, &limitedBuffer{}
	command.Stdout, command.Stderr = stdout, stderr
	if r.Stdin != nil {
		command.Stdin = strings.NewReader(*r.Stdin)
	}
	// A grandchild may keep the pipes open: do not wait for it longer than this.
	command.WaitDelay = c.grace()
	if err := command.Start(); err != nil {
		return ended{}, errors.Configurationf("%s cannot be started: %s", argv[0], cause(err))
	}
	err := c.await(ctx, command)
	if ctx.Err() != nil {
		return ended{}, context.Cause(ctx)
	}
	if stdout.over || stderr.over {
		return ended{}, errors.Runtimef("the process wrote more than %d bytes", maxOutput)
	}
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) && !errors.Is(err, exec.ErrWaitDelay) {
		return ended{}, errors.Runtimef("%s: %s", argv[0], err)
	}
	return ended{exitCode(command.ProcessState), stdout.String(), stderr.String()}, nil
}

func (c Config) grace() time.Duration {
	if c.Grace > 0 {
		return c.Grace
	}
	return 2 * time.Second
}

// await waits for the process, and ends its group when ctx ends.
func (c Config) await(ctx context.Context, command *exec.Cmd) error {
	done := make(chan error, 1)
	go func() { done <- command.Wait() }()
	group := -command.Process.Pid
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
	}
	_ = syscall.Kill(group, syscall.SIGTERM) // it may have ended by itself
	timer := time.NewTimer(c.grace())
	defer timer.Stop()
	var err error
	select {
	case err = <-done:
	case <-timer.C:
	}
	_ = syscall.Kill(group, syscall.SIGKILL) // whatever is left of the group
	if err == nil {
		err = <-done
	}
	return err
}

// exitCode returns the code as a shell tells it: 128 and the signal for a process that a signal has ended.
func exitCode(state *os.ProcessState) int {
	if status, ok := state.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		return 128 + int(status.Signal())
	}
	return state.ExitCode()
}

// environment is what a process sees: where programs and the user are, the language, and what the task sets. Nothing
// else of the host's environment, where secrets may be.
func environment(task map[string]string) []string {
	var all []string
	for _, name := range []string{"PATH", "HOME", "LANG", "LC_ALL", "TMPDIR", "TZ", "USER"} {
		if value, ok := os.LookupEnv(name); ok {
			all = append(all, name+"="+value)
		}
	}
	for name, value := range task {
		all = append(all, name+"="+value)
	}
	slices.Sort(all[len(all)-len(task):])
	return all
}

// limitedBuffer keeps the first maxOutput bytes.
type limitedBuffer struct {
	bytes.Buffer
	over bool
}

func (b *limitedBuffer) Write(p []byte) (int, error) {
	if room := maxOutput - b.Len(); len(p) > room {
		b.over = true
		b.Buffer.Write(p[:max(room, 0)])
		return len(p), nil
	}
	return b.Buffer.Write(p)
}
