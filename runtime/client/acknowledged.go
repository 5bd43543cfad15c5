package client

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/swrun/swrun/internal/shorten"
	"github.com/swrun/swrun/interpreter"
	"github.com/swrun/swrun/limits"
	"github.com/swrun/swrun/runtime/filter"
	"github.com/swrun/swrun/runtime/store"
)

// This file groups the runs that go wrong in the same way, and lets operators acknowledge a group: it is left out of lists until trouble of its kind
// begins again.

// TroubleGroup is runs that go wrong in the same way.
type TroubleGroup struct {
	filter.TroubleGroup
	Runs    int       // whose trouble is not acknowledged
	Covered int       // whose trouble is acknowledged
	First   time.Time // when the earliest trouble of the group began; zero if unknown
	Last    time.Time // the same of the last
	// Acknowledged is the latest acknowledgement of the group; nil without one.
	Acknowledged *filter.Acknowledgement
}

// maxAcknowledged is how many groups of a namespace may be acknowledged at a time.
const maxAcknowledged = 500

// acknowledgement is where the registry keeps that a group is acknowledged.
func acknowledgement(g filter.TroubleGroup) store.RegistryEntry[filter.Acknowledgement] {
	return store.RegistryEntry[filter.Acknowledgement]{Kind: store.RegistryAcknowledged, Key: g.Namespace() + "/" + g.Key()}
}

// CheckAcknowledgement reports why an entry of acknowledged trouble cannot be read.
func CheckAcknowledgement(r store.Registered) error {
	_, err := store.DecodeEntry[filter.Acknowledgement](store.RegistryAcknowledged, r)
	return err
}

// acknowledgements returns the acknowledgements by the keys of groups. An unreadable acknowledgement counts as missing; doctor reports it.
func (c *Client) acknowledgements(ctx context.Context) (map[string]*filter.Acknowledgement, error) {
	entries, err := c.store.ListRegistered(ctx, store.RegistryList{Kind: store.RegistryAcknowledged})
	if err != nil && !store.IsUnreadable(err) {
		return nil, fmt.Errorf("list the trouble that is acknowledged: %w", err)
	}
	all := map[string]*filter.Acknowledgement{}
	for _, e := range entries {
		one, err := store.DecodeEntry[filter.Acknowledgement](store.RegistryAcknowledged, e)
		if err != nil {
			continue
		}
		all[one.Group.Key()] = &one
	}
	return all, nil
}

// acknowledge notes who has acknowledged the trouble of a run.
func (c *completion) acknowledge(ctx context.Context, r *filter.Run) (err error) {
	g, ok := r.TroubleGroup()
	if !ok || !c.alsoAcknowledged && !c.where.ReadsAcknowledged() {
		return nil
	}
	if c.acknowledged == nil {
		if c.acknowledged, err = c.client.acknowledgements(ctx); err != nil {
			return err
		}
	}
	if a := c.acknowledged[g.Key()]; a.Covers(r) {
		r.Acknowledged = a
	}
	return nil
}

// Trouble returns the groups of the runs in trouble that match a filter, the largest first, followed by the acknowledged groups without new
// trouble. Namespaces limits which groups are acknowledged; nil does not. Unreadable counts runs that cannot be read and might match.
func (c *Client) Trouble(ctx context.Context, where filter.Filter, namespaces []string) (all []TroubleGroup, unreadable int, err error) {
	known, err := c.acknowledgements(ctx)
	if err != nil {
		return nil, 0, err
	}
	groups := map[string]*TroubleGroup{}
	for key, a := range known {
		if namespaces == nil || slices.Contains(namespaces, a.Group.Namespace()) {
			groups[key] = &TroubleGroup{TroubleGroup: a.Group, Acknowledged: a}
		}
	}
	unreadable, err = c.each(ctx, where.And(filter.In(namespaces...)), completion{}, func(r *filter.Run) bool {
		g, ok := r.TroubleGroup()
		if !ok {
			return true
		}
		key := g.Key()
		if groups[key] == nil {
			groups[key] = &TroubleGroup{TroubleGroup: g}
		}
		groups[key].add(r)
		return true
	})
	for _, g := range groups {
		all = append(all, *g)
	}
	slices.SortFunc(all, func(a, b TroubleGroup) int {
		return cmp.Or(cmp.Compare(b.Runs, a.Runs), cmp.Compare(b.Covered, a.Covered), strings.Compare(a.Workflow, b.Workflow), strings.Compare(a.Key(), b.Key()))
	})
	return all, unreadable, err
}

