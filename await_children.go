package swrun

import (
	"context"
	"slices"
	"time"

	"github.com/swrun/swrun/interpreter"
	"github.com/swrun/swrun/runtime/client"
	"github.com/swrun/swrun/runtime/execution"
	"github.com/swrun/swrun/runtime/store"
)

// AwaitChildren waits until the runs that end with this run are ended, and the runs that end with those. This run must be ended. AwaitChildren
// returns the runs that are still in progress when ctx ends. It does not wait for children that continue on their own (`parentClose: abandon`).
// AwaitChildren works on no run: without a process that works on the store it waits until ctx ends. If it waits for more than a second, it calls
// outlasting once, unless that is nil, with the places of the tasks that started these runs.
func (r *Run) AwaitChildren(ctx context.Context, outlasting func([]interpreter.Path)) (left []store.Instance, err error) {
	c := &closing{engine: r.engine}
	if err := c.add(ctx, startedRun{Instance: r.Instance}); err != nil {
		return nil, err
	}
	ticker, since := time.NewTicker(settleEvery), time.Now()
	defer ticker.Stop()
	var known []startedRun
	for {
		left, err := c.look(ctx)
		switch {
		case err != nil && ctx.Err() != nil: // ctx ended during the request to the store
			return instancesOf(known), ctx.Err()
		case err != nil || len(left) == 0:
			return nil, err
		}
		known = left
		if outlasting != nil && time.Since(since) > time.Second {
			outlasting(pathsOf(left))
			outlasting = nil
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return instancesOf(left), ctx.Err()
		}
	}
}

// closing follows the end of a run to the runs that end with it.
type closing struct {
	engine *Engine
	ended  []store.Instance
	open   []startedRun // started by the runs in ended
}

// startedRun is a run, and the task of the first run that led to it.
type startedRun struct {
	store.Instance
	path interpreter.Path
}

func instancesOf(all []startedRun) (instances []store.Instance) {
	for _, one := range all {
		instances = append(instances, one.Instance)
	}
	return instances
}

func pathsOf(all []startedRun) (paths []interpreter.Path) {
	for _, one := range all {
		if !slices.Contains(paths, one.path) {
			paths = append(paths, one.path)
		}
	}
	return paths
}

// add records an ended run, and the runs that it started.
func (c *closing) add(ctx context.Context, run startedRun) error {
	c.ended = append(c.ended, run.Instance)
	_, err := c.engine.client.History(ctx, run.Instance, 0, func(entry client.HistoryEntry) error {
		for _, e := range entry.Events {
			if e.Type != interpreter.EffectStarted || e.Run == "" {
				continue
			}
			path := run.path
			if path == "" {
				path = e.Path
			}
			c.open = append(c.open, startedRun{store.InstanceOf(e.Run), path})
		}
		return nil
	})
	return err
}

// look returns the runs that are still in progress but must end. The message that ends such a run is in its mail, or on its way.
func (c *closing) look(ctx context.Context) (left []startedRun, err error) {
	told, err := c.onTheWay(ctx) // before the mail is read, since these messages arrive there
	if err != nil {
		return nil, err
	}
	open, further := c.open, false
	c.open = nil
	for _, run := range open {
		l, err := c.engine.store.Load(ctx, run.Instance)
		switch {
		case store.RefusedAs(err) == store.NoSuch && told[run.Instance]:
		case store.RefusedAs(err) == store.NoSuch:
			continue
		case err != nil:
			return nil, err
		case l.Lifecycle.Status.Final():
			if err := c.add(ctx, run); err != nil {
				return nil, err
			}
			further = true
			continue
		}
		c.open = append(c.open, run)
		if told[run.Instance] || l.Lifecycle.Mail > l.Lifecycle.Read {
			left = append(left, run)
		}
	}
	if len(left) == 0 && further {
		return c.look(ctx) // at the runs that were started by runs that are now ended
	}
	return left, nil
}

// maxOnTheWay is the maximum number of entries that onTheWay reads of an outbox.
const maxOnTheWay = 1000

// onTheWay returns the runs to which the ended runs have sent a message that is still on its way.
func (c *closing) onTheWay(ctx context.Context) (told map[store.Instance]bool, err error) {
	told = map[store.Instance]bool{}
	looked := map[int]bool{}
	for _, from := range c.ended {
		partition := from.Partition(c.engine.store.Layout().Partitions)
		if looked[partition] {
			continue
		}
		looked[partition] = true
		work, err := c.engine.store.Poll(ctx, partition, maxOnTheWay, false)
		if err != nil {
			return nil, err
		}
		for _, entry := range work.Outbox {
			o, err := execution.ParseOutgoing(entry.Data)
			switch {
			case err != nil: // the worker that delivers it reports the fault
			case o.Deliver != nil:
				told[o.Deliver.To] = true
			case o.Child != nil:
				told[store.Instance{Namespace: o.Child.Workflow.Namespace, ID: o.Child.ID}] = true
			}
		}
	}
	return told, nil
}
