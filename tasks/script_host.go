package tasks

import (
	"context"
	"encoding/json"
	"os/exec"
	"sync"

	"github.com/swrun/swrun/errors"
	"github.com/swrun/swrun/process"
)

// pythonMain runs a file with the globals in another file, as if it were the main program.
const pythonMain = `import json, sys
path, data = sys.argv[1:3]
del sys.argv[1:3]
sys.argv[0] = path
with open(data, encoding='utf-8') as f: scope = json.load(f)
scope.update(__name__='__main__', __file__=path)
with open(path, encoding='utf-8-sig') as f: code = f.read()
exec(compile(code, 'script.py', 'exec'), scope)
`

// nodeMain binds the globals before the script is loaded.
const nodeMain = `import { readFileSync } from 'node:fs';
Object.assign(globalThis, JSON.parse(readFileSync(new URL('globals.json', import.meta.url), 'utf8')));
`

// ScriptHost finds the programs that run scripts on this machine. The zero value runs JavaScript in the embedded engine.
type ScriptHost struct {
	Node bool // JavaScript is run by the Node on PATH

	mutex  sync.Mutex
	python string // its path, after it was found
	failed error  // why there is no Python, after the search
}

// Languages returns the languages that run here. The first call starts programs to find out, until ctx ends.
func (h *ScriptHost) Languages(ctx context.Context) (all []string) {
	if _, err := h.findNode(); !h.Node || err == nil {
		all = append(all, "js")
	}
	if _, err := h.findPython(ctx); err == nil {
		all = append(all, "python")
	}
	return all
}

func (h *ScriptHost) findNode() (string, error) {
	path, err := exec.LookPath("node")
	if err != nil {
		return "", errors.Configurationf("running scripts by Node needs node on PATH: install it, or leave --js out")
	}
	return path, nil
}

// findPython returns the first Python of the host that runs, preferably 3.13. Version managers leave commands of that name on PATH that only report
// that the version is missing.
func (h *ScriptHost) findPython(ctx context.Context) (string, error) {
	h.mutex.Lock()
	defer h.mutex.Unlock()
	if h.python != "" || h.failed != nil {
		return h.python, h.failed
	}
	for _, name := range []string{"python3.13", "python3"} {
		if path, err := exec.LookPath(name); err == nil && exec.CommandContext(ctx, path, "-I", "-c", "").Run() == nil {
			h.python = path
			return path, nil
		}
	}
	if err := context.Cause(ctx); err != nil {
		return "", err
	}
	h.failed = errors.Configurationf("Python scripts need python3 on PATH: install it, for example by apt-get install python3")
	return "", h.failed
}

// runJS runs a script in the embedded engine, or by the host's Node.
func (s scripts) runJS(ctx context.Context, r scriptRequest) (ended, error) {
	if s.ScriptHost.Node {
		return s.runNode(ctx, r)
	}
	globals, err := r.globals()
	if err != nil {
		return ended{}, err
	}
	j := process.Job{Script: &process.Script{Code: r.Code, Arguments: r.Arguments, Variables: r.Environment, Globals: globals}}
	if r.Stdin != nil {
		j.Stdin = []byte(*r.Stdin)
	}
	return s.run(ctx, "the script", j)
}

// runPython runs a script by the host's Python.
func (s scripts) runPython(ctx context.Context, r scriptRequest) (ended, error) {
	interpreter, err := s.ScriptHost.findPython(ctx)
	if err != nil {
		return ended{}, err
	}
	argv := []string{interpreter, "-I", "-B", "-c", pythonMain, process.Folder + "/script.py", process.Folder + "/globals.json"}
	return s.withFiles(ctx, argv, map[string]string{"script.py": r.Code}, r)
}

// runNode runs a script by the host's Node.
func (s scripts) runNode(ctx context.Context, r scriptRequest) (ended, error) {
	node, err := s.ScriptHost.findNode()
	if err != nil {
		return ended{}, err
	}
	argv := []string{node, "--import", process.Folder + "/main.mjs", process.Folder + "/script.mjs"}
	return s.withFiles(ctx, argv, map[string]string{"script.mjs": r.Code, "main.mjs": nodeMain}, r)
}

// withFiles runs a script that finds its code and its globals in files.
func (s scripts) withFiles(ctx context.Context, argv []string, files map[string]string, r scriptRequest) (ended, error) {
	globals, err := r.globals()
	if err != nil {
		return ended{}, err
	}
	files["globals.json"] = string(globals)
	return s.execute(ctx, append(argv, r.Arguments...), files, r.processRequest)
}

// globals returns the variables that a map of arguments makes, as a JSON object.
func (r processRequest) globals() ([]byte, error) {
	if r.Globals == nil {
		return []byte("{}"), nil
	}
	return json.Marshal(r.Globals)
}
