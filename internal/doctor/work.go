package doctor

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/swrun/swrun"
	"github.com/swrun/swrun/internal/terminal"
	"github.com/swrun/swrun/runtime/client"
	"github.com/swrun/swrun/runtime/definition"
	"github.com/swrun/swrun/runtime/presence"
	"github.com/swrun/swrun/runtime/queue"
	"github.com/swrun/swrun/runtime/schedule"
	"github.com/swrun/swrun/runtime/store"
)

// lateAfter is the lateness from which doctor warns: a healthy worker is late by milliseconds.
const lateAfter = 5 * time.Second

// maxLate is the maximum number of runs of a partition that doctor examines. Of runs that its context does not grant it only reads the names.
const maxLate = 200

// late describes runs that no worker has taken in time.
type late struct {
	runs    int
	longest time.Duration
	of      store.Instance
}

// overdue finds runs that are due for a long time, and that no worker has taken.
func overdue(ctx context.Context, s *swrun.Store) (l late, err error) {
	granted := definition.GrantedIn(ctx)
	for p := range s.Layout().Partitions {
		late, at, err := dueIn(ctx, s, p, granted)
		if err != nil {
			return l, err
		}
		for _, i := range late {
			loaded, err := s.Load(ctx, i)
			if store.RefusedAs(err) != "" {
				continue // it is gone, or SD006 counts it
			}
			if err != nil {
				return l, err
			}
			since := waitsSince(&loaded.Lifecycle)
			by := at.Sub(since)
			if since.IsZero() || by < lateAfter { // a worker has just taken it, or it waits
				continue
			}
			if l.runs++; by > l.longest {
				l.longest, l.of = by, i
			}
		}
	}
	return l, nil
}

// dueIn returns granted runs of a partition that a worker should take, and the time of the partition: at least the first maxLate of each kind. Runs
// of other namespaces may come before them.
func dueIn(ctx context.Context, s *swrun.Store, partition int, granted definition.Granted) (due []store.Instance, at time.Time, err error) {
	for n := maxLate; ; n *= 4 {
		work, err := s.Poll(ctx, partition, n, false)
		if err != nil {
			return nil, at, err
		}
		kinds := [][]store.Instance{work.Due, work.Begun, work.New}
		for _, ended := range work.Ended {
			kinds = append(kinds, ended.Instances)
		}
		enough := true
		due = nil
		for _, kind := range kinds {
			own := slices.DeleteFunc(slices.Clone(kind), func(i store.Instance) bool { return !granted.Has(i.Namespace) })
			enough = enough && (len(own) >= maxLate || len(kind)+len(work.Due) < n) // runs that are due are not among the runs of expired leases
			due = append(due, own[:min(len(own), maxLate)]...)
		}
		if enough {
			return due, work.At, nil
		}
	}
}

// waitsSince returns the time since which a worker should take a run; zero if no worker should.
func waitsSince(r *store.Lifecycle) time.Time {
	if !r.Ready.IsZero() {
		return r.Ready
	}
	return r.Due()
}

// workers reports runs that no worker takes, and whether there is a worker.
func workers(ctx context.Context, s *swrun.Store, counted *store.Statistics) []Finding {
	l, err := overdue(ctx, s)
	if err != nil {
		return []Finding{Failed(ctx, "SD009", err)}
	}
	lateness := Finding{"SD009", OK, "no run is overdue", ""}
	if l.runs > 0 {
		lateness = Finding{"SD009", Warning, fmt.Sprintf("overdue: %s, %s by %s; no worker takes them", terminal.Counted(l.runs, "run"), l.of, terminal.Elapsed(l.longest)),
			"start a worker (swrun worker), or search the logs of the connected workers for the cause"}
	}
	return append([]Finding{lateness}, present(ctx, s, counted.Ready+counted.Waiting)...)
}

// unheard reports that workers and polls cannot be judged, because an ailment keeps the store from accepting their announcements. Overdue runs are
// then no fault of the workers.
func unheard(ctx context.Context, s *swrun.Store, worst store.Ailment) []Finding {
	found := []Finding{{"SD010", Note, (&store.UnheardError{Ailment: definition.GrantedIn(ctx).Ailment(worst)}).Error(), "correct the causes that SD001 to SD003 report; then connected workers announce themselves"}}
	if l, err := overdue(ctx, s); err == nil && l.runs > 0 {
		what := fmt.Sprintf("overdue: %s, %s by %s; no run continues while the store refuses writes", terminal.Counted(l.runs, "run"), l.of, terminal.Elapsed(l.longest))
		found = append(found, Finding{"SD009", Note, what, ""})
	}
	return found
}

// present reports whether there is a worker, if unfinished runs need one, and the versions of the workers.
func present(ctx context.Context, s *swrun.Store, live int64) []Finding {
	workers, err := s.Workers(ctx)
	if err != nil {
		what, fix := definition.GrantedIn(ctx).Failure(err, "grant the user of the store PUBSUB NUMSUB")
		return []Finding{{"SD010", Note, what, fix}}
	}
	workers = presence.Seen(ctx, workers)
	serving := len(presence.Serving(workers))
	return []Finding{served(ctx, s, serving, live), versions(workers), unserved(ctx, s, workers), polled(ctx, s, workers), scheduled(ctx, s, serving)}
}

