package main

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/swrun/swrun/internal/pacetest"
)

const draft = "document: {dsl: 1.0.3, namespace: demo, name: NAME, version: '1.0.0'} # a draft\ndo: [{a: {set: {x: VALUE}}}]\n"

// draftParent runs a workflow that does not exist, one in the version of its file, which dev does not deploy, and one in its last version.
const draftParent = `document: {dsl: 1.0.3, namespace: demo, name: parent, version: 1.0.0}
do:
- a: {run: {workflow: {namespace: demo, name: nowhere, version: latest}}}
- b: {run: {workflow: {namespace: demo, name: two, version: 1.0.0}}}
- c: {run: {workflow: {namespace: demo, name: order, version: latest}}}
- d: {call: "lost:1.0.0"}
`

// TestDev: a saved file of the folder is deployed immediately as the next development version. Mistakes are shown and do not affect other files. A
// version that is already deployed is not deployed again.
func TestDev(t *testing.T) {
	folder := t.TempDir()
	below, catalog := filepath.Join(folder, "below"), t.TempDir()
	if err := os.Mkdir(below, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(below, "order.yaml"), []byte(draft), 0o600); err != nil {
		t.Fatal(err)
	}
	c := capture(map[string]string{"SWRUN_STORE": "file:" + filepath.Join(t.TempDir(), "runs.db")})
	signals, said := make(chan os.Signal, 1), &told{lines: make(chan struct{}, 1)}
	c.streams.out, c.streams.err, c.streams.now = said, said, time.Now
	c.streams.signals = func() (<-chan os.Signal, func()) { return signals, func() {} }
	ended := make(chan int, 1)
	go func() {
		ended <- run([]string{"dev", folder, "--listen", "127.0.0.1:0", "--catalog", catalog}, c.streams)
	}()
	expect := func(text string) {
		t.Helper()
		for !strings.Contains(said.String(), text) {
			select {
			case <-said.lines:
			case code := <-ended:
				t.Fatalf("it ended with %d: %s", code, said)
			case <-time.After(pacetest.Patience):
				t.Fatalf("it does not say %q: %s", text, said)
			}
		}
	}
	save := func(file, name, value string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(folder, file), []byte(strings.NewReplacer("NAME", name, "VALUE", value).Replace(draft)), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	expect("there is no document in " + folder + " yet")
	expect(below + " has documents that are not deployed")
	save("order.yaml", "order", "1")
	expect("demo/order:1.0.0-dev.1 deployed")
	save("order.yaml", "order", "2")
	expect("demo/order:1.0.0-dev.2 deployed")
	save("broken.yaml", "broken", "[")
	expect("broken.yaml:2")
	save("two.yaml", "order", "3")
	expect("two.yaml is not deployed: " + filepath.Join(folder, "order.yaml") + " already declares demo/order:1.0.0")
	save("two.yaml", "two", "3")
	expect("demo/two:1.0.0-dev.1 deployed")
	function := filepath.Join(catalog, "functions", "lost", "1.0.0")
	if err := os.MkdirAll(function, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(function, "function.yaml"), []byte("run: {workflow: {namespace: demo, name: lost, version: latest}}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(folder, "parent.yaml"), []byte(draftParent), 0o600); err != nil {
		t.Fatal(err)
	}
	expect("demo/parent:1.0.0-dev.1 deployed")
	expect("parent.yaml:3 runs nowhere of demo, and no such workflow is deployed")
	expect("parent.yaml:4 runs two of demo, and its version 1.0.0 is not deployed: there are 1.0.0-dev.1")
	expect("function.yaml, which runs lost of demo, and no such workflow is deployed")
	if err := os.Remove(filepath.Join(folder, "two.yaml")); err != nil {
		t.Fatal(err)
	}
	expect("two.yaml is removed")
	if err := os.RemoveAll(folder); err != nil {
		t.Fatal(err)
	}
	expect("the folder cannot be ")
	if err := os.Mkdir(folder, 0o700); err != nil {
		t.Fatal(err)
	}
	save("again.yaml", "again", "1")
	expect("demo/again:1.0.0-dev.1 deployed")
	save("more.yaml", "more", "1")
	expect("demo/more:1.0.0-dev.1 deployed")
	signals <- syscall.SIGTERM
	if code := <-ended; code != exitTerminate && code != exitOK {
		t.Errorf("it ended with %d", code)
	}
	if strings.Count(said.String(), "order:1.0.0-dev.2") != 1 || strings.Contains(said.String(), "dev.3") {
		t.Errorf("it said %s", said)
	}
	if strings.Contains(said.String(), "runs order") {
		t.Errorf("a workflow that is deployed is told as missing: %s", said)
	}
	if code := run([]string{"dev", filepath.Join(folder, "again.yaml")}, capture(nil).streams); code != exitUsage {
		t.Errorf("a file ends it with %d", code)
	}
	if code := run([]string{"dev", filepath.Join(folder, "none")}, capture(nil).streams); code != exitNotFound {
		t.Errorf("a folder that is not there ends it with %d", code)
	}
}

// TestDraftVersions: development versions precede the version that they lead to.
func TestDraftVersions(t *testing.T) {
	for version, want := range map[string]string{"1.0.0": "1.0.0-dev.", "1.0.0-rc.1": "1.0.0-rc.1.dev.", "1.0.0+build": "1.0.0-dev."} {
		if got := draftBase(version); got != want {
			t.Errorf("%s becomes %s, want %s", version, got, want)
		}
	}
	if got := lastDraft([]string{"1.0.0-dev.2", "1.0.0-dev.10", "1.0.0", "2.0.0-dev.99", "1.0.0-dev.x"}, "1.0.0-dev."); got != 10 {
		t.Errorf("the last is %d", got)
	}
}
