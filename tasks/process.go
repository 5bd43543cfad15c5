package tasks

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/swrun/swrun/dsl"
	"github.com/swrun/swrun/errors"
	"github.com/swrun/swrun/expr"
	"github.com/swrun/swrun/interpreter"
	"github.com/swrun/swrun/limits"
	"github.com/swrun/swrun/process"
)

// Sizes in bytes of the parts of a long stderr that an error quotes: the beginning, where JavaScript reports errors, and the end, where most other
// programs do.
const (
	stderrHead = 1 << 9
	stderrTail = 3 << 9
)

// processBody is the common part of shell commands and scripts: their start and their result (semantics 10.1 to 10.5).
type processBody struct {
	base                          dsl.RunBase
	stdin, arguments, environment *expr.Template
	order                         []string // of the arguments, if they are a map in the document
}

func compileProcess(b *interpreter.Builder, base dsl.RunBase, p dsl.Process) processBody {
	return compileProcessNeeding(b, interpreter.NeedProcesses, base, p)
}

func compileProcessNeeding(b *interpreter.Builder, need string, base dsl.RunBase, p dsl.Process) processBody {
	b.Needs(need)
	if base.Detached {
		b.Detaches()
	}
	return processBody{
		base:        base,
		stdin:       b.Value(p.Stdin),
		arguments:   b.Value(p.Arguments),
		environment: b.Value(p.Environment),
		order:       b.InOrder(p.Arguments),
	}
}

// processRequest is the evaluated part that all processes share.
type processRequest struct {
	Stdin       *string           `json:"stdin,omitempty"`
	Arguments   []string          `json:"arguments,omitempty"`
	Globals     globals           `json:"globals,omitempty"`
	Environment map[string]string `json:"environment,omitempty"`
	Return      string            `json:"return"`
}

// globals are arguments in the form of a map. They are values of the workflow: their numbers keep all digits.
type globals map[string]any

func (g *globals) UnmarshalJSON(data []byte) error {
	var v interpreter.Value
	err := v.UnmarshalJSON(data)
	*g, _ = v.V.(map[string]any)
	return err
}

