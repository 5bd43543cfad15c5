package sources

import (
	"context"
	"fmt"
	"strings"

	"github.com/swrun/swrun/internal/shorten"
)

// What a dead letter has besides its message: why it is one, and where it stood.
const (
	whyOf   = "swrun-error"
	placeOf = "swrun-at"
)

// maxWhy is how many bytes of an error a dead letter has.
const maxWhy = 500

// setAside copies a message that cannot be accepted to the dead letters, if the source has some, counts it, and logs where it stands; not all of them if there are many. An error
// says that it could not be copied: then it must not be acknowledged.
func (f *feed) setAside(ctx context.Context, b broker, m message, err error) error {
	keeps := f.from.DeadLetters != "" && !m.dead
	if keeps {
		within, cancel := context.WithTimeout(context.WithoutCancel(ctx), ackWithin)
		defer cancel()
		why := strings.Join(strings.Fields(shorten.To(err.Error(), maxWhy)), " ") // headers have one line
		if failed := b.keep(within, m, why); failed != nil {
			return fmt.Errorf("a message cannot be copied to the dead letters %s: %w", f.from.DeadLetters, failed)
		}
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
		kept := map[bool]string{true: f.from.DeadLetters}[keeps]
		f.Log.Warn("a message of a source is set aside: it is acknowledged, and not published", "source", f.from.Name, "at", m.place, "kept", kept, "error", err, "unsaid", unsaid)
	}
	return nil
}
