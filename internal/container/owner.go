package container

import (
	"context"
	"fmt"
	"maps"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/moby/moby/api/types/container"
)

// The labels of containers, beside the labels of the job. They name the owner of a container, and specify its cleanup.
const (
	LabelKey      = "swrun.key"      // of the effect
	labelOwner    = "swrun.owner"    // the process that waits for it
	labelCleanup  = "swrun.cleanup"  // as the task specifies
	labelAfter    = "swrun.after"    // of CleanupEventually
	labelDeadline = "swrun.deadline" // after which its task no longer waits for it
	labelEngine   = "swrun.engine"   // the Engine of that process that made it
)

func (r *running) labels() map[string]string {
	all := map[string]string{LabelKey: r.job.Key, labelOwner: r.engine.owner(), labelEngine: r.engine.id, labelCleanup: string(r.job.Cleanup)}
	if r.job.Cleanup == CleanupEventually {
		all[labelAfter] = r.job.After.String()
	}
	if !r.job.Deadline.IsZero() {
		all[labelDeadline] = r.job.Deadline.UTC().Format(time.RFC3339)
	}
	maps.Copy(all, r.job.Labels)
	return all
}

// forget removes a container that the engine may have made without an answer.
func (r *running) forget() {
	ctx, cancel := context.WithTimeout(context.Background(), maxForget)
	defer cancel()
	_ = r.replace(ctx) // if it fails here, Sweep does it
}

// maxForget is the maximum duration of the search for a container of a task that could not make one.
const maxForget = 2 * time.Second

// leave stops the container if it runs, and removes it if it was not started or its task wants it removed. The task may be over, so that this has a
// separate time limit.
func (r *running) leave() {
	ctx, cancel := context.WithTimeout(context.Background(), r.job.KillAfter+maxAnswer)
	defer cancel()
	if r.begun != startRefused && !r.ended {
		_ = stop(ctx, r.client, r.id, r.job.KillAfter) // if it fails here, Sweep does it
	}
	if r.job.Cleanup == CleanupAlways || r.begun == startRefused || r.begun == startUnknown && r.isCreated(ctx) {
		_ = remove(ctx, r.client, r.id) // the same
	}
}

// isCreated reports whether the engine reports that the container was never started.
func (r *running) isCreated(ctx context.Context) bool {
	there, err := inspect(ctx, r.client, r.id)
	return err == nil && there.State != nil && there.State.Status == container.StateCreated
}

// Owner returns the identity of this process in labels: its host, the boot of it, its namespace of processes, its process id and its start.
func Owner() string {
	host, _ := os.Hostname() // without a name, it is empty
	boot, space := here()
	return strings.Join([]string{host, boot, space, strconv.Itoa(os.Getpid()), began("self")}, "/")
}

// here returns the boot of this machine and the namespace of processes; both are empty if the system does not report them.
func here() (boot, space string) {
	data, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return "", ""
	}
	space, err = os.Readlink("/proc/self/ns/pid")
	if err != nil {
		return "", ""
	}
	return strings.TrimSpace(string(data)), strings.Trim(space, "pid:[]")
}

// began returns the start of a process, in the clock of its machine; empty if the process does not exist.
func began(process string) string {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%s/stat", process))
	if err != nil {
		return ""
	}
	text := string(data)
	fields := strings.Fields(text[strings.LastIndexByte(text, ')')+1:])
	const state, start = 0, 19
	if len(fields) <= start || fields[state] == "Z" {
		return ""
	}
	return fields[start]
}

// life is the knowledge about an owner.
type life int

const (
	lifeUnknown life = iota // it is on another machine, or in a namespace of processes that cannot be read
	lifeGoing
	lifeOver
)

func lifeOf(owner string) life {
	parts := strings.Split(owner, "/")
	if len(parts) != 5 {
		return lifeUnknown
	}
	host, _ := os.Hostname() // without a name, no owner matches
	boot, space := here()
	switch {
	case host == "" || boot == "" || parts[0] != host || parts[1] == "":
		return lifeUnknown
	case parts[1] != boot:
		return lifeOver // it was started before the machine was
	case parts[2] != space:
		return lifeUnknown
	case began(parts[3]) != parts[4]:
		return lifeOver
	}
	return lifeGoing
}
