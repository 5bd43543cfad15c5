package container_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	moby "github.com/moby/moby/client"

	"github.com/swrun/swrun/internal/container"
)

// cleansUp: a container stays, is removed immediately or later, and its labels name its owner.
func cleansUp(t *testing.T, e underTest) {
	for _, cleanup := range []container.Cleanup{container.CleanupNever, container.CleanupAlways, container.CleanupEventually} {
		j := job("true")
		j.Key, j.Name, j.Cleanup, j.After = string(cleanup), string(cleanup), cleanup, time.Hour
		j.Labels = map[string]string{"swrun.run": "demo/1", "swrun.task": "/do/0/a b"}
		if _, err := e.run(t, j); err != nil {
			t.Fatal(err)
		}
	}
	e.mustHave(t, map[string]string{"never": "exited", "eventually": "exited"})
	there, err := e.api.ContainerInspect(t.Context(), "never", moby.ContainerInspectOptions{})
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{
		container.LabelKey: "never", "swrun.run": "demo/1", "swrun.task": "/do/0/a b", "swrun.owner": container.Owner(), "swrun.cleanup": "never",
		"swrun.engine": there.Container.Config.Labels["swrun.engine"], // by chance
	}
	if diff := cmp.Diff(want, there.Container.Config.Labels); diff != "" {
		t.Errorf("labels (-want +got):\n%s", diff)
	}
}

// endsWithItsTask: when the context ends, the container ends, and the error is the cause of the context.
func endsWithItsTask(t *testing.T, e underTest) {
	for cleanup, want := range map[container.Cleanup]map[string]string{container.CleanupAlways: {}, container.CleanupNever: {"one": "exited"}} {
		j := job("sleep 600")
		j.Cleanup = cleanup
		if err := e.interrupt(t, j); !errors.Is(err, errOver) {
			t.Errorf("it ends with %v", err)
		}
		e.mustHave(t, want)
	}
}

var errOver = errors.New("over")

// interrupt runs a job, and ends its context once it runs.
func (e underTest) interrupt(t *testing.T, j container.Job) error {
	t.Helper()
	ctx, cancel := context.WithCancelCause(t.Context())
	ended := make(chan error)
	go func() {
		_, err := e.engine(container.Config{}).Run(ctx, j)
		ended <- err
	}()
	until(t, func() bool { return e.states(t)[j.Name] == "running" })
	cancel(errOver)
	return <-ended
}

// endsByItself: a container that handles SIGTERM gets the time to end on its own.
func endsByItself(t *testing.T, e underTest) {
	folder := t.TempDir()
	j := job("trap 'exit 3' TERM; echo ready >" + folder + "/ready; while :; do sleep 0.01; done")
	j.Mounts = []container.Mount{{Source: folder, Target: folder}}
	j.Cleanup, j.KillAfter = container.CleanupNever, time.Minute
	ctx, cancel := context.WithCancelCause(t.Context())
	ended := make(chan error)
	go func() {
		_, err := e.engine(container.Config{}).Run(ctx, j)
		ended <- err
	}()
	until(t, func() bool { _, err := os.Stat(folder + "/ready"); return err == nil })
	cancel(errOver)
	if err := <-ended; !errors.Is(err, errOver) {
		t.Errorf("it ends with %v", err)
	}
	there, err := e.api.ContainerInspect(t.Context(), "one", moby.ContainerInspectOptions{})
	if err != nil || there.Container.State.ExitCode != 3 {
		t.Errorf("it has ended with %+v, %v", there.Container.State, err)
	}
}

// replacesLostAttempt: a repeated attempt removes the container of the previous attempt, and no container of another effect.
func replacesLostAttempt(t *testing.T, e underTest) {
	lost := make(chan error)
	go func() {
		_, err := e.engine(container.Config{}).Run(t.Context(), job("sleep 600"))
		lost <- err
	}()
	until(t, func() bool { return e.states(t)["one"] == "running" })
	other := job("echo other")
	other.Key = "another"
	var refused *container.RefusedError
	if _, err := e.run(t, other); !errors.As(err, &refused) || !strings.Contains(err.Error(), "one already") {
		t.Errorf("another effect ends with %v", err)
	}
	end, err := e.run(t, job("echo again"))
	if err != nil || string(end.Stdout) != "again\n" {
		t.Errorf("got %+v, %v", end, err)
	}
	<-lost // its result does not matter
	e.mustHave(t, map[string]string{})
}

