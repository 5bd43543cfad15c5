package faults

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	moby "github.com/moby/moby/client"

	"github.com/swrun/swrun/internal/enginetest"
	"github.com/swrun/swrun/internal/pacetest"
)

// leaving starts, for each cleanup, one container that runs for ten minutes. When they run, one has ended.
const leaving = `
do:
- ends: {run: {container: {image: alpine, name: ends, command: 'true', lifetime: {cleanup: eventually, after: %s}}}}
- all:
    fork:
      branches:
      - a: {run: {container: {image: alpine, name: kept, command: sleep 600}}}
      - b: {run: {container: {image: alpine, name: removed, command: sleep 600, lifetime: {cleanup: always}}}}
      - c: {run: {container: {image: alpine, name: later, command: sleep 600, lifetime: {cleanup: eventually, after: PT1S}}}}
`

// containerEngine is Podman, with its API.
type containerEngine struct {
	*testing.T
	api *moby.Client
}

// newContainerEngine starts Podman at the address that swrun uses. Without Podman, the test is skipped.
func newContainerEngine(t *testing.T) containerEngine {
	t.Helper()
	folder, err := os.MkdirTemp("", "podman") // Podman requires short names
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(folder) }) // a leftover is in the folder of temporary files
	p, err := enginetest.NewPodman(folder)
	if err != nil {
		t.Skip("Podman cannot run containers here: ", err)
	}
	t.Cleanup(p.Close)
	t.Setenv("DOCKER_HOST", p.Host())
	api, err := moby.New(moby.WithHost("tcp://engine"), moby.WithDialContext(func(ctx context.Context, _, _ string) (net.Conn, error) { return p.Dial(ctx) }))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = api.Close() }) // it only closes idle connections
	return containerEngine{t, api}
}

// await waits until the containers are in these states; it calls each repeatedly while it waits.
func (e containerEngine) await(want string, each func()) {
	e.Helper()
	states := ""
	for end := time.Now().Add(pacetest.Patience); states != want; time.Sleep(50 * time.Millisecond) {
		if time.Now().After(end) {
			e.Fatalf("the containers are %s, want %s", states, want)
		}
		each()
		all, err := e.api.ContainerList(e.Context(), moby.ContainerListOptions{All: true})
		if err != nil {
			e.Fatal(err)
		}
		states = ""
		for _, name := range []string{"ends", "kept", "later", "removed"} {
			for _, c := range all.Items {
				if c.Names[0] == "/"+name {
					states += " " + name + ":" + string(c.State)
				}
			}
		}
		states = strings.TrimSpace(states)
	}
}

func (e containerEngine) clear() {
	e.Helper()
	if _, err := e.api.ContainerRemove(e.Context(), "kept", moby.ContainerRemoveOptions{Force: true}); err != nil {
		e.Fatal(err)
	}
}

// TestContainersOfTheKilled: run, a worker and a server are killed while their containers run. The next process that may run containers stops them,
// and removes the containers whose cleanup requires it, while the run that needs them waits for another worker.
func TestContainersOfTheKilled(t *testing.T) {
	e := newContainerEngine(t)
	const alive, left = "ends:exited kept:running later:running removed:running", "kept:exited"
	t.Run("run", func(t *testing.T) {
		// The run must not remove the ended container before the others have started.
		document, next := containerDocument(t, "leaving", fmt.Sprintf(leaving, "PT20S")), containerDocument(t, "next", "\ndo:\n- a: {run: {container: {image: alpine, command: 'true', lifetime: {cleanup: always}}}}\n")
		run := exec.Command(binary, "run", document)
		if err := run.Start(); err != nil {
			t.Fatal(err)
		}
		e.await(alive, func() {})
		run.Process.Kill() // it waits for its containers
		run.Wait()         // it was killed
		e.await(left, func() {
			if out, err := exec.Command(binary, "run", next).CombinedOutput(); err != nil {
				t.Fatalf("%v: %s", err, out)
			}
		})
		e.clear()
	})
	for name, start := range map[string]func(w *world, args ...string) *worker{
		"worker": (*world).work,
		"server": func(w *world, args ...string) *worker {
			return w.spawn(exec.Command(binary, append([]string{"serve", "--store", "redis://" + w.proxy.addr, "--lease", lease.String(), "--listen", "127.0.0.1:0"}, args...)...))
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, 0)
			start(w, "--allow-containers", "--queue", "other") // it takes no tasks of the default queue
			victim := start(w, "--allow-containers")
			w.start(1, fmt.Sprintf(leaving, "PT1S"))
			e.await(strings.TrimPrefix(alive, "ends:exited "), func() {}) // the worker has removed it
			victim.kill()
			e.await(left, func() {})
			e.clear()
		})
	}
}

func containerDocument(t *testing.T, name, body string) (file string) {
	t.Helper()
	file = filepath.Join(t.TempDir(), name+".yaml")
	if err := os.WriteFile(file, []byte("document: {dsl: 1.0.3, namespace: test, name: "+name+", version: 0.1.0}"+body), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}
