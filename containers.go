package swrun

import (
	"github.com/swrun/swrun/internal/container"
	"github.com/swrun/swrun/tasks"
)

// Containers lets tasks run containers by the engine of Docker or Podman that the clients of these would find, by DOCKER_HOST, CONTAINER_HOST, the
// context of Docker, or its socket. Who may run containers there can do with that machine what the engine can: have an engine without
// privileges, or trust who writes documents.
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

func (c *Containers) engine() *tasks.Containers {
	if c == nil {
		return nil
	}
	return &tasks.Containers{Engine: container.New(container.Config{}), Volumes: c.Volumes}
}
