package container_test

import (
	"context"
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	moby "github.com/moby/moby/client"

	"github.com/swrun/swrun/internal/container"
	"github.com/swrun/swrun/internal/enginetest"
	"github.com/swrun/swrun/internal/pacetest"
)

// underTest is an engine, with a client of its API.
type underTest struct {
	dial   func(ctx context.Context) (net.Conn, error)
	api    *moby.Client
	podman *enginetest.Podman // nil for the engine in this process
}

// TestEngines: the promises of tasks about their containers hold with the server of enginetest, and with Podman if it is installed.
func TestEngines(t *testing.T) {
	t.Run("in this process", func(t *testing.T) {
		for name, check := range promises() {
			t.Run(name, func(t *testing.T) {
				check(t, mustTest(t, enginetest.New().Dial))
			})
		}
	})
	t.Run("Podman", func(t *testing.T) {
		p := mustPodman(t)
		for name, check := range promises() {
			t.Run(name, func(t *testing.T) {
				e := mustTest(t, p.Dial)
				e.podman = p
				check(t, e)
				if err := p.Clear(); err != nil {
					t.Fatal(err)
				}
			})
		}
	})
}

// mustPodman starts Podman. If that is not possible, the test is skipped.
func mustPodman(t *testing.T) *enginetest.Podman {
	t.Helper()
	p, err := enginetest.NewPodman(t.TempDir())
	if err != nil {
		t.Skip("Podman cannot run containers here: ", err)
	}
	t.Cleanup(p.Close)
	return p
}

func mustTest(t *testing.T, dial func(ctx context.Context) (net.Conn, error)) underTest {
	t.Helper()
	api, err := moby.New(moby.WithHost("tcp://engine"), moby.WithDialContext(func(ctx context.Context, _, _ string) (net.Conn, error) { return dial(ctx) }))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = api.Close() }) // it only closes idle connections
	return underTest{dial: dial, api: api}
}

func promises() map[string]func(*testing.T, underTest) {
	return map[string]func(*testing.T, underTest){
		"what goes in and comes out": goesInAndOut,
		"what is refused":            isRefused,
		"pulling":                    pulls,
		"a registry that is silent":  lacksRegistry,
		"volumes":                    hasVolumes,
		"ports":                      hasPorts,
		"folders that are not there": makesFolders,
		"cleanup":                    cleansUp,
		"it ends with its task":      endsWithItsTask,
		"it may end by itself":       endsByItself,
		"a lost attempt":             replacesLostAttempt,
		"sweep":                      sweeps,
		"names of the dead":          namesOfTheDead,
		"never started":              neverStarted,
		"too much output":            boundsOutput,
		"input that nobody reads":    ignoresInput,
		"what the engine answers":    answers,
	}
}

func (e underTest) engine(c container.Config) *container.Engine {
	c.Dial = e.dial
	return container.New(c)
}

func (e underTest) run(t *testing.T, j container.Job) (container.End, error) {
	t.Helper()
	return e.engine(container.Config{}).Run(t.Context(), j)
}

// states returns the states of all containers, by name.
func (e underTest) states(t *testing.T) map[string]string {
	t.Helper()
	all, err := e.api.ContainerList(context.WithoutCancel(t.Context()), moby.ContainerListOptions{All: true})
	if err != nil {
		t.Fatal(err)
	}
	states := map[string]string{}
	for _, c := range all.Items {
		states[strings.TrimPrefix(c.Names[0], "/")] = string(c.State)
	}
	return states
}

func (e underTest) mustHave(t *testing.T, want map[string]string) {
	t.Helper()
	if diff := cmp.Diff(want, e.states(t)); diff != "" {
		t.Errorf("containers (-want +got):\n%s", diff)
	}
}

