package doctor

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"github.com/swrun/swrun/internal/access"
	"github.com/swrun/swrun/internal/audit"
	"github.com/swrun/swrun/runtime/client"
	"github.com/swrun/swrun/runtime/events"
	"github.com/swrun/swrun/runtime/function"
	"github.com/swrun/swrun/runtime/matching"
	"github.com/swrun/swrun/runtime/presence"
	"github.com/swrun/swrun/runtime/queue"
	"github.com/swrun/swrun/runtime/schedule"
	"github.com/swrun/swrun/runtime/settings"
	"github.com/swrun/swrun/runtime/store"
)

// reader checks whether the readers of a kind of entries can read an entry, and contains the remedy if they cannot.
type reader struct {
	check func(store.Registered) error
	fix   string
	set   string // the remedy for a value that no command can set
}

// readers returns the readers of the kinds that can be listed. The sinks (SD016) and the dead letters (SD021) have checks of their own.
func readers() map[store.RegistryKind]reader {
	return map[store.RegistryKind]reader{
		store.RegistryTokens:       {check: access.CheckEntry, fix: "swrun token revoke NAME removes a damaged token, and swrun token new creates a new one"},
		store.RegistrySettings:     {check: settings.CheckEntry, fix: "swrun config set NAME=VALUE --replace replaces damaged settings, of a namespace with -n; their other values are lost", set: "swrun config set and swrun config unset replace a wrong setting"},
		store.RegistryQueues:       {check: queue.CheckEntry, fix: "swrun queue limit QUEUE --concurrency N --replace replaces damaged rules; other limits and a pause are lost. A server replaces a damaged note about polls at the next poll", set: "swrun queue limit replaces a wrong limit, and swrun queue resume removes rules that contain none"},
		store.RegistryWorkers:      {check: presence.CheckEntry, fix: "the worker replaces its damaged entry within 10 s"},
		store.RegistrySchedules:    {check: schedule.CheckEntry, fix: "deploy the workflow again, which creates its schedule again; a worker or server replaces the entry changes"},
		store.RegistryFunctions:    {check: function.CheckEntry, fix: "swrun function rm NAME:VERSION removes a damaged function, and it can be deployed again"},
		store.RegistryAudit:        {check: audit.CheckEntry, fix: "a server removes the damaged entry of a change when it logs the changes"},
		store.RegistryUnmatched:    {check: events.CheckUnmatched, fix: restoreFix},
		store.RegistryAcknowledged: {check: client.CheckAcknowledgement, fix: restoreFix},
		store.RegistryKeys:         {check: matching.CheckKey, fix: "start a server again: it replaces a damaged key when a worker asks for activities; late reports about earlier attempts are not noted then"},
	}
}

// damagedEntries are the entries of the registry that cannot be read.
type damagedEntries struct {
	n     int64
	first error
	fixes []string // by the kinds, each once
}

// note counts an entry, and adds its remedy.
func (d *damagedEntries) note(err error, fix string) {
	d.n++
	if d.first == nil {
		d.first = err
	}
	if store.RefusedAs(err) == store.Newer {
		fix = newerFix
	}
	d.fixes = withFix(d.fixes, fix)
}

// unreadableEntries finds the entries of the registry that cannot be read, of the kinds that can be listed.
func unreadableEntries(ctx context.Context, s store.Store) (found damagedEntries, err error) {
	for _, kind := range store.RegistryKinds() {
		if !kind.Listed() {
			continue
		}
		all, err := s.ListRegistered(ctx, store.RegistryList{Kind: kind})
		if store.IsUnreadable(err) { // the whole kind cannot be listed
			found.note(err, fixOfList(err))
			continue
		}
		if err != nil {
			return found, err
		}
		for _, one := range all {
			err := store.CheckEntry(kind, one)
			if r, known := readers()[kind]; known && err == nil {
				err = r.check(one)
			}
			if err != nil {
				fix := readers()[kind].fix
				if errors.As(err, new(*store.ValueError)) {
					fix = readers()[kind].set
				}
				found.note(err, fix)
			}
		}
	}
	return found, nil
}

// fixOfList returns the remedy for a kind of entries that cannot be listed.
func fixOfList(err error) string {
	if list := new(store.ListError); errors.As(err, &list) {
		return list.Help("")
	}
	return restoreFix
}

// restoreFix is the remedy for damaged data that nothing creates again.
const restoreFix = "restore the store from a backup"

// newerFix is the remedy for data that a newer swrun has written.
const newerFix = "use the newer version for all workers and servers"

// withFix adds a remedy, unless it is present.
func withFix(all []string, fix string) []string {
	fix = cmp.Or(fix, restoreFix)
	if slices.Contains(all, fix) {
		return all
	}
	return append(all, fix)
}
