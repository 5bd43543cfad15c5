package house

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path"
	"strings"
	"testing"
)

// unreached returns the functions that neither the command, nor an example, nor the library's exported names reach, each with the reason.
func unreached() map[string]string {
	return map[string]string{
		"interpreter/replay.go: Replay": "tests compute a run from its history by it, and compare that with the run",
	}
}

// forTests returns the packages that are there for tests only, besides those whose names end in "test".
func forTests() map[string]string {
	return map[string]string{
		"conformance": "cases of the language",
		"faults":      "processes that are killed",
		"simulation":  "a worker and a store in one process, on virtual time",

		"internal/golden":      "the flag by which tests write the files that they compare with",
		"runtime":              "tests of the packages below it, together",
		"house":                "the tests of the house",
		"spec/internal/schema": "go generate writes the editor's schema with it",
	}
}

// TestEverythingIsReached: the command, an example or the exported names of the library reach each function and each package.
func TestEverythingIsReached(t *testing.T) {
	t.Parallel()
	reasons, needed := unreached(), map[string]bool{}
	for _, one := range unreachable(t) {
		needed[one] = true
		if reasons[one] == "" {
			t.Errorf("only tests call %s: have the command or the library call it, or delete it", one)
		}
	}
	for one := range reasons {
		if !needed[one] {
			t.Errorf("%s is reached now: delete its line here", one)
		}
	}
	imported := map[string]bool{}
	for _, one := range strings.Fields(output(t, "go", append([]string{"list", "-deps"}, commands()...)...)) {
		imported[one] = true
	}
	for _, one := range strings.Fields(output(t, "go", "list", "./...")) {
		name := strings.TrimPrefix(one, module+"/")
		if !imported[one] && !strings.HasSuffix(name, "test") && forTests()[name] == "" {
			t.Errorf("only tests import %s: have the command or the library use it, or delete it", name)
		}
	}
}

// commands are the packages that have a main function.
func commands() []string { return []string{"./cmd/swrun", "./examples/..."} }

// unreachable returns the functions that no command reaches, as "file: name". Exported names of the library are not among them.
func unreachable(t *testing.T) (all []string) {
	t.Helper()
	var packages []struct {
		Path  string
		Funcs []struct {
			Name     string
			Position struct{ File string }
		}
	}
	if err := json.Unmarshal([]byte(output(t, "go", append([]string{"tool", "deadcode", "-json"}, commands()...)...)), &packages); err != nil {
		t.Fatal(err)
	}
	for _, p := range packages {
		folder := strings.TrimPrefix(strings.TrimPrefix(p.Path, module), "/")
		for _, f := range p.Funcs {
			name := f.Name[strings.LastIndex(f.Name, ".")+1:]
			exported := strings.ToUpper(name[:1]) == name[:1]
			if folder == "" && exported || strings.HasSuffix(folder, "test") {
				continue
			}
			all = append(all, path.Join(folder, path.Base(f.Position.File))+": "+f.Name)
		}
	}
	return all
}

// output runs a command, and returns its output.
func output(t *testing.T, name string, arguments ...string) string {
	t.Helper()
	c := exec.CommandContext(t.Context(), name, arguments...)
	c.Env = append(os.Environ(), "GOWORK=off")
	var problems bytes.Buffer
	c.Stderr = &problems
	text, err := c.Output()
	if err != nil {
		t.Fatalf("%s: %v\n%s", c, err, problems.String())
	}
	return string(text)
}
