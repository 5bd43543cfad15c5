package tasks

import (
	"context"
	"encoding/json"
	"os/exec"

	"github.com/swrun/swrun/errors"
	"github.com/swrun/swrun/process"
)

// pythonMain runs a file with the globals that another file holds, as if it were the main program.
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

// findPython returns the first Python of the host that runs, 3.13 if it is there: version managers leave commands of
// that name on PATH that only say that there is no such version.
func findPython() (string, error) {
	for _, name := range []string{"python3.13", "python3"} {
		if path, err := exec.LookPath(name); err == nil && exec.Command(path, "-I", "-c", "").Run() == nil {
			return path, nil
		}
	}
	return "", errors.Configurationf("Python scripts need python3 on PATH: install it, for example by apt-get install python3")
}

// ScriptLanguages returns the languages of scripts that can run on this machine with a configuration.
func ScriptLanguages(c Config) (all []string) {
	if _, err := exec.LookPath("node"); c.JS != "node" || err == nil {
		all = append(all, "js")
	}
	if _, err := findPython(); err == nil {
		all = append(all, "python")
	}
	return all
}

// runJS runs a script in the embedded engine, or by the host's Node.
func (s scripts) runJS(ctx context.Context, r scriptRequest) (ended, error) {
	if s.JS == "node" {
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
	interpreter, err := s.python()
	if err != nil {
		return ended{}, err
	}
	argv := []string{interpreter, "-I", "-B", "-c", pythonMain, process.Folder + "/script.py", process.Folder + "/globals.json"}
	return s.withFiles(ctx, argv, map[string]string{"script.py": r.Code}, r)
}

// runNode runs a script by the host's Node.
func (s scripts) runNode(ctx context.Context, r scriptRequest) (ended, error) {
	node, err := exec.LookPath("node")
	if err != nil {
		return ended{}, errors.Configurationf("running scripts by Node needs node on PATH: install it, or leave --js out")
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
