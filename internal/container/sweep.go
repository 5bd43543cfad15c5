package container

import (
	"cmp"
	"context"
	"strings"
	"sync"
	"time"

	"github.com/containerd/errdefs"
	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/client"
)

const (
	watchEvery    = 5 * time.Second  // between two sweeps
	maxFirst      = 10 * time.Second // maximum time for which the first job waits for the first sweep
	maxDisposals  = 16               // at a time
	killLeftAfter = 2 * time.Second  // between SIGTERM and SIGKILL of an abandoned container
	// overdue is the time for which a container of another machine may run after its deadline. It is also the time for which an ended container stays
	// after its time, while another process may still read its result.
	overdue = time.Minute
)

// Watch sweeps immediately, and then every few seconds until ctx ends. An engine that does not answer is logged once.
func (e *Engine) Watch(ctx context.Context) {
	e.sweepFirst(ctx)
	e.WatchOnceUsed(ctx)
}

// WatchOnceUsed is Watch from the first job on, so that a program that starts no container does not connect to an engine.
func (e *Engine) WatchOnceUsed(ctx context.Context) {
	select {
	case <-e.swept:
	case <-ctx.Done():
		return
	}
	every := time.NewTicker(watchEvery)
	defer every.Stop()
	for failing := false; ; {
		select {
		case <-every.C:
		case <-ctx.Done():
			return
		}
		err := e.Sweep(ctx)
		if err != nil && !failing && ctx.Err() == nil {
			e.config.Log.Warn("containers that nobody waits for cannot be looked for", "error", err)
		}
		failing = err != nil
	}
}

// sweepFirst sweeps before the first job, and makes other jobs wait for that. A container of a killed process may use the name or the ports of a new
// container.
func (e *Engine) sweepFirst(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, maxFirst)
	defer cancel()
	if e.begun.CompareAndSwap(false, true) {
		defer close(e.swept)
		_ = e.Sweep(ctx) // the job or Watch reports the fault of the engine
		return
	}
	select {
	case <-e.swept:
	case <-ctx.Done():
	}
}

// Sweep stops the containers of processes that are over, as far as that can be known. It removes containers that are to be removed, and containers
// whose time after their end is over. The end of a process of this machine can be known. Containers of other machines are stopped only after their
// deadline. Containers of this engine are stopped if no job waits for them.
func (e *Engine) Sweep(ctx context.Context) error {
	engine, err := e.connect()
	if err != nil {
		return err
	}
	c := engine.answers
	all, err := ask(ctx, func(ctx context.Context) (client.ContainerListResult, error) {
		return c.ContainerList(ctx, client.ContainerListOptions{All: true, Filters: client.Filters{}.Add("label", labelOwner)})
	})
	if err != nil {
		e.Close() // the engine may be started later, and at another address
		return failed("containers cannot be listed", err)
	}
	return e.disposeAll(ctx, c, all.Items)
}

// disposeAll disposes of containers; a failure with one does not keep it from the others.
func (e *Engine) disposeAll(ctx context.Context, c *client.Client, all []container.Summary) (first error) {
	var disposing sync.WaitGroup
	var mu sync.Mutex
	ends := map[string]time.Time{}
	places := make(chan struct{}, maxDisposals)
	for _, s := range all {
		d := e.judge(s.Labels, s.State)
		if d == (disposal{}) {
			continue
		}
		places <- struct{}{}
		disposing.Go(func() {
			defer func() { <-places }()
			end, err := e.dispose(ctx, c, s, d)
			mu.Lock()
			defer mu.Unlock()
			first = cmp.Or(first, err)
			if !end.IsZero() {
				ends[s.ID] = end
			}
		})
	}
	disposing.Wait()
	e.mu.Lock()
	defer e.mu.Unlock()
	e.ends = ends
	return first
}

// disposal is the cleanup of one container.
type disposal struct {
	stop, remove bool
	// after removes it if it ended long enough ago.
	after bool
}