// scheduled reports schedules whose runs are due and were not started.
func scheduled(ctx context.Context, s *swrun.Store, serving int) Finding {
	all, now, err := schedule.Now(ctx, s)
	if err != nil {
		return Failed(ctx, "SD017", err)
	}
	granted := definition.GrantedIn(ctx)
	all = slices.DeleteFunc(all, func(x schedule.Schedule) bool { return !granted.Has(x.Workflow.Namespace) })
	var late []string
	active := 0
	for n := range all {
		x := &all[n]
		if x.Paused == nil {
			active++
		}
		if by := x.Late(now); by >= lateAfter {
			late = append(late, fmt.Sprintf("%s/%s, by %s", x.Workflow.Namespace, x.Workflow.Name, terminal.Elapsed(by)))
		}
	}
	switch {
	case len(late) > 0:
		return Finding{"SD017", Warning, "schedules are overdue: " + Listed(late), "start a worker (swrun worker), or search the logs of the connected workers for the cause"}
	case active > 0 && serving == 0:
		return Finding{"SD017", Note, fmt.Sprintf("no worker is connected that could start the runs of %s", terminal.Counted(active, "schedule")), "start a worker before their time (swrun worker)"}
	}
	return Finding{"SD017", OK, "no schedule is overdue", ""}
}

// polled reports queues with waiting activities and without polls, and paused queues.
func polled(ctx context.Context, s *swrun.Store, workers []presence.Worker) Finding {
	all, err := queue.States(ctx, s, workers)
	if err != nil {
		return Failed(ctx, "SD014", err)
	}
	var unpolled, paused []string
	for n := range all {
		switch q := &all[n]; {
		case q.Rules.Paused != nil && q.Activities+q.Runs > 0:
			paused = append(paused, fmt.Sprintf("%s, for %s%s", q.Name, terminal.Elapsed(q.At.Sub(q.Rules.Paused.At)), q.Rules.Paused.By()))
		case q.Rules.Paused == nil && q.Unpolled():
			unpolled = append(unpolled, fmt.Sprintf("%s, for up to %s, %s", q.Name, terminal.Elapsed(q.Oldest), client.PolledText(q.Polled, q.At)))
		}
	}
	switch {
	case len(unpolled) > 0:
		return Finding{"SD014", Warning, "activities wait in queues without a poll: " + Listed(unpolled), "start an outside worker of the queue, or check whether its workers reach the server"}
	case len(paused) > 0:
		return Finding{"SD014", Note, "runs or activities wait in paused queues: " + Listed(paused), "swrun queue resume resumes a queue"}
	}
	return Finding{"SD014", OK, "no activity waits in a queue without a poll", ""}
}

// maxNamed is the maximum number of queues or schedules in a finding.
const maxNamed = 5

// Listed names the first subjects of a finding, and the number of the others.
func Listed(all []string) string {
	text := strings.Join(all[:min(len(all), maxNamed)], "; ")
	if more := len(all) - maxNamed; more > 0 {
		text += fmt.Sprintf("; and %d more", more)
	}
	return text
}

// unserved reports the needs of runs that no worker meets.
func unserved(ctx context.Context, s *swrun.Store, workers []presence.Worker) Finding {
	all, err := presence.AllWaiting(ctx, s, workers)
	if err != nil {
		return Failed(ctx, "SD013", err)
	}
	runs, recent, told := 0, 0, false
	var first *presence.Waiting
	for n := range all {
		tells := presence.Tells(all[n].Need.Parts())
		if all[n].Workers > 0 {
			continue
		}
		if !tells && all[n].Longest < untakenAfter {
			recent += all[n].Runs
			continue
		}
		if runs += all[n].Runs; first == nil || tells && !told {
			first, told = &all[n], tells
		}
	}
	if first == nil && recent > 0 {
		return Finding{"SD013", OK, fmt.Sprintf("%s: waiting for less than %s for a suitable worker", terminal.Counted(recent, "run"), terminal.Elapsed(untakenAfter)), ""}
	}
	if first == nil {
		return Finding{"SD013", OK, "no run waits for a missing worker", ""}
	}
	what := "waiting for missing workers"
	if !told {
		what = "waiting, because no worker has taken them"
	}
	what = fmt.Sprintf("%s: %s; %s, for up to %s, for one that %s",
		what, terminal.Counted(runs, "run"), terminal.Counted(first.Runs, "run"), terminal.Elapsed(first.Longest), client.NeedText(first.Need.Parts()))
	return Finding{"SD013", Warning, what, "start a worker with the needed resources, for example with --queue, --allow-processes, --allow-containers, --allow-volume, --allow-files, --network or --secrets"}
}

// untakenAfter is the time before doctor warns of runs that wait for a resource that workers do not announce, such as a secret: a worker with the
// resource takes them within a second.
const untakenAfter = 5 * time.Second

// versions reports whether all workers have the same version.
func versions(workers []presence.Worker) Finding {
	var all []string
	for _, w := range workers {
		if !slices.Contains(all, w.Version) {
			all = append(all, w.Version)
		}
	}
	slices.Sort(all)
	switch len(all) {
	case 0:
		return Finding{"SD012", OK, "no worker has another version", ""}
	case 1:
		return Finding{"SD012", OK, "all workers have the version " + all[0], ""}
	}
	return Finding{"SD012", Warning, "workers of several versions are connected: " + strings.Join(all, ", "), "finish the upgrade: stop the older workers"}
}

// served reports whether there is a worker.
func served(ctx context.Context, s *swrun.Store, connected int, live int64) Finding {
	where := "no worker is connected"
	if s.Local() {
		where = "no other process has the store open"
	}
	switch {
	case connected > 0:
		return Finding{"SD010", OK, "connected: " + terminal.Counted(connected, "worker"), ""}
	case definition.GrantedIn(ctx) != nil: // the store counts the runs of all namespaces together
		return Finding{"SD010", Note, where, "open runs continue when a worker is connected (swrun worker)"}
	case live == 0:
		return Finding{"SD010", OK, where + ", and no run waits for one", ""}
	}
	return Finding{"SD010", Warning, fmt.Sprintf("%s, and no worker advances %s", where, terminal.Counted(live, "unfinished run")), "start a worker (swrun worker)"}
}
