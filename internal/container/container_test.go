package container_test

import (
	"context"
	"encoding/binary"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	moby "github.com/moby/moby/client"

	"github.com/swrun/swrun/internal/container"
	"github.com/swrun/swrun/internal/enginetest"
)

const most = 1 << 10

func job(command string) container.Job {
	return container.Job{
		Key: "k", Name: "one", Image: "alpine", Pull: container.PullMissing, Command: []string{"sh"}, Arguments: []string{"-c", command},
		Cleanup: container.CleanupAlways, MaxOutput: most, KillAfter: time.Second,
	}
}

func on(e *enginetest.Engine) *container.Engine { return container.New(container.Config{Dial: e.Dial}) }

// TestEnginesThatFail: engines that refuse, fail, lie or close connections end a task with an error that explains it.
func TestEnginesThatFail(t *testing.T) {
	type intercept = func(w http.ResponseWriter, r *http.Request) bool
	refuse := func(status int, message string) intercept {
		return func(w http.ResponseWriter, _ *http.Request) bool { enginetest.Fail(w, status, message); return true }
	}
	breakOff := func(w http.ResponseWriter, _ *http.Request) bool { panic(http.ErrAbortHandler) }
	garbage := func(w http.ResponseWriter, _ *http.Request) bool { _, _ = io.WriteString(w, "<html>"); return true }
	lies := func(data []byte) intercept {
		return func(w http.ResponseWriter, _ *http.Request) bool {
			connection, _, err := http.NewResponseController(w).Hijack()
			if err != nil {
				return false
			}
			defer connection.Close()
			_, _ = connection.Write(append([]byte(attached), data...))
			return true
		}
	}
	long := binary.BigEndian.AppendUint32([]byte{1, 0, 0, 0}, 1<<31)
	for _, c := range []struct {
		name, what string
		answer     intercept
		refused    bool
		says       string
	}{
		{"it is out of disk", "create", refuse(http.StatusInternalServerError, "no space left on device"), false, "no space left"},
		{"it refuses a mount", "create", refuse(http.StatusBadRequest, "bind source path does not exist"), true, "bind source path"},
		{"it does not allow it", "create", refuse(http.StatusForbidden, "denied by a plugin"), true, "denied"},
		{"a long message", "create", refuse(http.StatusBadRequest, strings.Repeat("x", 10_000)), true, "xxx…"},
		{"creation breaks off", "create", breakOff, false, "cannot be made"},
		{"creation answers garbage", "create", garbage, false, "cannot be made"},
		{"creation says nothing", "create", func(w http.ResponseWriter, _ *http.Request) bool { _, _ = io.WriteString(w, "{}"); return true }, false, "which container"},
		{"attaching fails", "attach", refuse(http.StatusInternalServerError, "broken"), false, "attached"},
		{"the start fails", "start", refuse(http.StatusInternalServerError, "exec: not found"), true, "exec: not found"},
		{"the start breaks off", "start", breakOff, false, "cannot be started"},
		{"the end is lost", "wait", breakOff, false, "has ended"},
		{"the end is garbage", "wait", garbage, false, "has ended"},
		{"a frame that is too long", "attach", lies(long), false, "cut off"},
		{"a frame that ends early", "attach", lies([]byte{1, 0, 0, 0, 0, 0, 0, 9, 'x'}), false, "cut off"},
		{"no frame", "attach", lies([]byte{77, 1, 2, 3, 0, 0, 0, 1, 'x'}), false, "cut off"},
	} {
		t.Run(c.name, func(t *testing.T) {
			fake := enginetest.New()
			fake.Intercept = func(w http.ResponseWriter, r *http.Request, what string) bool {
				return what == c.what && c.answer(w, r)
			}
			_, err := on(fake).Run(t.Context(), job("sleep 0.01"))
			var refused *container.RefusedError
			var unreachable *container.UnreachableError
			if errors.As(err, &refused) != c.refused || errors.As(err, &unreachable) == c.refused {
				t.Errorf("it ends with %T %v", err, err)
			}
			if err == nil || !strings.Contains(err.Error(), c.says) || len(err.Error()) > 1000 {
				t.Errorf("it says %.1000v", err)
			}
			if all := fake.All(); len(all) != 0 {
				t.Errorf("left: %+v", all)
			}
		})
	}
}

// TestPodmanThatIsOld: Podman before 4.4 answers a used name with the status of a failure, and prepares a container when a client attaches to it.
func TestPodmanThatIsOld(t *testing.T) {
	fake := enginetest.New()
	j := job("echo first")
	j.Cleanup = container.CleanupNever
	if _, err := on(fake).Run(t.Context(), j); err != nil {
		t.Fatal(err)
	}
	fake.Intercept = func(w http.ResponseWriter, _ *http.Request, what string) bool {
		if what != "create" || len(fake.All()) == 0 {
			return false
		}
		enginetest.Fail(w, http.StatusInternalServerError, "that name is already in use")
		return true
	}
	if end, err := on(fake).Run(t.Context(), job("echo again")); err != nil || string(end.Stdout) != "again\n" {
		t.Errorf("a name that is taken: %+v, %v", end, err)
	}
	fake.Intercept = func(w http.ResponseWriter, _ *http.Request, what string) bool {
		if what == "attach" {
			enginetest.Fail(w, http.StatusConflict, "preparing container for attach: no such file")
		}
		return what == "attach"
	}
	var refused *container.RefusedError
	j = job("true")
	j.Command = []string{"no-such-program"}
	if _, err := on(fake).Run(t.Context(), j); !errors.As(err, &refused) || !strings.Contains(err.Error(), "no-such-program") {
		t.Errorf("no such command: %v", err)
	}
	var unreachable *container.UnreachableError
	if _, err := on(fake).Run(t.Context(), job("sleep 600")); !errors.As(err, &unreachable) || !strings.Contains(err.Error(), "attached") {
		t.Errorf("no attachment: %v", err)
	}
	if all := fake.All(); len(all) != 0 {
		t.Errorf("left: %+v", all)
	}
}

