package container_test

import (
	"context"
	"encoding/binary"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

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

// TestEndsWithItsTask: when the context ends, the container is gone, and the cause is the error.
func TestEndsWithItsTask(t *testing.T) {
	for name, cleanup := range map[string]container.Cleanup{"removed": container.CleanupAlways, "stopped": container.CleanupNever} {
		t.Run(name, func(t *testing.T) {
			fake := enginetest.New()
			ctx, cancel := context.WithCancelCause(t.Context())
			over := errors.New("over")
			ended := make(chan error)
			j := job("sleep 600")
			j.Cleanup = cleanup
			go func() {
				_, err := on(fake).Run(ctx, j)
				ended <- err
			}()
			until(t, func() bool { return running(fake) == 1 })
			cancel(over)
			if err := <-ended; !errors.Is(err, over) {
				t.Errorf("it ends with %v", err)
			}
			if running(fake) != 0 || cleanup == container.CleanupAlways && len(fake.All()) != 0 {
				t.Errorf("left: %+v", fake.All())
			}
		})
	}
}

// TestLostAttempt: a repeated attempt removes the container of the one before it, and not one of another effect.
func TestLostAttempt(t *testing.T) {
	fake := enginetest.New()
	lost := make(chan error)
	go func() {
		_, err := on(fake).Run(t.Context(), job("sleep 600"))
		lost <- err
	}()
	until(t, func() bool { return running(fake) == 1 })
	other := job("echo other")
	other.Key = "another"
	var refused *container.RefusedError
	if _, err := on(fake).Run(t.Context(), other); !errors.As(err, &refused) || !strings.Contains(err.Error(), "one already") {
		t.Errorf("another effect ends with %v", err)
	}
	end, err := on(fake).Run(t.Context(), job("echo again"))
	if err != nil || string(end.Stdout) != "again\n" {
		t.Errorf("got %+v, %v", end, err)
	}
	<-lost // whatever it says: nobody waits for it
	if all := fake.All(); len(all) != 0 {
		t.Errorf("left: %+v", all)
	}
}

// TestSweep: what belongs to a process that has ended is stopped, and what it wanted to have removed is removed; the rest stays.
func TestSweep(t *testing.T) {
	fake := enginetest.New()
	now := time.Now()
	leave := func(owner, name string, cleanup container.Cleanup, command string) {
		t.Helper()
		e := container.New(container.Config{Dial: fake.Dial, Owner: owner})
		j := job(command)
		j.Name, j.Key, j.Cleanup, j.After = name, name, cleanup, time.Hour
		before := running(fake)
		go func() { _, _ = e.Run(context.WithoutCancel(t.Context()), j) }() // it ends when its container does
		until(t, func() bool {
			return command != "true" && running(fake) > before || state(fake, name) == "exited"
		})
	}
	dead := dead()
	leave(dead, "kept", container.CleanupNever, "sleep 600")
	leave(dead, "removed", container.CleanupAlways, "sleep 600")
	leave("elsewhere/b/c/1/1", "of-another-machine", container.CleanupAlways, "sleep 600")
	leave(container.Owner(), "mine", container.CleanupAlways, "sleep 600")
	leave(container.Owner(), "later", container.CleanupEventually, "true")
	sweep := func() {
		t.Helper()
		if err := container.New(container.Config{Dial: fake.Dial, Now: func() time.Time { return now }}).Sweep(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	sweep()
	for name, want := range map[string]string{"kept": "exited", "removed": "", "of-another-machine": "running", "mine": "running", "later": "exited"} {
		if got := state(fake, name); got != want {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
	now = now.Add(2 * time.Hour)
	sweep()
	if state(fake, "later") != "" || state(fake, "kept") != "exited" {
		t.Errorf("two hours later: %+v", fake.All())
	}
	if err := container.New(container.Config{Dial: fake.Dial}).End(t.Context(), container.Owner()); err != nil || state(fake, "mine") != "" {
		t.Errorf("its owner has ended, and %+v, %v", fake.All(), err)
	}
	if err := container.New(container.Config{Dial: fake.Dial}).End(t.Context(), "elsewhere/b/c/1/1"); err != nil || running(fake) != 0 {
		t.Errorf("left: %+v, %v", fake.All(), err)
	}
}

// dead returns the owner of a process of this machine that is not there.
func dead() string {
	parts := strings.Split(container.Owner(), "/")
	parts[4] = "1" // when another process of that number began
	return strings.Join(parts, "/")
}

// TestEnginesThatFail: engines that refuse, fail, lie and break off end a task with an error that says so.
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
			_, _ = connection.Write(append([]byte("HTTP/1.1 101 UPGRADED\r\nContent-Type: application/vnd.docker.multiplexed-stream\r\nConnection: Upgrade\r\nUpgrade: tcp\r\n\r\n"), data...))
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

// TestSilentEngine: an engine that does not answer holds nobody beyond the time of the task.
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

// TestTooMuchOutput: a container that writes without end is stopped, with a limit.
func TestTooMuchOutput(t *testing.T) {
	for _, stream := range []string{"stdout", "stderr"} {
		fake := enginetest.New()
		var limit *container.LimitError
		if _, err := on(fake).Run(t.Context(), job("yes >&"+map[string]string{"stdout": "1", "stderr": "2"}[stream])); !errors.As(err, &limit) || limit.Stream != stream {
			t.Errorf("it ends with %v", err)
		}
		if len(fake.All()) != 0 {
			t.Errorf("left: %+v", fake.All())
		}
	}
}

// TestNoEngine: without an engine the error says what to look at.
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

// until waits for a condition.
func until(t *testing.T, condition func() bool) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); !condition(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("it does not come to that")
		}
	}
}

func running(e *enginetest.Engine) (n int) {
	for _, c := range e.All() {
		if c.State == "running" {
			n++
		}
	}
	return n
}

// state returns that of a container; empty if it is not there.
func state(e *enginetest.Engine, name string) string {
	for _, c := range e.All() {
		if c.Name == name {
			return c.State
		}
	}
	return ""
}
