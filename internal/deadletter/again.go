package deadletter

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/swrun/swrun/errors"
	"github.com/swrun/swrun/internal/cloudevent"
	"github.com/swrun/swrun/internal/doctor"
	"github.com/swrun/swrun/internal/shorten"
	"github.com/swrun/swrun/internal/terminal"
	"github.com/swrun/swrun/runtime/definition"
	"github.com/swrun/swrun/runtime/store"
)

// Load returns a letter with its box and its content, if a caller of some namespaces may see it; otherwise it is refused as store.NoSuch.
func Load(ctx context.Context, r store.Registry, id string, namespaces []string) (box Box, l Letter, c Content, err error) {
	source, hash, _ := strings.Cut(id, "/")
	none := store.Refuse(store.NoSuch, time.Time{}, "dead letter %s", shorten.Quoted(id))
	if store.RegistryLetters.CheckKey(source) != nil {
		return box, l, c, none
	}
	if box, _, err = boxOf(source).Load(ctx, r); err != nil {
		return box, l, c, err
	}
	box.Source = source
	n := box.Find(hash)
	if n < 0 || !box.IsSeenBy(namespaces) {
		return box, l, c, none
	}
	found, err := r.Registered(ctx, store.RegistryContents, id)
	if err != nil {
		return box, l, c, err
	}
	c, err = store.DecodeEntry[Content](store.RegistryContents, found)
	return box, box.Letters[n], c, err
}

// Chosen returns the ids of letters: an id without a slash is a source, and means all of its letters. A letter that does not exist, or that a caller
// of some namespaces may not see, is refused as store.NoSuch.
func Chosen(ctx context.Context, r store.Registry, ids, namespaces []string) (all []string, err error) {
	boxes, err := All(ctx, r, namespaces)
	if err != nil {
		return nil, err
	}
	for _, id := range ids {
		source, hash, one := strings.Cut(id, "/")
		at := slices.IndexFunc(boxes, func(b Box) bool { return b.Source == source && (!one || b.Find(hash) >= 0) })
		if at < 0 {
			return nil, store.Refuse(store.NoSuch, time.Time{}, "dead letter %s", shorten.Quoted(id))
		}
		if one {
			all = append(all, id)
			continue
		}
		for _, l := range boxes[at].Letters {
			all = append(all, boxes[at].ID(l))
		}
	}
	slices.Sort(all)
	return slices.Compact(all), nil
}

// UnfitError reports that a kept letter cannot be published.
type UnfitError struct{ Err error }

func (e *UnfitError) Error() string { return e.Err.Error() }

// Unwrap returns the reason.
func (e *UnfitError) Unwrap() error { return e.Err }

// Events returns the events in a letter.
func (c Content) Events(l Letter) ([]map[string]any, error) {
	switch {
	case l.Cut:
		return nil, &UnfitError{fmt.Errorf("only a part of it is kept (it had %d bytes): take it from the broker, and publish it with swrun events publish", l.Bytes)}
	case l.Broken:
		return nil, &UnfitError{fmt.Errorf("its attributes cannot be read: %s", l.Why)}
	}
	m := cloudevent.Message{ContentType: l.ContentType, Body: c.Body}
	if c.Attributes != nil {
		m.Attributes = map[string]any{}
		for name, text := range c.Attributes {
			m.Attributes[name] = text
		}
	}
	all, err := m.Events()
	for n, event := range all {
		if wrong := cloudevent.Check(event); err == nil && wrong != nil {
			err = fmt.Errorf("event %d: %w", n+1, wrong)
		}
	}
	if err == nil && len(all) == 0 {
		err = errors.New("it holds no event")
	}
	if err != nil {
		return nil, &UnfitError{err}
	}
	return all, nil
}

// Drop deletes a letter. A missing letter is no error.
func Drop(ctx context.Context, r store.Registry, id string) error {
	source, hash, _ := strings.Cut(id, "/")
	_, err := changeBox(ctx, r, source, func(b *Box) error {
		b.Letters = slices.DeleteFunc(b.Letters, func(l Letter) bool { return l.Hash == hash })
		return nil
	})
	if err != nil {
		return err
	}
	return unregister(ctx, r, source, hash)
}

// Examine returns the sources with letters, as checks of health. Sources whose events reach a namespace that ctx does not grant are left out.
func Examine(ctx context.Context, r store.Registry) (found []doctor.Finding) {
	all, err := All(ctx, r, definition.GrantedIn(ctx))
	if err != nil {
		why, fix := definition.GrantedIn(ctx).Failure(err, "")
		return []doctor.Finding{{Code: doctor.CodeLetters, Level: doctor.Warning, What: "the dead letters of sources cannot be read: " + why, Fix: fix}}
	}
	for _, b := range all {
		what := fmt.Sprintf("messages of the source %s could not be published: %s", b.Source, terminal.Counted(len(b.Letters), "dead letter"))
		if b.Forgotten > 0 {
			what += fmt.Sprintf(", and %d older ones were forgotten", b.Forgotten)
		}
		found = append(found, doctor.Finding{
			Code: doctor.CodeLetters, Level: doctor.Warning, What: what,
			Fix: "swrun events dead ls " + b.Source + " says why; swrun events dead retry " + b.Source + " publishes them, swrun events dead drop " + b.Source + " forgets them",
		})
	}
	return found
}