// TestPodmanThatIsBusy: if a container cannot be prepared at first, the client attaches a moment later, before the start.
func TestPodmanThatIsBusy(t *testing.T) {
	fake := enginetest.New()
	asked := 0
	fake.Intercept = func(w http.ResponseWriter, _ *http.Request, what string) bool {
		if what != "attach" || asked > 0 {
			return false
		}
		asked++
		enginetest.Fail(w, http.StatusConflict, "preparing container for attach: try again")
		return true
	}
	if end, err := on(fake).Run(t.Context(), job("echo later")); err != nil || string(end.Stdout) != "later\n" || asked != 1 {
		t.Errorf("%+v, %v after %d refusals", end, err, asked)
	}
}

// TestSilentEngine: an engine that does not answer holds a task no longer than its timeout.
func TestSilentEngine(t *testing.T) {
	for _, what := range []string{"_ping", "create", "pull", "attach", "start", "wait"} {
		t.Run(what, func(t *testing.T) {
			fake := enginetest.New()
			asked := make(chan struct{}, 9)
			fake.Intercept = func(_ http.ResponseWriter, r *http.Request, asks string) bool {
				if asks != what {
					return false
				}
				asked <- struct{}{}
				<-r.Context().Done() // the client has given up
				return true
			}
			ctx, cancel := context.WithCancelCause(t.Context())
			go func() { <-asked; cancel(io.EOF) }()
			j := job("sleep 0.01")
			if what == "pull" {
				j.Image = "pulled"
			}
			if _, err := on(fake).Run(ctx, j); !errors.Is(err, io.EOF) {
				t.Errorf("it ends with %v", err)
			}
		})
	}
}

// TestNoEngine: without an engine the error names the places to check.
func TestNoEngine(t *testing.T) {
	for host, says := range map[string]string{
		"unix:///nowhere/engine.sock": "is Docker or Podman running", "tcp://127.0.0.1:1": "is Docker or Podman running", "ssh://u@h": "forward its socket", "nonsense": "cannot be used",
	} {
		e := container.New(container.Config{Lookup: func(name string) (string, bool) {
			return map[string]string{"DOCKER_HOST": host}[name], name == "DOCKER_HOST"
		}})
		if _, err := e.Run(t.Context(), job("true")); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v", host, err)
		}
	}
}

// TestStartsThatAreUnknown: if it is unknown whether a container was started, it is removed if it was not started, and stopped if it was, as soon as
// the engine answers again.
func TestStartsThatAreUnknown(t *testing.T) {
	for name, starts := range map[string]bool{"it was not": false, "it was": true} {
		t.Run(name, func(t *testing.T) {
			fake := enginetest.New()
			var answers atomic.Bool
			api := mustTest(t, fake.Dial).api
			fake.Intercept = func(_ http.ResponseWriter, r *http.Request, what string) bool {
				switch {
				case answers.Load() || what == "create" || what == "attach" || what == "_ping" || what == "version":
					return false
				case what == "start" && starts:
					answers.Store(true)
					_, err := api.ContainerStart(r.Context(), r.PathValue("name"), moby.ContainerStartOptions{})
					answers.Store(err != nil)
				}
				panic(http.ErrAbortHandler)
			}
			e := on(fake)
			j := job("sleep 600")
			j.Cleanup = container.CleanupNever
			var unreachable *container.UnreachableError
			if _, err := e.Run(t.Context(), j); !errors.As(err, &unreachable) {
				t.Errorf("it ends with %T %v", err, err)
			}
			if all := fake.All(); len(all) != 1 {
				t.Fatalf("the engine has %+v", all)
			}
			answers.Store(true)
			if err := e.Sweep(t.Context()); err != nil {
				t.Fatal(err)
			}
			want := 0
			if starts {
				want = 1
			}
			if all := fake.All(); len(all) != want || want == 1 && all[0].State != "exited" {
				t.Errorf("left: %+v", all)
			}
		})
	}
}

// TestWatch: an engine that cannot be reached is logged once, and leftover containers are stopped when it can be reached.
func TestWatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log strings.Builder
		e := container.New(container.Config{
			Dial: func(context.Context) (net.Conn, error) { return nil, io.ErrUnexpectedEOF },
			Log:  slog.New(slog.NewTextHandler(&log, nil)),
		})
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		e.Watch(ctx)
		if n := strings.Count(log.String(), "\n"); n != 1 || !strings.Contains(log.String(), "is Docker or Podman running") {
			t.Errorf("the log has %d lines: %s", n, log.String())
		}
	})
}
