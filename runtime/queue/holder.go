package queue

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/swrun/swrun/runtime/activity"
	"github.com/swrun/swrun/runtime/store"
)

// Holders of permits: workers, which prolong them, and attempts of activities, until they end. The process that ends an attempt returns its
// permit. If that is lost with the process, other processes recover the permit.

const ofWorker, ofActivity = "worker ", "activity "

// WorkerHolder is the holder of a permit of a worker.
func WorkerHolder(worker string, n int64) string { return fmt.Sprintf("%s%s %d", ofWorker, worker, n) }

// ActivityHolder is the holder of the permit of an attempt.
func ActivityHolder(id store.ActivityID, nonce string) string {
	return ofActivity + id.String() + " " + nonce
}

// parseActivityHolder parses the output of ActivityHolder.
func parseActivityHolder(holder string) (id store.ActivityID, nonce string, ok bool) {
	text, ok := strings.CutPrefix(holder, ofActivity)
	at := strings.LastIndexByte(text, ' ')
	if !ok || at < 0 {
		return id, "", false
	}
	id, err := store.ParseActivityID(text[:at])
	return id, text[at+1:], err == nil
}

// attempt returns the nonce of the attempt that an outside worker has of an activity; empty if none has one.
func attempt(r *store.Activity) string {
	if r == nil || !r.Available.IsZero() {
		return ""
	}
	a, err := activity.Parse(r)
	if err != nil {
		return ""
	}
	return a.Nonce
}

// Ended returns the permits of the attempts of activities that ended with a change.
func (g *Gate) Ended(ctx context.Context, ids []store.ActivityID, changed []store.ActivityChanged) error {
	over := map[string][]string{}
	for n, c := range changed {
		if c.Refused != nil || c.Was == nil || !c.Was.Available.IsZero() || c.Activity != nil && c.Activity.Available.IsZero() {
			continue // no worker held it, or a worker still holds it
		}
		if rules, err := g.Rules(ctx, c.Was.Queue); err == nil && rules.Limited() {
			over[c.Was.Queue] = append(over[c.Was.Queue], ActivityHolder(ids[n], attempt(c.Was)))
		}
	}
	for name, holders := range over {
		if err := g.GiveBack(ctx, name, holders, nil); err != nil {
			return err
		}
	}
	return nil
}

// Changed returns the permits of attempts of activities that ended with a commit of their run, including dismissed activities.
func (g *Gate) Changed(ctx context.Context, run store.Instance, changes []store.ActivityChange) error {
	for _, c := range changes {
		if c.To != nil && (c.From == nil || c.To.Available.IsZero()) {
			continue
		}
		rules, err := g.Rules(ctx, c.Queue)
		if err != nil || !rules.Limited() {
			continue
		}
		over := []string{ActivityHolder(store.ActivityID{Run: run, Effect: c.Effect}, attempt(c.From))}
		if c.From == nil { // whose attempt it was is not known
			if over, err = g.holdersOf(ctx, c.Queue, over[0]); err != nil {
				return err
			}
		}
		if err := g.GiveBack(ctx, c.Queue, over, nil); err != nil {
			return err
		}
	}
	return nil
}

// holdersOf returns the holders of permits with a name prefix.
func (g *Gate) holdersOf(ctx context.Context, name, prefix string) (some []string, err error) {
	all, err := g.store.Holders(ctx, name)
	for _, holder := range all {
		if strings.HasPrefix(holder, prefix) {
			some = append(some, holder)
		}
	}
	return some, err
}

const (
	// lookEvery is the shortest time between two looks at who holds permits of a queue, and maxLooked how many are looked at.
	lookEvery = 2 * time.Second
	maxLooked = 200
	// overFor is how long a permit must have been seen without an attempt before it is given back: it is taken before its attempt begins.
	overFor = 12 * time.Second
)

// looks is the last check of the holders of permits of a queue.
type looks struct {
	last time.Time            // zero for never
	over map[string]time.Time // since when each is known not to need it
}

// reclaim returns permits of attempts that are over, and reports whether there were any: the process that ended them was killed before it
// could return them.
func (g *Gate) reclaim(ctx context.Context, name string) bool {
	now := g.now()
	g.mu.Lock()
	l := g.looks[name]
	recent := !l.last.IsZero() && now.Sub(l.last) < lookEvery
	if !recent {
		g.looks[name] = looks{last: now, over: l.over}
	}
	g.mu.Unlock()
	if recent {
		return false
	}
	all, err := g.store.Holders(ctx, name)
	if err != nil {
		return false // the next request checks again
	}
	rand.Shuffle(len(all), func(a, b int) { all[a], all[b] = all[b], all[a] })
	over := map[string]time.Time{}
	var back []string
	for _, holder := range all[:min(len(all), maxLooked)] {
		id, nonce, ok := parseActivityHolder(holder)
		if !ok || !g.isOver(ctx, id, nonce) {
			continue
		}
		if over[holder] = now; !l.over[holder].IsZero() {
			over[holder] = l.over[holder]
		}
		if now.Sub(over[holder]) >= overFor {
			back = append(back, holder)
		}
	}
	g.mu.Lock()
	g.looks[name] = looks{last: now, over: over}
	g.mu.Unlock()
	return len(back) > 0 && g.GiveBack(ctx, name, back, nil) == nil
}

// isOver reports whether it is certain that no worker holds an attempt of an activity.
func (g *Gate) isOver(ctx context.Context, id store.ActivityID, nonce string) bool {
	l, err := g.store.Load(ctx, id.Run)
	if err != nil {
		return store.RefusedAs(err) == store.NoSuch
	}
	for _, a := range l.Activities {
		if a.Effect == id.Effect {
			return attempt(&a.Activity) != nonce
		}
	}
	return true
}
