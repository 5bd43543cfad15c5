package tasks

import (
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"modernc.org/quickjs"

	"github.com/swrun/swrun/errors"
)

//go:embed js_prelude.js
var jsPrelude string

//go:embed js_fs.js
var jsFS string

// maxJSMemory is what the heap of a script may take.
const maxJSMemory = 64 << 20

// runJS runs a script in an engine of its own, which sees nothing of the host but what js_prelude.js binds. When ctx
// ends, the task ends at once. The engine is interrupted, and is gone as soon as the builtin function that it may be
// in returns; its memory is bounded until then.
func (c Config) runJS(ctx context.Context, r scriptRequest) (ended, error) {
	if c.JS == "node" {
		return c.runNode(ctx, r)
	}
	vm, err := quickjs.NewVM()
	if err != nil {
		return ended{}, err
	}
	vm.SetMemoryLimit(maxJSMemory)
	script := &jsScript{vm: vm, request: r}
	type outcome struct {
		end ended
		err error
	}
	done := make(chan outcome, 1)
	go func() {
		defer vm.Close()
		end, err := script.run()
		done <- outcome{end, err}
	}()
	select {
	case o := <-done:
		if ctx.Err() != nil {
			return ended{}, context.Cause(ctx)
		}
		return o.end, o.err
	case <-ctx.Done():
		vm.Interrupt()
		return ended{}, context.Cause(ctx)
	}
}

// jsScript is one script in its engine.
type jsScript struct {
	vm             *quickjs.VM
	request        scriptRequest
	stdout, stderr limitedBuffer
}

// jsExit is how process.exit leaves the script: nothing of it runs afterwards.
type jsExit struct{ code int }

var (
	moduleSyntax = regexp.MustCompile(`(?m)^\s*(?:import\b|export\b|(?:const|let|var)\b[^;\n]*=\s*await\b|await\b|for\s+await\b)`)
	fsModules    = map[string]bool{"fs": true, "node:fs": true}
)

func (j *jsScript) run() (end ended, err error) {
	defer func() {
		if r := recover(); r != nil {
			exit, ok := r.(jsExit)
			if !ok {
				panic(r)
			}
			end, err = j.end(exit.code)
		}
	}()
	if err := j.vm.RegisterHostFunc("__host", j.host); err != nil {
		return ended{}, err
	}
	j.vm.SetModuleLoader(j.load, func(_ *quickjs.VM, _, name string) (string, error) { return name, nil })
	if _, err := j.vm.Eval(jsPrelude, quickjs.EvalGlobal); err != nil {
		return ended{}, fmt.Errorf("the prelude of scripts: %w", err)
	}
	if err := j.eval(); err != nil {
		return j.failed(err)
	}
	if _, err := j.vm.ExecutePendingJobs(); err != nil {
		return j.failed(err)
	}
	code, err := j.vm.Eval("Number(process.exitCode) || 0", quickjs.EvalGlobal)
	if err != nil {
		return j.failed(err)
	}
	n, _ := strconv.Atoi(fmt.Sprint(code)) // Number(…) || 0 is a number
	return j.end(n)
}

// eval runs the code as a module if it has the syntax of one, and as a plain script otherwise.
func (j *jsScript) eval() error {
	code := j.request.Code
	if moduleSyntax.MatchString(code) {
		code = `import('script.js').catch((e) => __failed(e))`
	}
	v, err := j.vm.EvalValue(code, quickjs.EvalGlobal)
	if err == nil {
		v.Free()
	}
	return err
}

func (j *jsScript) load(_ *quickjs.VM, name string) (string, error) {
	switch {
	case name == "script.js":
		return j.request.Code, nil
	case fsModules[name]:
		return jsFS, nil
	}
	return "", fmt.Errorf("the module %q is not available to scripts; only node:fs is, for reading the standard input", name)
}

// host serves what js_prelude.js asks for.
func (j *jsScript) host(args []any) (any, error) {
	if len(args) != 2 {
		return nil, errors.New("host takes two arguments")
	}
	operation, text := fmt.Sprint(args[0]), fmt.Sprint(args[1])
	switch operation {
	case "start":
		data, err := json.Marshal(map[string]any{
			"argv": append([]string{"swrun", "script.js"}, j.request.Arguments...), "env": j.request.Environment, "globals": j.request.Globals,
		})
		return string(data), err
	case "stdout":
		_, err := j.stdout.Write([]byte(text))
		return nil, err
	case "stderr":
		_, err := j.stderr.Write([]byte(text))
		return nil, err
	case "stdin":
		if j.request.Stdin == nil {
			return "", nil
		}
		return *j.request.Stdin, nil
	}
	code, _ := strconv.Atoi(text) // the prelude passes a number
	panic(jsExit{code & 0xff})
}

// failed is the end of a script that threw: as in a process, the error is on stderr and the code is 1.
func (j *jsScript) failed(err error) (ended, error) {
	var thrown *quickjs.Error
	message := err.Error()
	if errors.As(err, &thrown) && thrown.Stack != "" {
		message = strings.TrimRight(message+"\n"+thrown.Stack, "\n")
	}
	_, _ = j.stderr.Write([]byte(message + "\n")) // a limitedBuffer never fails
	return j.end(1)
}

func (j *jsScript) end(code int) (ended, error) {
	if j.stdout.over || j.stderr.over {
		return ended{}, errors.Runtimef("the script wrote more than %d bytes", maxOutput)
	}
	return ended{code, j.stdout.String(), j.stderr.String()}, nil
}
