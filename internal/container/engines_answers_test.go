package container_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/containerd/errdefs"
	types "github.com/moby/moby/api/types/container"
	moby "github.com/moby/moby/client"
)

// answers: the answers of the engine about missing objects, and about actions that were done before.
func answers(t *testing.T, e underTest) {
	ctx, none := t.Context(), "not-there"
	make := func(image, name string) (string, error) {
		made, err := e.api.ContainerCreate(ctx, moby.ContainerCreateOptions{Name: name, Config: &types.Config{Image: image, Cmd: []string{"sh", "-c", "exit 7"}}})
		return made.ID, err
	}
	id, err := make("alpine", "one")
	if err != nil {
		t.Fatal(err)
	}
	done := func(err error) bool { return err == nil }
	for _, c := range []struct {
		name string
		is   func(error) bool
		ask  func() error
	}{
		{"inspect an image that is not there", errdefs.IsNotFound, func() error { _, err := e.api.ImageInspect(ctx, none); return err }},
		{"make one of an image that is not there", errdefs.IsNotFound, func() error { _, err := make(none, "two"); return err }},
		{"make one of a name that is taken", isTaken, func() error { _, err := make("alpine", "one"); return err }},
		{"inspect one that is not there", errdefs.IsNotFound, func() error { _, err := e.api.ContainerInspect(ctx, none, moby.ContainerInspectOptions{}); return err }},
		{"start one that is not there", errdefs.IsNotFound, func() error { _, err := e.api.ContainerStart(ctx, none, moby.ContainerStartOptions{}); return err }},
		{"stop one that is not there", errdefs.IsNotFound, func() error { _, err := e.api.ContainerStop(ctx, none, moby.ContainerStopOptions{}); return err }},
		{"remove one that is not there", errdefs.IsNotFound, func() error {
			_, err := e.api.ContainerRemove(ctx, none, moby.ContainerRemoveOptions{Force: true})
			return err
		}},
		{"wait for one that is not there", errdefs.IsNotFound, func() error { _, err := e.wait(ctx, none); return err }},
		{"stop one that does not run", done, func() error { _, err := e.api.ContainerStop(ctx, "one", moby.ContainerStopOptions{}); return err }},
		{"start it", done, func() error { _, err := e.api.ContainerStart(ctx, id, moby.ContainerStartOptions{}); return err }},
		{"wait for its end", done, func() error { return e.waitFor(ctx, id, 7) }},
		{"wait for its end once more", done, func() error { return e.waitFor(ctx, id, 7) }},
		{"stop it when it has ended", done, func() error { _, err := e.api.ContainerStop(ctx, id, moby.ContainerStopOptions{}); return err }},
		{"remove it", done, func() error {
			_, err := e.api.ContainerRemove(ctx, id, moby.ContainerRemoveOptions{Force: true})
			return err
		}},
		{"inspect it when it is gone", errdefs.IsNotFound, func() error { _, err := e.api.ContainerInspect(ctx, id, moby.ContainerInspectOptions{}); return err }},
	} {
		if err := c.ask(); !c.is(err) {
			t.Errorf("%s: %T %v", c.name, err, err)
		}
	}
}

// isTaken reports whether a name is used. Podman has a separate status for this since 4.4.
func isTaken(err error) bool { return errdefs.IsConflict(err) || errdefs.IsInternal(err) }

func (e underTest) wait(ctx context.Context, id string) (int64, error) {
	wait := e.api.ContainerWait(ctx, id, moby.ContainerWaitOptions{Condition: types.WaitConditionNotRunning})
	select {
	case end := <-wait.Result:
		return end.StatusCode, nil
	case err := <-wait.Error:
		return 0, err
	}
}

func (e underTest) waitFor(ctx context.Context, id string, code int64) error {
	got, err := e.wait(ctx, id)
	if err == nil && got != code {
		err = fmt.Errorf("it has ended with %d", got)
	}
	return err
}