// goesInAndOut: command, arguments, standard input and environment go in, both streams and the exit code come out.
func goesInAndOut(t *testing.T, e underTest) {
	long := strings.Repeat("0123456789abcdef\n", 1<<15)
	for name, c := range map[string]struct {
		job  container.Job
		want container.End
	}{
		"what the image runs": {container.Job{Image: "hello-world"}, container.End{Stdout: []byte("Hello from Docker!\n")}},
		"arguments alone":     {container.Job{Arguments: []string{"echo", "a  b", "", "$HOME", `"'`}}, container.End{Stdout: []byte("a  b  $HOME \"'\n")}},
		"streams and a code": {container.Job{
			Command: []string{"sh"}, Arguments: []string{"-c", `printf '%s|' "$A" "$B" "$C"; printf '\000\377'; echo err >&2; exit 42`},
			Environment: map[string]string{"A": "a=b  c", "B": "", "C": "ä\n$A"},
		}, container.End{ExitCode: 42, Stdout: []byte("a=b  c||ä\n$A|\000\377"), Stderr: []byte("err\n")}},
		"a signal":         {script("exec 2>/dev/null; sh -c 'kill -9 $$'; exit $?"), container.End{ExitCode: 137}},
		"standard input":   {container.Job{Command: []string{"cat"}, Stdin: &long}, container.End{Stdout: []byte(long)}},
		"none":             {container.Job{Command: []string{"cat"}}, container.End{}},
		"one nobody reads": {container.Job{Command: []string{"echo"}, Arguments: []string{"x"}, Stdin: &long}, container.End{Stdout: []byte("x\n")}},
	} {
		t.Run(name, func(t *testing.T) {
			j := c.job
			if j.Image == "" {
				j.Image = "alpine"
			}
			j.Key, j.Name, j.Pull, j.Cleanup, j.MaxOutput = "k", "one", container.PullMissing, container.CleanupAlways, 1<<20
			end, err := e.run(t, j)
			if err != nil {
				t.Fatal(err)
			}
			if end.ExitCode != c.want.ExitCode || string(end.Stdout) != string(c.want.Stdout) || string(end.Stderr) != string(c.want.Stderr) {
				t.Errorf("it ends with %d, %.99q, %.99q", end.ExitCode, end.Stdout, end.Stderr)
			}
			e.mustHave(t, map[string]string{})
		})
	}
}

func script(text string) container.Job {
	return container.Job{Command: []string{"sh"}, Arguments: []string{"-c", text}}
}

// isRefused: an impossible job is refused, and leaves nothing behind.
func isRefused(t *testing.T, e underTest) {
	for name, change := range map[string]func(*container.Job){
		"an image that nobody has": func(j *container.Job) { j.Image = "not-there" },
		"an image that may not be pulled": func(j *container.Job) {
			j.Image, j.Pull = "not-there", container.PullNever
		},
		"no reference of an image":               func(j *container.Job) { j.Image = "No Image" },
		"no such command":                        func(j *container.Job) { j.Command = []string{"no-such-program"} },
		"a command that is no program":           func(j *container.Job) { j.Command = []string{"/tmp"} },
		"a port that is none":                    func(j *container.Job) { j.Ports = []container.Port{{Container: "x", Host: "1"}} },
		"an image that nobody has, each time":    func(j *container.Job) { j.Image, j.Pull = "not-there", container.PullAlways },
		"an image of which there is no such tag": func(j *container.Job) { j.Image = "pulled:not-there" },
	} {
		t.Run(name, func(t *testing.T) {
			j := job("true")
			change(&j)
			_, err := e.run(t, j)
			var refused *container.RefusedError
			if !errors.As(err, &refused) {
				t.Errorf("it ends with %T %v", err, err)
			}
			e.mustHave(t, map[string]string{})
		})
	}
}

