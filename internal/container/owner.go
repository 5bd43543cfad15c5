package container

import (
	"context"
	"fmt"
	"maps"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/containerd/errdefs"
	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/client"
)

// The labels of containers, beside those of the job. They say whose a container is, and what becomes of it.
const (
	LabelKey      = "swrun.key"      // of the effect
	labelOwner    = "swrun.owner"    // the process that waits for it
	labelCleanup  = "swrun.cleanup"  // as the task says
	labelAfter    = "swrun.after"    // of CleanupEventually
	labelDeadline = "swrun.deadline" // after which nobody waits for it
)

func (r *running) labels() map[string]string {
	all := map[string]string{LabelKey: r.job.Key, labelOwner: r.engine.owner(), labelCleanup: string(r.job.Cleanup)}
	if r.job.Cleanup == CleanupEventually {
		all[labelAfter] = r.job.After.String()
	}
	if !r.job.Deadline.IsZero() {
		all[labelDeadline] = r.job.Deadline.UTC().Format(time.RFC3339)
	}
	maps.Copy(all, r.job.Labels)
	return all
}

// forget removes what the engine may have made although it has not said so.
func (r *running) forget() {
	ctx, cancel := context.WithTimeout(context.Background(), maxForget)
	defer cancel()
	_ = r.replace(ctx) // what fails here, Sweep does
}

// maxForget is how long a task that could not make a container looks for one.
const maxForget = 2 * time.Second

// leave stops the container if it runs, and removes it if nobody wants it. The task may have ended, so that it has a time of its own.
func (r *running) leave() {
	ctx, cancel := context.WithTimeout(context.Background(), r.job.KillAfter+maxAnswer)
	defer cancel()
	if !r.ended {
		_ = stop(ctx, r.client, r.id, r.job.KillAfter) // what fails here, Sweep does
	}
	if r.job.Cleanup == CleanupAlways {
		_ = remove(ctx, r.client, r.id) // the same
	}
}

func stop(ctx context.Context, c *client.Client, id string, killAfter time.Duration) error {
	seconds := int(max(0, killAfter).Round(time.Second).Seconds())
	_, err := c.ContainerStop(ctx, id, client.ContainerStopOptions{Timeout: &seconds})
	if errdefs.IsNotFound(err) {
		return nil
	}
	return err
}

func remove(ctx context.Context, c *client.Client, id string) error {
	_, err := ask(ctx, func(ctx context.Context) (client.ContainerRemoveResult, error) {
		return c.ContainerRemove(ctx, id, client.ContainerRemoveOptions{Force: true, RemoveVolumes: true})
	})
	if errdefs.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return failed("the container "+id+" cannot be removed", err)
	}
	return nil
}

// End stops what still runs of an owner that has ended, and removes what is to be removed.
func (e *Engine) End(ctx context.Context, owner string) error {
	return e.each(ctx, client.Filters{}.Add("label", labelOwner+"="+owner), func(s container.Summary) disposal {
		return disposal{stop: s.State == container.StateRunning, remove: s.State == container.StateCreated || s.Labels[labelCleanup] == string(CleanupAlways)}
	})
}

// Sweep does so for all owners that have ended, as far as that can be known, and removes what was to be removed some time after its end. An
// owner is known to have ended if it was a process of this machine; of others, only those containers are stopped whose deadline has passed.
func (e *Engine) Sweep(ctx context.Context) error {
	return e.each(ctx, client.Filters{}.Add("label", labelOwner), func(s container.Summary) disposal {
		gone := ended(s.Labels[labelOwner]) || e.overdue(s.Labels)
		idle := s.State == container.StateCreated || s.Labels[labelCleanup] == string(CleanupAlways)
		return disposal{
			stop: gone && s.State == container.StateRunning, remove: gone && idle,
			after: s.State == container.StateExited && s.Labels[labelCleanup] == string(CleanupEventually),
		}
	})
}

// overdue is how long a container may run beyond its deadline, at which its owner stops it.
const overdue = time.Minute

func (e *Engine) overdue(labels map[string]string) bool {
	deadline, err := time.Parse(time.RFC3339, labels[labelDeadline])
	return err == nil && e.config.Now().After(deadline.Add(overdue))
}

// disposal is what has to be done with a container.
type disposal struct {
	stop, remove bool
	after        bool // remove it if it has ended long enough ago
}

// each disposes of containers; what fails with one does not keep it from the others.
func (e *Engine) each(ctx context.Context, filters client.Filters, decide func(container.Summary) disposal) error {
	c, err := e.connect()
	if err != nil {
		return err
	}
	all, err := ask(ctx, func(ctx context.Context) (client.ContainerListResult, error) {
		return c.ContainerList(ctx, client.ContainerListOptions{All: true, Filters: filters})
	})
	if err != nil {
		return failed("containers cannot be listed", err)
	}
	var first error
	for _, s := range all.Items {
		if err := e.dispose(ctx, c, s, decide(s)); err != nil && first == nil {
			first = err
		}
	}
	return first
}

func (e *Engine) dispose(ctx context.Context, c *client.Client, s container.Summary, d disposal) error {
	if d.stop {
		if err := stop(ctx, c, s.ID, 0); err != nil {
			return failed("the container "+s.ID+" cannot be stopped", err)
		}
	}
	if d.remove || d.after && e.longOver(ctx, c, s) {
		return remove(ctx, c, s.ID)
	}
	return nil
}

// longOver reports whether a container has ended longer ago than it is kept.
func (e *Engine) longOver(ctx context.Context, c *client.Client, s container.Summary) bool {
	after, err := time.ParseDuration(s.Labels[labelAfter])
	if err != nil {
		return false
	}
	there, err := ask(ctx, func(ctx context.Context) (client.ContainerInspectResult, error) {
		return c.ContainerInspect(ctx, s.ID, client.ContainerInspectOptions{})
	})
	if err != nil || there.Container.State == nil {
		return false
	}
	finished, err := time.Parse(time.RFC3339Nano, there.Container.State.FinishedAt)
	return err == nil && !finished.IsZero() && e.config.Now().After(finished.Add(after))
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

// ended reports whether an owner is known to have ended.
func ended(owner string) bool {
	parts := strings.Split(owner, "/")
	if len(parts) != 5 {
		return false
	}
	host, _ := os.Hostname() // without a name it is nobody's
	boot, space := here()
	switch {
	case host == "" || boot == "" || parts[0] != host || parts[1] == "":
		return false
	case parts[1] != boot:
		return true // it was started before the machine was
	case parts[2] != space:
		return false
	}
	return began(parts[3]) != parts[4]
}