// sweeps: containers of a process that ended are stopped, and are removed if the process wanted it; the others stay.
func sweeps(t *testing.T, e underTest) {
	now := time.Now()
	ctx, end := context.WithCancel(t.Context())
	leave := func(owner, name string, cleanup container.Cleanup, command, until string) {
		t.Helper()
		j := job(command)
		j.Name, j.Key, j.Cleanup, j.After, j.Deadline = name, name, cleanup, time.Hour, now.Add(time.Hour)
		e.leave(ctx, t, owner, j, until)
	}
	dead, elsewhere := dead(), "elsewhere/b/c/1/1"
	leave(dead, "kept", container.CleanupNever, "sleep 600", "running")
	leave(dead, "removed", container.CleanupAlways, "sleep 600", "running")
	leave(dead, "kept-for-an-hour", container.CleanupEventually, "sleep 600", "running")
	leave(elsewhere, "of-another-machine", container.CleanupAlways, "sleep 600", "running")
	leave(container.Owner(), "mine", container.CleanupAlways, "sleep 600", "running")
	leave(container.Owner(), "later", container.CleanupEventually, "true", "exited")
	sweep := func(want map[string]string) {
		t.Helper()
		if err := e.engine(container.Config{Now: func() time.Time { return now }}).Sweep(t.Context()); err != nil {
			t.Fatal(err)
		}
		e.mustHave(t, want)
	}
	sweep(map[string]string{"kept": "exited", "kept-for-an-hour": "exited", "of-another-machine": "running", "mine": "running", "later": "exited"})
	now = now.Add(59 * time.Minute)
	sweep(map[string]string{"kept": "exited", "kept-for-an-hour": "exited", "of-another-machine": "running", "mine": "running", "later": "exited"})
	now = now.Add(time.Hour)
	sweep(map[string]string{"kept": "exited", "mine": "running"})
	end()
	until(t, func() bool { _, there := e.states(t)["mine"]; return !there })
}

// leave starts a container of an owner, and returns when the container reaches a state.
func (e underTest) leave(ctx context.Context, t *testing.T, owner string, j container.Job, state string) {
	t.Helper()
	go func() { _, _ = e.engine(container.Config{Owner: owner}).Run(ctx, j) }() // it ends when its container does, or ctx
	until(t, func() bool { return e.states(t)[j.Name] == state })
}

// namesOfTheDead: the name of a container that Sweep would remove is free, although no sweep happened since then.
func namesOfTheDead(t *testing.T, e underTest) {
	now := time.Now()
	engine := e.engine(container.Config{Now: func() time.Time { return now }})
	run := func() error {
		j := job("true")
		j.Key, j.Cleanup = "another", container.CleanupAlways
		_, err := engine.Run(t.Context(), j)
		return err
	}
	if err := run(); err != nil { // from here on it does not sweep automatically
		t.Fatal(err)
	}
	ctx, end := context.WithCancel(t.Context())
	defer end()
	later := job("true")
	later.Cleanup, later.After = container.CleanupEventually, time.Hour
	removed := job("sleep 600")
	for _, left := range []struct {
		job   container.Job
		state string
		after time.Duration
	}{{removed, "running", 0}, {later, "exited", 2 * time.Hour}} {
		e.leave(ctx, t, dead(), left.job, left.state)
		if left.after > 0 {
			if err := run(); err == nil {
				t.Error("a container that is kept for an hour has lost its name at once")
			}
		}
		now = now.Add(left.after)
		if err := run(); err != nil {
			t.Errorf("the name of one that is %s: %v", left.state, err)
		}
	}
	e.mustHave(t, map[string]string{})
}

// neverStarted: a container that could not be started is removed, regardless of its cleanup, and the next attempt gets the same error.
func neverStarted(t *testing.T, e underTest) {
	for _, cleanup := range []container.Cleanup{container.CleanupNever, container.CleanupAlways, container.CleanupEventually} {
		for attempt := range 2 {
			j := job("true")
			j.Key, j.Cleanup, j.After, j.Command = fmt.Sprint(attempt), cleanup, time.Hour, []string{"no-such-program"}
			_, err := e.run(t, j)
			var refused *container.RefusedError
			if !errors.As(err, &refused) || !strings.Contains(err.Error(), "no-such-program") {
				t.Errorf("cleanup %s, attempt %d: %T %v", cleanup, attempt, err, err)
			}
			e.mustHave(t, map[string]string{})
		}
	}
}

// dead returns the owner string of a process of this machine that does not exist.
func dead() string {
	parts := strings.Split(container.Owner(), "/")
	parts[4] = "1" // when another process of that number began
	return strings.Join(parts, "/")
}

// boundsOutput: a container that writes without end is stopped, with a limit.
func boundsOutput(t *testing.T, e underTest) {
	for stream, command := range map[string]string{"stdout": "yes", "stderr": "yes >&2"} {
		var limit *container.LimitError
		j := job(command)
		j.KillAfter = 0
		if _, err := e.run(t, j); !errors.As(err, &limit) || limit.Stream != stream {
			t.Errorf("it ends with %v", err)
		}
		e.mustHave(t, map[string]string{})
	}
}
