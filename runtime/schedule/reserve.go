package schedule

import (
	"context"
	"errors"
	"time"

	"github.com/swrun/swrun/dsl"
	"github.com/swrun/swrun/runtime/definition"
	"github.com/swrun/swrun/runtime/store"
)

// reservedFor is how long a place is reserved for the schedule of a definition that is being deployed.
const reservedFor = time.Minute

// Reserve reserves the place of the schedule of a definition before it is deployed, so that a definition without a place is not deployed. The
// place of an interrupted deployment becomes free after reservedFor. A definition that will not be the latest version needs no place.
func (s *Schedules) Reserve(ctx context.Context, d definition.Definition) error {
	w, found := dsl.Parse(d.Name(), []byte(d.Document))
	if err := found.Err(); err != nil || w.Schedule == nil {
		return err
	}
	r := definition.Reference{Namespace: w.Document.Namespace, Name: w.Document.Name, Version: w.Document.Version}
	known, _, err := load(ctx, s.Store, r.Namespace, r.Name)
	if store.IsUnreadable(err) {
		return nil // it has a place
	}
	if err != nil || !known.isEmpty() {
		return err
	}
	latest, _, err := definition.Resolve(ctx, s.Store, definition.Reference{Namespace: r.Namespace, Name: r.Name, Version: definition.Latest})
	if err == nil && definition.Later(latest.Version, r.Version) {
		return nil
	}
	if err != nil && store.RefusedAs(err) != store.NoSuch {
		return err
	}
	entry := entryOf(r.Namespace, r.Name)
	entry.For = func(*Schedule) time.Duration { return reservedFor }
	_, err = entry.Change(ctx, s.Store, func(x *Schedule) error {
		if !x.isEmpty() {
			return errNothing
		}
		x.Workflow = r
		return nil
	}, func(*Schedule) bool { return false })
	if errors.Is(err, errNothing) {
		err = nil
	}
	return err
}
