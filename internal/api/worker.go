package api

import (
	"github.com/swrun/swrun/internal/access"
	"github.com/swrun/swrun/runtime/presence"
)

// ListWorkers lists the workers, the longest present first.
func ListWorkers() Operation[None, []Worker] {
	return Operation[None, []Worker]{
		ID: "listWorkers", Method: getMethod, Path: "/v1/workers", Role: access.RoleViewer, Tag: "deployment",
		Summary: "The workers that are there",
	}
}

// Worker is a worker that is present.
type Worker struct {
	Name    string       `json:"name" doc:"Under which it holds runs."`
	Version string       `json:"version" doc:"Of its program."`
	Host    string       `json:"host,omitempty" doc:"Its machine; absent for a caller of some namespaces."`
	Process int          `json:"process,omitempty" doc:"Its id on the host; absent for a caller of some namespaces."`
	Since   string       `json:"since" doc:"From when on it is there."`
	SeenAt  string       `json:"seenAt" doc:"When it announced itself last, which it does every ten seconds."`
	Grants  WorkerGrants `json:"grants" doc:"The grants of tasks on this worker."`
	Queues  []string     `json:"queues" doc:"The task queues that it takes; * stands for all."`
	Runs    []string     `json:"runs,omitempty" doc:"The runs that it executes, and their children; absent if it executes all runs."`

	Concurrency int  `json:"concurrency" doc:"How many runs may perform something there at a time."`
	Held        *int `json:"held,omitempty" doc:"Runs in its memory; absent for a caller of some namespaces."`
	Performing  *int `json:"performing,omitempty" doc:"Runs that perform something there, or are about to; absent for a caller of some namespaces."`
	Draining    bool `json:"draining,omitempty" doc:"It stops, and takes nothing any more."`
}

// WorkerGrants are the resources that tasks may use at a worker.
type WorkerGrants struct {
	Processes  bool     `json:"processes" doc:"Shell commands and scripts."`
	Containers bool     `json:"containers" doc:"Containers."`
	Volumes    []string `json:"volumes,omitempty" doc:"Folders of its machine, and volumes, that containers may have; absent for a caller of some namespaces."`
	Files      bool     `json:"files" doc:"Files of its machine, as external resources."`
	Network    string   `json:"network" doc:"The allowed addresses of calls: any, public, deny, or prefixes besides public addresses."`
	Scripts    []string `json:"scripts,omitempty" doc:"Languages of scripts that run there."`
	Calls      []string `json:"calls,omitempty" doc:"Kinds of call that its program performs itself."`
}

// NewWorker returns the JSON of a worker.
func NewWorker(w presence.Worker) Worker {
	worker := Worker{
		Name: w.Name, Version: w.Version, Host: w.Host, Process: w.Process, Since: Time(w.Since), SeenAt: Time(w.Seen),
		Grants: WorkerGrants{Processes: w.Grants.Processes, Containers: w.Grants.Containers, Volumes: w.Grants.Volumes, Files: w.Grants.Files, Network: w.Grants.Network, Scripts: w.Grants.Scripts, Calls: w.Grants.Calls},
		Queues: append([]string{}, w.Queues...), Concurrency: w.Concurrency, Held: &w.Held, Performing: &w.Performing, Draining: w.Draining,
	}
	for _, i := range w.Runs {
		worker.Runs = append(worker.Runs, i.String())
	}
	return worker
}
