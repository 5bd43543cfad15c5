package control

import (
	"context"
	"encoding/base64"
	"unicode/utf8"

	"github.com/swrun/swrun/errors"
	"github.com/swrun/swrun/internal/api"
	"github.com/swrun/swrun/internal/deadletter"
	"github.com/swrun/swrun/runtime/events"
)

// KeepDead keeps a message that a source cannot publish.
func (c *Control) KeepDead(ctx context.Context, m deadletter.Message) error {
	return deadletter.Keep(ctx, c.store, m)
}

// DeadMessages returns the messages that sources could not publish, if the caller may see them: the messages of one source, or of all sources without
// a name.
func (c *Control) DeadMessages(ctx context.Context, in *api.DeadMessageList) ([]api.DeadMessage, error) {
	namespaces, err := Audience(ctx, in.Namespace)
	if err != nil {
		return nil, err
	}
	boxes, err := deadletter.All(ctx, c.store, namespaces)
	if err != nil {
		return nil, err
	}
	all := []api.DeadMessage{}
	for _, b := range boxes {
		for _, l := range b.Letters {
			if in.Source == "" || b.Source == in.Source {
				all = append(all, newDeadMessage(b, l))
			}
		}
	}
	return all, nil
}

func newDeadMessage(b deadletter.Box, l deadletter.Letter) api.DeadMessage {
	return api.DeadMessage{
		ID: b.ID(l), Source: b.Source, Kind: b.Kind, Place: l.Place, FirstAt: api.Time(l.First), LastAt: api.Time(l.Last), Times: l.Times, Error: l.Why,
		ContentType: l.ContentType, Bytes: l.Bytes, Cut: l.Cut, Forgotten: b.Forgotten,
	}
}

// DeadMessage returns a dead message with its content.
func (c *Control) DeadMessage(ctx context.Context, in *api.DeadMessageName) (api.DeadMessageContent, error) {
	namespaces, err := Audience(ctx, in.Namespace)
	if err != nil {
		return api.DeadMessageContent{}, err
	}
	b, l, held, err := deadletter.Load(ctx, c.store, in.ID, namespaces)
	if err != nil {
		return api.DeadMessageContent{}, err
	}
	m := api.DeadMessageContent{DeadMessage: newDeadMessage(b, l), Attributes: held.Attributes, Headers: held.Headers}
	if utf8.Valid(held.Body) {
		m.Body = string(held.Body)
	} else {
		m.BodyBase64 = base64.StdEncoding.EncodeToString(held.Body)
	}
	return m, nil
}

// RetryDeadMessages publishes messages that could not be published, to the namespaces of their source, and returns the result for each. Published
// messages are deleted.
func (c *Control) RetryDeadMessages(ctx context.Context, in *api.DeadMessageCommand) ([]api.DeadMessageResult, error) {
	return c.ofDeadMessages(ctx, in, func(id string, namespaces []string) error {
		b, l, held, err := deadletter.Load(ctx, c.store, id, namespaces)
		if err != nil {
			return err
		}
		all, err := held.Events(l)
		if err != nil {
			return err
		}
		if _, err := c.Publish(ctx, all, b.Namespaces); err != nil {
			return err
		}
		return deadletter.Drop(ctx, c.store, id)
	})
}

// DropDeadMessages deletes messages that could not be published.
func (c *Control) DropDeadMessages(ctx context.Context, in *api.DeadMessageCommand) ([]api.DeadMessageResult, error) {
	return c.ofDeadMessages(ctx, in, func(id string, _ []string) error { return deadletter.Drop(ctx, c.store, id) })
}

func (c *Control) ofDeadMessages(ctx context.Context, in *api.DeadMessageCommand, do func(id string, namespaces []string) error) ([]api.DeadMessageResult, error) {
	namespaces, err := Audience(ctx, in.Namespace)
	if err != nil {
		return nil, err
	}
	ids, err := deadletter.Chosen(ctx, c.store, in.Body.IDs, namespaces)
	if err != nil {
		return nil, err
	}
	all := []api.DeadMessageResult{}
	for _, id := range ids {
		err := do(id, namespaces)
		if err != nil && !refusesEvents(err) {
			return all, err // an error of the store
		}
		r := api.DeadMessageResult{ID: id, Done: err == nil}
		if err != nil {
			r.Error = err.Error()
		}
		all = append(all, r)
	}
	return all, nil
}

// refusesEvents reports whether an error means that events can never be published.
func refusesEvents(err error) bool {
	return errors.As(err, new(*deadletter.UnfitError)) || errors.As(err, new(*EventError)) || errors.As(err, new(*RefusedEventsError)) || errors.As(err, new(*events.OtherEventError))
}