func (p processBody) prepare(s *interpreter.Scope) (processRequest, *errors.Error) {
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
	for _, name := range slices.Sorted(maps.Keys(environment)) { // sorted, so that the same mistake is reported each time
		value := environment[name]
		if value == nil { // an absent variable, as an absent header is (semantics 11.2)
			continue
		}
		if name == "" || strings.ContainsAny(name, "="+nul) || strings.Contains(stringify(value), nul) {
			return r, s.WithExpression(errors.Expressionf("the environment variable %q cannot be set", name), p.environment, name)
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
	if err := r.setArguments(v); err != nil {
		return r, s.WithExpression(err, p.arguments)
	}
	return r, p.passable(s, r)
}

// passable refuses arguments that cannot be passed to a process.
func (p processBody) passable(s *interpreter.Scope, r processRequest) *errors.Error {
	for i, argument := range r.Arguments {
		if strings.Contains(argument, nul) {
			return s.WithExpression(errors.Expressionf("an argument must not hold the character NUL"), p.arguments, i)
		}
	}
	for _, name := range p.names(r.Globals) {
		if strings.Contains(name, nul) || strings.Contains(stringify(r.Globals[name]), nul) {
			return s.WithExpression(errors.Expressionf("the argument %q must not hold the character NUL", name), p.arguments, name)
		}
	}
	return nil
}

// nul ends a text of the operating system.
const nul = "\x00"

// names returns the names of a map of arguments in the document's order. A map from an expression has no order there, and its names are sorted.
func (p processBody) names(arguments map[string]any) []string {
	if p.order != nil {
		return p.order
	}
	return slices.Sorted(maps.Keys(arguments))
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
	return nil
}

// next performs the request, or starts it and continues.
func (p processBody) next(s *interpreter.Scope, request any) interpreter.Next {
	if p.base.Detached {
		return interpreter.Detach(request, s.Input())
	}
	return interpreter.Perform(request)
}

func (p processBody) finish(s *interpreter.Scope, result any) interpreter.Next {
	if p.base.Return == "none" {
		return interpreter.Done(s.Input())
	}
	return interpreter.Done(result)
}

// ended describes the end of a process.
type ended struct {
	code           int
	stdout, stderr string
}

// result returns the result of the task for a process. A failure is an error unless the task returns it (semantics 10.3). Results are text. Other
// bytes cannot be kept, and are an error (10.2).
func (e ended) result(returns string) (any, error) {
	switch returns {
	case "code":
		return e.code, nil
	case "stderr":
		return text("standard error", e.stderr)
	case "all":
		stdout, err := text("standard output", e.stdout)
		stderr, other := text("standard error", e.stderr)
		if err = cmp.Or(err, other); err != nil {
			return nil, err
		}
		return map[string]any{"code": e.code, "stdout": stdout, "stderr": stderr}, nil
	}
	if e.code != 0 {
		failed := errors.Runtimef("%s", ends(trim(e.stderr)))
		failed.Title = fmt.Sprintf("Exit Code %d", e.code)
		return nil, failed
	}
	if returns == "none" {
		return nil, nil
	}
	return text("standard output", e.stdout)
}

func trim(s string) string { return strings.TrimRight(s, "\r\n") }

// text returns bytes as text without the line breaks at their end, or an error with the place at which they are no text.
func text(what, bytes string) (any, error) {
	if utf8.ValidString(bytes) {
		return trim(bytes), nil
	}
	at := len(bytes) - len(strings.TrimLeftFunc(bytes, func(r rune) bool { return r != utf8.RuneError }))
	for at < len(bytes) && strings.HasPrefix(bytes[at:], string(utf8.RuneError)) { // a valid character
		rest := bytes[at+utf8.RuneLen(utf8.RuneError):]
		at = len(bytes) - len(strings.TrimLeftFunc(rest, func(r rune) bool { return r != utf8.RuneError }))
	}
	return nil, errors.Runtimef("%s is not UTF-8 (byte %d is 0x%02x): have the command write UTF-8, for example with iconv or base64", what, at+1, bytes[at])
}

// ends leaves out the middle of a long text: whole lines, if it has any.
func ends(s string) string {
	if len(s) <= stderrHead+stderrTail {
		return s
	}
	head, tail := s[:stderrHead], s[len(s)-stderrTail:]
	if end := strings.LastIndexByte(head, '\n'); end >= 0 {
		head = head[:end+1]
	}
	if start := strings.IndexByte(tail, '\n'); start >= 0 {
		tail = tail[start:]
	}
	return strings.ToValidUTF8(head, "") + "…" + strings.ToValidUTF8(tail, "")
}

// errNoProcesses is the error of a task if processes are not granted.
func errNoProcesses() *errors.Error {
	return errors.Configurationf("running processes is not granted here; a worker grants it with --allow-processes, a Go program with Supervise and Host.Processes")
}

// execute runs argv to its end. When ctx ends first, the process and all processes that it started get SIGTERM, and SIGKILL after KillAfter.
func (c Config) execute(ctx context.Context, argv []string, files map[string]string, r processRequest) (ended, error) {
	if c.Processes == nil {
		return ended{}, errNoProcesses()
	}
	path, err := exec.LookPath(argv[0])
	if err != nil {
		return ended{}, errors.Configurationf("%s cannot be started: %s", argv[0], cause(err))
	}
	j := process.Job{Path: path, Arguments: argv, Files: files, Environment: environment(r.Environment)}
	if r.Stdin != nil {
		j.Stdin = []byte(*r.Stdin)
	}
	return c.run(ctx, argv[0], j)
}

// run runs a job below a supervisor, and returns its end.
func (c Config) run(ctx context.Context, name string, j process.Job) (ended, error) {
	j.MaxOutput, j.KillAfter = limits.Set{}.Max(limits.Stdout), c.killAfter()
	end, err := c.Processes.Run(ctx, j)
	if ctx.Err() != nil {
		return ended{}, context.Cause(ctx)
	}
	var start *process.StartError
	var limit *process.LimitError
	var crash *process.CrashError
	switch {
	case errors.As(err, &start):
		return ended{}, errors.Configurationf("%s cannot be started: %s", name, start)
	case errors.As(err, &limit):
		return ended{}, limits.Exceeded(limits.Name(limit.Stream))
	case errors.As(err, &crash):
		return ended{}, errors.Runtimef("%s: %s", name, crash)
	case err != nil:
		return ended{}, err
	}
	return ended{end.ExitCode, string(end.Stdout), string(end.Stderr)}, nil
}

func (c Config) killAfter() time.Duration {
	if c.KillAfter > 0 {
		return c.KillAfter
	}
	return 2 * time.Second
}

// environment returns the environment of a process: the paths of programs and of the user, the language, and the variables of the task. It contains
// nothing else of the host's environment, which may contain secrets.
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
