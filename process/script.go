package process

import (
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"modernc.org/quickjs"

	"github.com/swrun/swrun/internal/lazyregexp"
)

//go:embed js_prelude.js
var jsPrelude string

//go:embed js_fs.js
var jsFS string

// maxHeap is how many bytes the heap of a script may take.
const maxHeap = 64 << 20

// outOfMemory is the engine's own message.
const outOfMemory = "out of memory"

// serveScript runs a script in an engine of its own, which sees nothing of the host but what js_prelude.js binds. It cannot be
// cancelled: to end the script, end this process.
func serveScript(j Job) reply {
	unlimit, err := limitMemory()
	if err != nil {
		return reply{Start: &StartError{"its memory cannot be limited: " + err.Error()}}
	}
	defer unlimit()
	vm, err := quickjs.NewVM()
	if err != nil {
		return reply{Start: &StartError{err.Error()}}
	}
	defer vm.Close()
	vm.SetMemoryLimit(maxHeap)
	engine := engineOf(vm)
	defer engine.close()
	engine.trackRejections()
	s := &script{vm: vm, job: j, stdout: limitedBuffer{max: j.MaxOutput}, stderr: limitedBuffer{max: j.MaxOutput}}
	code := s.run()
	if engine.ranOutOfMemory() {
		code = s.reportOutOfMemory()
	}
	for _, out := range []struct {
		name string
		*limitedBuffer
	}{{"stdout", &s.stdout}, {"stderr", &s.stderr}} {
		if out.exceeded {
			return reply{Limit: &LimitError{Stream: out.name, Max: j.MaxOutput}}
		}
	}
	return reply{Result: Result{code, s.stdout.kept.Bytes(), s.stderr.kept.Bytes()}}
}

// reportOutOfMemory writes the error of a script that needed more memory than it may use, and returns its exit code. This is
// an error even if the script has caught it, as in other engines.
func (s *script) reportOutOfMemory() int {
	if strings.Contains(s.stderr.String(), outOfMemory) {
		return 1
	}
	return s.failed(errors.New("InternalError: " + outOfMemory))
}

// script is one run of a script in its engine.
type script struct {
	vm             *quickjs.VM
	job            Job
	stdout, stderr limitedBuffer
}

// exit is panicked with to leave a script at once.
type exit struct{ code int }

// run runs the script and returns its exit code.
func (s *script) run() (code int) {
	defer func() {
		switch r := recover().(type) {
		case nil:
		case exit:
			code = r.code
		default:
			panic(r)
		}
	}()
	if err := s.vm.RegisterHostFunc("__host", s.host); err != nil {
		return s.failed(err)
	}
	s.vm.SetModuleLoader(s.load, func(_ *quickjs.VM, _, name string) (string, error) { return name, nil })
	if _, err := s.vm.Eval(jsPrelude, quickjs.EvalGlobal); err != nil {
		return s.failed(err)
	}
	if err := s.eval(); err != nil {
		return s.failed(err)
	}
	if err := s.drain(); err != nil {
		return s.failed(err)
	}
	if _, err := s.vm.Eval("this['swrun end']()", quickjs.EvalGlobal); err != nil {
		return s.failed(err)
	}
	return 0 // not reached: "swrun end" leaves by exit
}

// moduleWords are the keywords that only a module may use at its top level.
var moduleWords = lazyregexp.New(`\b(?:import|export|await)\b`)

// eval runs the code as a module if it is valid only as one, and as a plain script otherwise. The prelude runs it, since package quickjs returns no
// more than the text of what is thrown.
func (s *script) eval() error {
	code, run := s.job.Script.Code, `this['swrun run']()`
	if moduleWords().MatchString(code) {
		if _, err := s.vm.Compile(code, quickjs.EvalGlobal); err != nil {
			run = `this['swrun module'](import('script.js'))`
		}
	}
	v, err := s.vm.EvalValue(run, quickjs.EvalGlobal)
	if err == nil {
		v.Free()
	}
	return err
}

// drain runs the pending jobs of promises until there are none, possibly for ever. The engine returns after a million jobs.
func (s *script) drain() error {
	for {
		n, err := s.vm.ExecutePendingJobs()
		if err == nil || n < 1<<20 {
			return err
		}
	}
}

func (s *script) load(_ *quickjs.VM, name string) (string, error) {
	switch name {
	case "script.js":
		return s.job.Script.Code, nil
	case "fs", "node:fs":
		return jsFS, nil
	}
	return "", fmt.Errorf("the module %q is not available to scripts; only node:fs is, for reading the standard input", name)
}

// host serves what js_prelude.js asks for.
func (s *script) host(args []any) (any, error) {
	if len(args) != 2 {
		return nil, errors.New("host takes two arguments")
	}
	operation, text := fmt.Sprint(args[0]), fmt.Sprint(args[1])
	switch operation {
	case "start":
		globals := json.RawMessage(s.job.Script.Globals)
		if len(globals) == 0 {
			globals = json.RawMessage("{}")
		}
		data, err := json.Marshal(map[string]any{
			"argv": append([]string{"swrun", "script.js"}, s.job.Script.Arguments...), "env": s.job.Script.Variables, "globals": globals,
		})
		return string(data), err
	case "stdout":
		s.write(&s.stdout, text)
		return nil, nil
	case "stderr":
		s.write(&s.stderr, text)
		return nil, nil
	case "code":
		return s.job.Script.Code, nil
	case "stdin":
		return string(s.job.Stdin), nil
	}
	var code int
	if _, err := fmt.Sscan(text, &code); err != nil {
		return nil, err
	}
	panic(exit{code})
}

// write adds to an output; a script that writes too much ends.
func (s *script) write(b *limitedBuffer, text string) {
	_, _ = b.Write([]byte(text)) // it never fails
	if b.exceeded {
		panic(exit{1})
	}
}

// failed writes the error of a script that threw to its standard error, and returns its exit code, as Node does.
func (s *script) failed(err error) int {
	var thrown *quickjs.Error
	message := err.Error()
	if errors.As(err, &thrown) && thrown.Stack != "" {
		message = strings.TrimRight(message+"\n"+thrown.Stack, "\n")
	}
	_, _ = s.stderr.Write([]byte(message + "\n")) // it never fails
	return 1
}
