package tasks

import (
	"context"
	"encoding/json"
	"strings"

	"github.com/swrun/swrun/dsl"
	"github.com/swrun/swrun/errors"
	"github.com/swrun/swrun/expr"
	"github.com/swrun/swrun/internal/lazyregexp"
	"github.com/swrun/swrun/interpreter"
)

func runShell(c Config) interpreter.Kind {
	return interpreter.Kind{Kind: dsl.KindRunShell, Compile: compileRunShell, Perform: c.performShell}
}

func compileRunShell(b *interpreter.Builder, t dsl.Task) interpreter.Body {
	task := t.(*dsl.RunShell)
	return &runShellBody{
		processBody: compileProcess(b, task.RunBase, task.Process),
		command:     b.Value(task.Command),
	}
}

type runShellBody struct {
	processBody
	command *expr.Template
}

type shellRequest struct {
	processRequest
	Command string `json:"command"`
}

func (r *runShellBody) Enter(s *interpreter.Scope) interpreter.Next {
	prepared, err := r.prepare(s)
	if err != nil {
		return interpreter.Fail(err)
	}
	command, err := evalText(s, r.command, "the command")
	if err != nil {
		return interpreter.Fail(err)
	}
	prepared.Arguments = append(prepared.Arguments, pairs(r.names(prepared.Globals), prepared.Globals)...)
	prepared.Globals = nil
	if strings.Contains(command, nul) {
		return interpreter.Fail(s.WithExpression(errors.Expressionf("the command must not hold the character NUL"), r.command))
	}
	return r.next(s, shellRequest{prepared, command})
}

// pairs writes a map of arguments as argv: each key, and its value if it is not empty (semantics 10.4).
func pairs(names []string, arguments map[string]any) []string {
	var argv []string
	for _, name := range names {
		argv = append(argv, name)
		if value := arguments[name]; value != nil && value != "" {
			argv = append(argv, stringify(value))
		}
	}
	return argv
}

func (r *runShellBody) Finish(s *interpreter.Scope, result any) interpreter.Next {
	return r.finish(s, result)
}

var (
	word       = lazyregexp.New(`^[A-Za-z0-9_./+-]+$`)
	positional = lazyregexp.New(`\$(?:[0-9@*#]|\{[0-9@*#])`)
)

// shellArgv returns the command to execute (semantics 10.4). A single word is a program. Anything else is a shell script that gets the arguments. If
// the script is one line that does not use them, they are appended to it.
func shellArgv(command string, arguments []string) []string {
	if word().MatchString(command) {
		return append([]string{command}, arguments...)
	}
	if len(arguments) > 0 && !strings.Contains(strings.TrimRight(command, "\n"), "\n") && !positional().MatchString(command) {
		command = strings.TrimRight(command, "\n") + ` "$@"`
	}
	return append([]string{"sh", "-c", command, "sh"}, arguments...)
}

func (c Config) performShell(ctx context.Context, r interpreter.Request) (any, error) {
	var request shellRequest
	if err := json.Unmarshal(r.Body, &request); err != nil {
		return nil, err
	}
	end, err := c.execute(ctx, shellArgv(request.Command, request.Arguments), nil, request.processRequest)
	if err != nil {
		return nil, err
	}
	return end.result(request.Return)
}