// pulls: an image is pulled if it is missing, always, or never.
func pulls(t *testing.T, e underTest) {
	j := job("echo pulled")
	j.Image = "pulled"
	for _, pull := range []container.Pull{container.PullMissing, container.PullNever, container.PullAlways} {
		j.Pull = pull
		if end, err := e.run(t, j); err != nil || string(end.Stdout) != "pulled\n" {
			t.Errorf("%s: %+v, %v", pull, end, err)
		}
	}
}

// lacksRegistry: a registry that does not answer may answer later.
func lacksRegistry(t *testing.T, e underTest) {
	j := job("true")
	j.Image = "127.0.0.1:1/image" // nothing listens there
	var unreachable *container.UnreachableError
	if _, err := e.run(t, j); !errors.As(err, &unreachable) || !strings.Contains(err.Error(), "refused") {
		t.Errorf("it ends with %T %v", err, err)
	}
}

// hasVolumes: a container can read folders of the machine and volumes of the engine, and can write to them if they are writable.
func hasVolumes(t *testing.T, e underTest) {
	if e.podman == nil {
		t.Skip("its containers see the whole machine")
	}
	folder := t.TempDir()
	if err := os.WriteFile(filepath.Join(folder, "in"), []byte("from outside\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	j := job("cat /data/in; echo from inside >/data/out; echo kept >/kept/file; echo x 2>/dev/null >/closed/file || echo closed")
	j.Mounts = []container.Mount{
		{Source: folder, Target: "/data"}, {Source: folder, Target: "/closed", ReadOnly: true}, {Source: "kept", Target: "/kept", Volume: true},
	}
	if end, err := e.run(t, j); err != nil || string(end.Stdout) != "from outside\nclosed\n" {
		t.Errorf("it ends with %d, %q, %q, %v", end.ExitCode, end.Stdout, end.Stderr, err)
	}
	if out, err := os.ReadFile(filepath.Join(folder, "out")); err != nil || string(out) != "from inside\n" {
		t.Errorf("outside is %q, %v", out, err)
	}
	j = job("cat /kept/file; echo x 2>/dev/null >/kept/file || echo closed")
	j.Mounts = []container.Mount{{Source: "kept", Target: "/kept", Volume: true, ReadOnly: true}}
	if end, err := e.run(t, j); err != nil || string(end.Stdout) != "kept\nclosed\n" {
		t.Errorf("the volume: %d, %q, %q, %v", end.ExitCode, end.Stdout, end.Stderr, err)
	}
}

// makesFolders: Docker refuses a folder that does not exist, and Podman creates it.
func makesFolders(t *testing.T, e underTest) {
	j := job("true")
	j.Mounts = []container.Mount{{Source: filepath.Join(t.TempDir(), "not-there"), Target: "/data"}}
	_, err := e.run(t, j)
	var refused *container.RefusedError
	if errors.As(err, &refused) == (e.podman != nil) {
		t.Errorf("it ends with %v", err)
	}
	e.mustHave(t, map[string]string{})
}

// hasPorts: a server in a container is reached at the port of the machine.
func hasPorts(t *testing.T, e underTest) {
	if e.podman == nil {
		t.Skip("its containers listen at the machine itself")
	}
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := free.Addr().(*net.TCPAddr)
	free.Close() // nothing was sent there
	j := job("echo from inside | nc -l -p 80")
	j.Ports = []container.Port{{Container: "80", Address: "127.0.0.1", Host: strconv.Itoa(address.Port)}, {Container: "53/udp", Host: "0"}}
	ended := make(chan error)
	go func() {
		_, err := e.run(t, j)
		ended <- err
	}()
	until(t, func() bool {
		connection, err := net.Dial("tcp", address.String())
		if err != nil {
			return false
		}
		defer connection.Close()
		said, _ := io.ReadAll(connection) // the server may not listen yet
		return string(said) == "from inside\n"
	})
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

// until waits for a condition.
func until(t *testing.T, condition func() bool) {
	t.Helper()
	for deadline := time.Now().Add(pacetest.Patience); !condition(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("it does not come to that")
		}
	}
}
