package swrun

import (
	"context"
	"log/slog"

	"github.com/swrun/swrun/internal/container"
	"github.com/swrun/swrun/tasks"
)

// Containers lets tasks run containers on the engine of Docker or Podman that their clients would use, according to DOCKER_HOST, CONTAINER_HOST, the
// context of Docker, or its socket. A user of that engine can do everything on its machine that the engine can do: use an engine without privileges,
// or accept only documents of authors that you trust.
//
// While an Engine works, it stops the containers of processes that were killed, and removes the containers whose time after their end is over. A run
// in memory does the same when it starts a container.
type Containers struct {
	// Volumes are the volumes that containers may mount: names of volumes, and folders of the engine's machine with their content. / allows all folders;
	// the default allows no volume.
	Volumes []string
}

func (c *Containers) volumes() []string {
	if c == nil {
		return nil
	}
	return c.Volumes
}

func (c *Containers) engine(log *slog.Logger) *tasks.Containers {
	if c == nil {
		return nil
	}
	return &tasks.Containers{Engine: container.New(container.Config{Log: log}), Volumes: c.Volumes}
}

// watchContainers stops and removes the containers that no task waits for, until ctx ends.
func (e *environment) watchContainers(ctx context.Context) {
	if e.engine != nil {
		e.engine.Engine.Watch(ctx)
	}
}

// watchUsedContainers is watchContainers, which begins with the first container.
func (e *environment) watchUsedContainers(ctx context.Context) {
	if e.engine != nil {
		e.engine.Engine.WatchOnceUsed(ctx)
	}
}