// judge decides the disposal of a container with the labels of this package.
func (e *Engine) judge(labels map[string]string, state container.ContainerState) disposal {
	cleanup, created := Cleanup(labels[labelCleanup]), state == container.StateCreated
	over := created || state == container.StateExited || state == container.StateDead || state == container.StateRemoving
	abandoned := e.isAbandoned(labels)
	return disposal{
		stop:   abandoned && !over,
		remove: abandoned && (created || cleanup == CleanupAlways) && state != container.StateRemoving,
		after:  over && cleanup == CleanupEventually,
	}
}

// isAbandoned reports whether no process waits for a container.
func (e *Engine) isAbandoned(labels map[string]string) bool {
	if labels[labelEngine] == e.id {
		return !e.isPerforming(labels[LabelKey])
	}
	life := lifeOf(labels[labelOwner])
	return life == lifeOver || life == lifeUnknown && e.isOverdue(labels)
}

func (e *Engine) isOverdue(labels map[string]string) bool {
	deadline, err := time.Parse(time.RFC3339, labels[labelDeadline])
	return err == nil && e.config.Now().After(deadline.Add(overdue))
}

// isLeftover reports whether Sweep would remove a container.
func (e *Engine) isLeftover(there container.InspectResponse) bool {
	if there.State == nil || there.Config.Labels[labelOwner] == "" {
		return false
	}
	d := e.judge(there.Config.Labels, there.State.Status)
	return d.remove || d.after && e.isLongOver(there.Config.Labels, endOf(there))
}

// dispose returns the end of the container, if it is needed again.
func (e *Engine) dispose(ctx context.Context, c *client.Client, s container.Summary, d disposal) (end time.Time, err error) {
	log := e.config.Log.With("container", strings.TrimPrefix(strings.Join(s.Names, " "), "/"), "run", s.Labels["swrun.run"], "task", s.Labels["swrun.task"])
	if d.stop {
		if err := stop(ctx, c, s.ID, killLeftAfter); err != nil {
			return end, failed("the container "+s.ID+" cannot be stopped", err)
		}
		log.Info("an abandoned container was stopped")
	}
	if d.after {
		if end = e.endOf(ctx, c, s.ID); e.isLongOver(s.Labels, end) {
			d.remove = true
		}
	}
	if !d.remove {
		return end, nil
	}
	if err := remove(ctx, c, s.ID); err != nil {
		return end, err
	}
	log.Info("a container was removed")
	return time.Time{}, nil
}

// endOf returns the end of a container; zero if it is not known. It is read once.
func (e *Engine) endOf(ctx context.Context, c *client.Client, id string) time.Time {
	e.mu.Lock()
	end := e.ends[id]
	e.mu.Unlock()
	if !end.IsZero() {
		return end
	}
	there, err := inspect(ctx, c, id)
	if err != nil || there.State == nil {
		return time.Time{} // the next sweep asks again
	}
	return endOf(there)
}

func endOf(there container.InspectResponse) time.Time {
	end, err := time.Parse(time.RFC3339Nano, there.State.FinishedAt)
	if err != nil {
		return time.Time{}
	}
	return end
}

// isLongOver reports whether a container ended longer ago than its time in the engine.
func (e *Engine) isLongOver(labels map[string]string, end time.Time) bool {
	after, err := time.ParseDuration(labels[labelAfter])
	if err != nil || end.IsZero() {
		return false
	}
	if !e.isAbandoned(labels) {
		if labels[labelEngine] == e.id {
			return false // its job has not read its result
		}
		after += overdue
	}
	return e.config.Now().After(end.Add(after))
}

func inspect(ctx context.Context, c *client.Client, id string) (container.InspectResponse, error) {
	there, err := ask(ctx, func(ctx context.Context) (client.ContainerInspectResult, error) {
		return c.ContainerInspect(ctx, id, client.ContainerInspectOptions{})
	})
	return there.Container, err
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
	if errdefs.IsNotFound(err) || errdefs.IsConflict(err) { // it was removed before, or another process removes it
		return nil
	}
	if err != nil {
		return failed("the container "+id+" cannot be removed", err)
	}
	return nil
}
