package sources

import (
	"context"
	"fmt"
	"strings"

	"github.com/swrun/swrun/internal/deadletter"
	"github.com/swrun/swrun/internal/shorten"
)

// The additional headers of a dead letter: its reason and its place.
const (
	whyOf   = "swrun-error"
	placeOf = "swrun-at"
)

// maxWhy is the maximum length of an error in a dead letter, in bytes.
const maxWhy = 500

// setAside keeps an unacceptable message as a dead letter, counts it, and logs its place, at a limited rate. An error means that it could not be
// kept: then it must not be acknowledged.
func (f *feed) setAside(ctx context.Context, b broker, m message, err error) error {
	kept, failed := f.keepDead(ctx, b, m, err)
	if failed != nil {
		return failed
	}
	f.mu.Lock()
	f.state.SetAside++
	f.quiet++
	unsaid := f.quiet - 1
	tell := f.told.Allow()
	if tell {
		f.quiet = 0
	}
	f.mu.Unlock()
	if tell {
		f.Log.Warn("a message of a source is set aside: it is acknowledged, and not published", "source", f.from.Name, "at", m.place, "kept", kept, "error", err, "unsaid", unsaid)
	}
	return nil
}

// keepDead keeps a message in the place of the source's dead letters, and returns the place: at its broker if the source names a place there, and
// otherwise in the store. A dead letter that the broker delivers again is kept there already.
func (f *feed) keepDead(ctx context.Context, b broker, m message, err error) (where string, failed error) {
	within, cancel := context.WithTimeout(context.WithoutCancel(ctx), ackWithin)
	defer cancel()
	why := strings.Join(strings.Fields(shorten.To(err.Error(), maxWhy)), " ") // headers have one line
	switch {
	case f.from.DeadLetters != "" && m.dead:
		return "", nil
	case f.from.DeadLetters != "":
		if err := b.keep(within, m, why); err != nil {
			return "", fmt.Errorf("a message cannot be copied to the dead letters %s: %w", f.from.DeadLetters, err)
		}
		return f.from.DeadLetters, nil
	case f.Keep == nil:
		return "", nil
	}
	letter := deadletter.Message{
		Source: f.from.Name, Kind: f.from.Kind, Namespaces: f.from.Namespaces, Place: m.place, Why: why, Broken: m.broken != nil, Headers: m.headers, Message: m.Message,
	}
	if err := f.Keep(within, letter); err != nil {
		return "", fmt.Errorf("a message that cannot be published (%s) cannot be kept: %w", m.place, err)
	}
	return "the store", nil
}
