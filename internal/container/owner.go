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

// The labels of containers, beside those of the job. They say whose a container is, and what becomes of it.
const (
	LabelKey      = "swrun.key"      // of the effect
	labelOwner    = "swrun.owner"    // the process that waits for it
	labelCleanup  = "swrun.cleanup"  // as the task says
	labelAfter    = "swrun.after"    // of CleanupEventually
	labelDeadline = "swrun.deadline" // after which nobody waits for it
	labelEngine   = "swrun.engine"   // the Engine of that process which has made it
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

// forget removes a container that the engine may have made although it has not said so.
func (r *running) forget() {
	ctx, cancel := context.WithTimeout(context.Background(), maxForget)
	defer cancel()
	_ = r.replace(ctx) // what fails here, Sweep does
}

// maxForget is how long a task that could not make a container looks for one.
const maxForget = 2 * time.Second

// leave stops the container if it runs, and removes it if it was not started or its task wants it removed. The task may have ended, so that this has
// a time of its own.
func (r *running) leave() {
	ctx, cancel := context.WithTimeout(context.Background(), r.job.KillAfter+maxAnswer)
	defer cancel()
	if r.begun != startRefused && !r.ended {
		_ = stop(ctx, r.client, r.id, r.job.KillAfter) // what fails here, Sweep does
	}
	if r.job.Cleanup == CleanupAlways || r.begun == startRefused || r.begun == startUnknown && r.isCreated(ctx) {
		_ = remove(ctx, r.client, r.id) // the same
	}
}

// isCreated reports whether the engine says that the container was never started.
func (r *running) isCreated(ctx context.Context) bool {
	there, err := inspect(ctx, r.client, r.id)
	return err == nil && there.State != nil && there.State.Status == container.StateCreated
}

// Owner returns what names this process in labels: its host, the boot of it, its namespace of processes, its id there and when it began.
func Owner() string {
	host, _ := os.Hostname() // without a name it has none
	boot, space := here()
	return strings.Join([]string{host, boot, space, strconv.Itoa(os.Getpid()), began("self")}, "/")
}

// here returns the boot of this machine and the namespace of processes; both are empty where a system does not tell.
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

// began returns when a process was started, in the clock of its machine; empty if it is not there.
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

// life is what is known of an owner.
type life int

const (
	lifeUnknown life = iota // it is of another machine, or of a namespace of processes that cannot be looked into
	lifeGoing
	lifeOver
)

func lifeOf(owner string) life {
	parts := strings.Split(owner, "/")
	if len(parts) != 5 {
		return lifeUnknown
	}
	host, _ := os.Hostname() // without a name it is nobody's
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