// add counts a run.
func (g *TroubleGroup) add(r *filter.Run) {
	if g.Acknowledged.Covers(r) {
		g.Covered++
	} else {
		g.Runs++
	}
	since := r.Since()
	if g.First = interpreter.Earlier(g.First, since); since.After(g.Last) {
		g.Last = since
	}
}

// noGroup is refused as store.NoSuch.
func noGroup(key string) error {
	return &store.Refusal{Code: store.NoSuch, Detail: fmt.Sprintf("group of trouble %q", shorten.To(key, 40))}
}

// Acknowledge records an acknowledgement of groups of trouble, each given by its key, and returns the groups. Trouble that begins later is
// not acknowledged. If one of the groups is not in trouble in the namespaces (nil for all), nothing is acknowledged, and the call is
// refused as store.NoSuch.
func (c *Client) Acknowledge(ctx context.Context, keys, namespaces []string, by filter.Acknowledgement) (done []TroubleGroup, err error) {
	if err := text("reason", limits.Reason, by.Reason, c.limits); err != nil {
		return nil, err
	}
	all, _, err := c.Trouble(ctx, filter.Filter{}, namespaces)
	if err != nil {
		return nil, err
	}
	for _, key := range keys {
		n := slices.IndexFunc(all, func(g TroubleGroup) bool { return g.Key() == key && g.Runs+g.Covered > 0 })
		if n < 0 {
			return nil, noGroup(key)
		}
		done = append(done, all[n])
	}
	if err := c.makeRoom(ctx, all, done); err != nil {
		return nil, err
	}
	for n := range done {
		g := &done[n]
		one := by
		one.Group, one.Through = g.TroubleGroup, g.Last
		if _, err := acknowledgement(g.TroubleGroup).Change(ctx, c.store, func(a *filter.Acknowledgement) error { *a = one; return nil }, func(*filter.Acknowledgement) bool { return false }); err != nil {
			return done[:n], err
		}
		g.Acknowledged, g.Covered, g.Runs = &one, g.Covered+g.Runs, 0
	}
	return done, nil
}

// makeRoom forgets acknowledged groups of which no run is in trouble any more, where others would be too many.
func (c *Client) makeRoom(ctx context.Context, all, more []TroubleGroup) error {
	count := map[string]int{}
	for _, g := range all {
		if g.Acknowledged != nil || slices.ContainsFunc(more, func(m TroubleGroup) bool { return m.TroubleGroup == g.TroubleGroup }) {
			count[g.Namespace()]++
		}
	}
	for _, g := range all {
		if g.Acknowledged == nil || g.Runs+g.Covered > 0 || count[g.Namespace()] <= maxAcknowledged {
			continue
		}
		e := acknowledgement(g.TroubleGroup)
		if err := c.store.Unregister(ctx, e.Kind, e.Key, store.AnyVersion); err != nil {
			return err
		}
		count[g.Namespace()]--
	}
	for _, g := range more {
		if count[g.Namespace()] > maxAcknowledged {
			return &store.Refusal{Code: store.Limit, Detail: "acknowledged trouble of the namespace " + g.Namespace(), Reason: fmt.Sprintf("has %d groups already: take some back with swrun trouble unack", maxAcknowledged)}
		}
	}
	return nil
}

// Unacknowledge takes back that groups are acknowledged, each by its key, and returns them. Where one of them is not acknowledged, in the namespaces or
// in all if these are nil, nothing is taken back, and it is refused as store.NoSuch.
func (c *Client) Unacknowledge(ctx context.Context, keys, namespaces []string) (done []TroubleGroup, err error) {
	all, _, err := c.Trouble(ctx, filter.Filter{}, namespaces)
	if err != nil {
		return nil, err
	}
	for _, key := range keys {
		n := slices.IndexFunc(all, func(g TroubleGroup) bool { return g.Key() == key && g.Acknowledged != nil })
		if n < 0 {
			return nil, noGroup(key)
		}
		done = append(done, all[n])
	}
	for n := range done {
		g := &done[n]
		e := acknowledgement(g.TroubleGroup)
		if err := c.store.Unregister(ctx, e.Kind, e.Key, store.AnyVersion); err != nil {
			return done[:n], err
		}
		g.Acknowledged, g.Runs, g.Covered = nil, g.Runs+g.Covered, 0
	}
	return done, nil
}
