package control

import (
	"context"

	"github.com/swrun/swrun/errors"
	"github.com/swrun/swrun/internal/api"
	"github.com/swrun/swrun/runtime/client"
	"github.com/swrun/swrun/runtime/definition"
	"github.com/swrun/swrun/runtime/queue"
	"github.com/swrun/swrun/runtime/store"
)

// Queues returns the task queues with waiting work, workers, polls, limits or a pause, as queue.States does. A caller of some namespaces does not get
// the number of performed tasks.
func (c *Control) Queues(ctx context.Context, _ *api.None) ([]api.Queue, error) {
	workers, err := c.store.Workers(ctx)
	var unknown *store.UnheardError
	if err != nil && !errors.As(err, &unknown) {
		return nil, err
	}
	found, err := queue.States(ctx, c.store, workers)
	if err != nil {
		return nil, err
	}
	granted := definition.GrantedIn(ctx)
	all := []api.Queue{}
	for n := range found {
		q := api.NewQueue(&found[n])
		if granted != nil {
			q.Performing = nil
		}
		if unknown != nil {
			q.WorkersUnknown, q.Unpolled = unknown.What, false
		}
		all = append(all, q)
	}
	return all, nil
}

// LimitQueue changes the limits of a queue, and returns the queue in the form of Queues.
func (c *Control) LimitQueue(ctx context.Context, in *api.QueueLimit) (api.Queue, error) {
	note, replaced := replacing(in.Body.Replace)
	q, err := c.changeQueue(ctx, in.Name, in.Body.Reason, queue.Edit{Replaced: note, Apply: func(r *queue.Rules) error {
		if in.Body.Concurrency != "" {
			if err := r.SetConcurrency(in.Body.Concurrency); err != nil {
				return err
			}
		}
		if in.Body.Rate != "" {
			return r.SetRate(in.Body.Rate)
		}
		return nil
	}})
	q.Replaced = *replaced
	return q, err
}

// PauseQueue stops the start of activities and tasks of a queue.
func (c *Control) PauseQueue(ctx context.Context, in *api.QueueCommand) (api.Queue, error) {
	d := c.decision(ctx, in.AuditReason())
	return c.changeQueue(ctx, in.Name, d.Reason, queue.Edit{Apply: func(r *queue.Rules) error { r.Pause(d); return nil }})
}

// ResumeQueue ends the pause of a queue.
func (c *Control) ResumeQueue(ctx context.Context, in *api.QueueCommand) (api.Queue, error) {
	return c.changeQueue(ctx, in.Name, in.AuditReason(), queue.Edit{Apply: func(r *queue.Rules) error { r.Resume(); return nil }})
}

func (c *Control) decision(ctx context.Context, reason string) queue.Decision {
	return queue.Decision{At: c.now().UTC(), Actor: client.Actor(ctx), Reason: reason}
}

// changeQueue changes the rules of a queue. If the queues cannot be read after the change, the answer contains the rules, and the reason.
func (c *Control) changeQueue(ctx context.Context, name, reason string, edit queue.Edit) (api.Queue, error) {
	rules, err := queue.Change(ctx, c.store, name, c.decision(ctx, reason), edit)
	if err != nil {
		return api.Queue{}, err
	}
	all, err := c.Queues(ctx, nil)
	for _, q := range all {
		if q.Name == name {
			return q, err
		}
	}
	q := api.NewQueue(&queue.State{Name: name, Rules: rules})
	if err != nil { // the change is applied: its answer is no error
		q.Performing, q.StateUnknown = nil, err.Error()
		if definition.GrantedIn(ctx) != nil {
			q.StateUnknown = "the queues cannot be read"
		}
	}
	return q, nil
}
