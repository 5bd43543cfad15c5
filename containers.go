package swrun

import (
	"context"
	"log/slog"

	"github.com/swrun/swrun/internal/container"
	"github.com/swrun/swrun/tasks"
)

// Containers lets tasks run containers by the engine of Docker or Podman that the clients of these would find, by DOCKER_HOST, CONTAINER_HOST, the
// context of Docker, or its socket. Who may run containers there can do with that machine what the engine can: have an engine without
// privileges, or trust who writes documents.
//
// While an Engine works, it stops the containers of processes that were killed, and removes those that were to be removed some time after their
// end. A run in memory does the same when it starts a container.
type Containers struct {
	// Volumes are the folders of the engine's machine, and what is in them, and the names of volumes, that containers may have. / is all of
	// them; none unless set.
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

// watchContainers looks after the containers that nobody waits for, until ctx ends.
func (e *environment) watchContainers(ctx context.Context) {
	if e.engine != nil {
		e.engine.Engine.Watch(ctx)
	}
}

// watchUsedContainers is watchContainers from the first container on.
func (e *environment) watchUsedContainers(ctx context.Context) {
	if e.engine != nil {
		e.engine.Engine.WatchOnceUsed(ctx)
	}
}
