package client

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/swrun/swrun/interpreter"
	"github.com/swrun/swrun/runtime/definition"
	"github.com/swrun/swrun/runtime/execution"
	"github.com/swrun/swrun/runtime/store"
)

// Archive is a run with all that is stored of it, for another store. It is kept as JSON.
type Archive struct {
	Namespace   string                          `json:"namespace"`
	ID          string                          `json:"id"`
	Record      string                          `json:"record"` // as Lifecycle.String writes it
	Invocation  []byte                          `json:"invocation"`
	Head        []byte                          `json:"head,omitempty"`
	Context     []byte                          `json:"context,omitempty"`
	Frames      map[interpreter.FrameKey][]byte `json:"frames,omitempty"`
	History     [][]byte                        `json:"history,omitempty"` // as StoredEntry.String writes it
	Payloads    map[string][]byte               `json:"payloads,omitempty"`
	Messages    [][]byte                        `json:"messages,omitempty"`
	Definitions []definition.Definition         `json:"definitions"` // that it has, and that it had before it migrated

	// Activities is how many activities it waits for, which cannot be taken to another store.
	Activities int `json:"activities,omitempty"`
}

// Instance returns which run it is.
func (a *Archive) Instance() store.Instance { return store.Instance{Namespace: a.Namespace, ID: a.ID} }

// archiveAttempts is how often a run that changes during the export is read again before the export is refused.
const archiveAttempts = 10

// Archive returns a run with all that is stored of it at one moment. A run that changes all the time is refused as a Conflict.
func (c *Client) Archive(ctx context.Context, i store.Instance) (*Archive, error) {
	for range archiveAttempts {
		l, err := c.store.Load(ctx, i)
		if err != nil {
			return nil, err
		}
		a, err := c.archive(ctx, i, l)
		if err != nil {
			return nil, err
		}
		after, err := c.store.Load(ctx, i)
		if err != nil {
			return nil, err
		}
		if was, is := &l.Lifecycle, &after.Lifecycle; was.Version == is.Version && was.Mail == is.Mail {
			return a, nil
		}
	}
	return nil, refused(i, "changes all the time: suspend it first")
}

// archive reads the data of a loaded run.
func (c *Client) archive(ctx context.Context, i store.Instance, l store.Loaded) (*Archive, error) {
	r := &l.Lifecycle
	a := &Archive{
		Namespace: i.Namespace, ID: i.ID, Record: r.String(), Invocation: l.Invocation,
		Head: l.State.Head, Context: l.State.Context, Frames: l.State.Frames,
		Payloads: map[string][]byte{}, Activities: len(l.Activities),
	}
	if err := c.archiveHistory(ctx, i, a, int(r.Entries)); err != nil {
		return nil, err
	}
	if waiting := int(r.Mail - r.Read); waiting > 0 && !r.Status.Final() {
		messages, err := c.store.Inbox(ctx, i, waiting)
		if err != nil {
			return nil, err
		}
		for _, m := range messages {
			a.Messages = append(a.Messages, m)
		}
	}
	info, err := execution.InvocationOf(i, l.Invocation)
	if err != nil {
		return nil, err
	}
	digests, err := a.digests(info)
	if err != nil {
		return nil, err
	}
	for _, digest := range digests {
		d, err := definition.Load(ctx, c.store, digest)
		if err != nil {
			return nil, err
		}
		a.Definitions = append(a.Definitions, d)
	}
	return a, nil
}

// archiveHistory adds the first n entries of a history, with their separately stored data.
func (c *Client) archiveHistory(ctx context.Context, i store.Instance, a *Archive, n int) error {
	for len(a.History) < n {
		page, err := c.store.History(ctx, i, len(a.History), min(historyPage, n-len(a.History)))
		if err != nil {
			return err
		}
		if len(page) == 0 {
			return fmt.Errorf("the history of the run %s has %d entries instead of %d", i, len(a.History), n)
		}
		for _, e := range page {
			a.History = append(a.History, []byte(e.String()))
			if _, err := interpreter.DecodeHistoryStep(e.Data, func(ref string) (data []byte, err error) {
				data, err = c.store.Payload(ctx, i, ref)
				a.Payloads[ref] = data
				return data, err
			}); err != nil {
				return err
			}
		}
	}
	return nil
}

// steps reads the history.
func (a *Archive) steps() (entries []store.StoredEntry, steps []interpreter.HistoryStep, err error) {
	for _, text := range a.History {
		e, err := store.ParseEntry(text)
		if err != nil {
			return nil, nil, err
		}
		step, err := interpreter.DecodeHistoryStep(e.Data, func(ref string) ([]byte, error) {
			data, ok := a.Payloads[ref]
			if !ok {
				return nil, fmt.Errorf("its data %s is missing", ref)
			}
			return data, nil
		})
		if err != nil {
			return nil, nil, err
		}
		entries, steps = append(entries, e), append(steps, step)
	}
	return entries, steps, nil
}

// digests returns the digests of all definitions that the run needs, beginning with its own.
func (a *Archive) digests(info *execution.Invocation) ([]string, error) {
	_, steps, err := a.steps()
	if err != nil {
		return nil, err
	}
	all := []string{info.Definition, info.First().Definition}
	for _, e := range steps {
		if m, migrated := e.Migration(); migrated {
			all = append(all, m.Of.Definition)
		}
	}
	var unique []string
	for _, digest := range all {
		if !slices.Contains(unique, digest) {
			unique = append(unique, digest)
		}
	}
	return unique, nil
}

// Encode returns the archive as JSON.
func (a *Archive) Encode() ([]byte, error) { return json.Marshal(a) }

// ParseArchive parses the output of Encode.
func ParseArchive(data []byte) (*Archive, error) {
	a := new(Archive)
	if err := json.Unmarshal(data, a); err != nil {
		return nil, notImportable("cannot be read: %s", err)
	}
	return a, nil
}
