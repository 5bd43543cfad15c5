package tasks

import (
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/swrun/swrun/errors"
)

// pythonMain runs a file with the globals that another file holds, as if it were the main program.
const pythonMain = `import json, sys
path, data = sys.argv[1:3]
del sys.argv[1:3]
sys.argv[0] = path
with open(data) as f: scope = json.load(f)
scope.update(__name__='__main__', __file__=path)
with open(path) as f: code = f.read()
exec(compile(code, 'script.py', 'exec'), scope)
`

// nodeMain binds the globals before the script is loaded.
const nodeMain = `import { readFileSync } from 'node:fs';
Object.assign(globalThis, JSON.parse(readFileSync(new URL('globals.json', import.meta.url), 'utf8')));
`

// findPython returns the first Python of the host that runs, 3.13 if it is there: version managers leave commands of
// that name on PATH that only tell that there is no such version.
func findPython() (string, error) {
	for _, name := range []string{"python3.13", "python3"} {
		if path, err := exec.LookPath(name); err == nil && exec.Command(path, "-I", "-c", "").Run() == nil {
			return path, nil
		}
	}
	return "", errors.Configurationf("Python scripts need python3 on PATH: install it, for example by apt-get install python3")
}

// runPython runs a script by the host's Python.
func (c Config) runPython(ctx context.Context, r scriptRequest) (ended, error) {
	interpreter, err := c.python()
	if err != nil {
		return ended{}, err
	}
	return c.inFolder(r, map[string]string{"script.py": r.Code}, func(folder string) (ended, error) {
		argv := []string{interpreter, "-I", "-B", "-c", pythonMain, filepath.Join(folder, "script.py"), filepath.Join(folder, "globals.json")}
		return c.execute(ctx, append(argv, r.Arguments...), r.processRequest)
	})
}

// runNode runs a script by the host's Node.
func (c Config) runNode(ctx context.Context, r scriptRequest) (ended, error) {
	node, err := exec.LookPath("node")
	if err != nil {
		return ended{}, errors.Configurationf("running scripts by Node needs node on PATH: install it, or leave --js out")
	}
	files := map[string]string{"script.mjs": r.Code, "main.mjs": nodeMain}
	return c.inFolder(r, files, func(folder string) (ended, error) {
		argv := []string{node, "--import", filepath.Join(folder, "main.mjs"), filepath.Join(folder, "script.mjs")}
		return c.execute(ctx, append(argv, r.Arguments...), r.processRequest)
	})
}

// inFolder writes the files and the globals into a folder that is gone afterwards.
func (c Config) inFolder(r scriptRequest, files map[string]string, run func(folder string) (ended, error)) (ended, error) {
	folder, err := os.MkdirTemp("", "swrun-script-")
	if err != nil {
		return ended{}, err
	}
	defer os.RemoveAll(folder)
	globals := []byte("{}")
	if r.Globals != nil {
		if globals, err = json.Marshal(r.Globals); err != nil {
			return ended{}, err
		}
	}
	files["globals.json"] = string(globals)
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600); err != nil {
			return ended{}, err
		}
	}
	return run(folder)
}
