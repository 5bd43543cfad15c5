// Package doctor examines a store and reports its needs: durability, room, clocks, workers. It changes only a key of its own, which shows whether the
// store takes writes. The command `doctor` prints the findings, and the command `explain` explains each check.
package doctor

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/swrun/swrun"
	"github.com/swrun/swrun/boltstore"
	"github.com/swrun/swrun/internal/api"
	"github.com/swrun/swrun/internal/terminal"
	"github.com/swrun/swrun/redisstore"
	"github.com/swrun/swrun/runtime/definition"
	"github.com/swrun/swrun/runtime/store"
)

// Finding is the result of one check.
type Finding struct {
	Code  string
	Level string // OK, Note, Warning or Error
	What  string
	Fix   string
}

// The levels of findings.
const (
	OK      = "ok"
	Note    = "note"    // no run lacks anything
	Warning = "warning" // a deployment lacks something that it should have
	Error   = "error"   // the store takes no new runs, or no requests at all
)

// Report returns findings in their form for programs. Its status is the status of the worst finding; notes do not count.
func Report(found []Finding) api.Health {
	names := map[string]string{}
	for _, c := range Checks() {
		names[c.Code] = c.Name
	}
	report := api.Health{Schema: api.SchemaHealth, Status: OK, Checks: []api.HealthCheck{}, Version: swrun.Version()}
	for _, x := range found {
		if x.Level == Error || x.Level == Warning && report.Status == OK {
			report.Status = x.Level
		}
		report.Checks = append(report.Checks, api.HealthCheck{Code: x.Code, Name: names[x.Code], Status: x.Level, Reason: x.What, Fix: x.Fix})
	}
	return report
}

// Unopened is the finding about a store that could not be opened.
func Unopened(err error, because, fix string) Finding {
	return Finding{"SD001", Error, err.Error() + " (" + because + ")", fix}
}

// Missing is the finding about a store that the first run creates.
func Missing(name, because string) Finding {
	return Finding{"SD001", OK, fmt.Sprintf("there is no store yet; the first run creates %s (%s)", name, because), ""}
}

// Examine examines an opened store. Because is the reason for the choice of the store, which the findings contain. In a context that grants some
// namespaces (definition.WithGranted) it counts and names only objects of these, and no paths and addresses: numbers without a count by namespace are left out.
func Examine(ctx context.Context, s *swrun.Store, now func() time.Time, because string) []Finding {
	return new(Looks).Examine(ctx, s, now, because)
}

// Examine is the function of this name, except that it reads only some of the runs and definitions again. All examinations with l have the same
// granted namespaces.
func (l *Looks) Examine(ctx context.Context, s *swrun.Store, now func() time.Time, because string) []Finding {
	all := Ailments(ctx, s, now)
	found := opened(ctx, s, all, because)
	if store.Refuses(all) == store.RefusesAll {
		return found // nothing else is available
	}
	found = append(found, ofServer(ctx, s, all)...)
	found = append(found, clocks(ctx, s, now, all)...)
	counted, err := store.Total(ctx, s)
	if err != nil {
		return append(found, Failed(ctx, "SD006", err))
	}
	found = append(append(found, health(ctx, &counted)), l.lists(ctx, s, now())...)
	found = append(found, quarantined(ctx, &counted))
	found = append(append(found, l.unreadable(ctx, s, now(), &counted)...), hearing(ctx, s))
	if worst, mute := store.Mute(all); mute {
		return append(found, unheard(ctx, s, worst)...)
	}
	return append(found, workers(ctx, s, &counted)...)
}

// opened returns the ailments of an opened store as findings, and a good finding without any.
func opened(ctx context.Context, s *swrun.Store, all []store.Ailment, because string) []Finding {
	granted := definition.GrantedIn(ctx)
	found := ailing(granted, all)
	if slices.ContainsFunc(found, func(f Finding) bool { return f.Code == "SD001" }) {
		return found
	}
	name := "the store"
	if granted == nil {
		name += " " + s.String()
	}
	return append([]Finding{{"SD001", OK, fmt.Sprintf("%s can be opened and written to: %s (%s)", name, layout(s.Layout()), because), ""}}, found...)
}

// ofServer reports the configuration of the server of a store, except for the parts that ailments report. A context that grants some namespaces gets none of it.
func ofServer(ctx context.Context, s *swrun.Store, all []store.Ailment) []Finding {
	redis, ok := s.Store.(*redisstore.Store)
	if !ok || definition.GrantedIn(ctx) != nil {
		return nil
	}
	facts, err := redis.Facts(ctx)
	if err != nil {
		return []Finding{{"SD002", Warning, err.Error(), "grant the user of the store INFO"}}
	}
	found := append([]Finding{persistence(facts), room(facts)}, exposure(facts, s.URL())...)
	return slices.DeleteFunc(found, func(f Finding) bool { return told(all, f.Code) })
}

// told reports whether one of the ailments belongs to a check.
func told(all []store.Ailment, code string) bool {
	return slices.ContainsFunc(all, func(a store.Ailment) bool { return codeOf(a.Reason) == code })
}

// layout describes the layout of a store.
func layout(l store.Layout) string {
	return fmt.Sprintf("deployment %s, %s, schema %d", l.Deployment, terminal.Counted(l.Partitions, "partition"), l.Schema)
}

// clocks compares the store's clock with this machine's, and measures the response time of the store.
func clocks(ctx context.Context, s *swrun.Store, now func() time.Time, all []store.Ailment) []Finding {
	var best, skew time.Duration
	for n := range 20 {
		began := now()
		work, err := s.Poll(ctx, 0, 1, false)
		took := now().Sub(began)
		if err != nil {
			return []Finding{Failed(ctx, "SD004", err)}
		}
		if n == 0 || took < best {
			best, skew = took, work.At.Sub(began.Add(took/2))
		}
	}
	answer := Finding{"SD005", OK, fmt.Sprintf("the store answers in %s", terminal.Elapsed(best)), ""}
	if best > 20*time.Millisecond {
		answer = Finding{"SD005", Note, answer.What, "run the workers nearer to the store, because each durable step takes at least that long"}
	}
	if told(all, "SD004") {
		return []Finding{answer}
	}
	if skew.Abs() > time.Second {
		return []Finding{answer, {"SD004", Note, fmt.Sprintf("the store's clock differs from this machine's by %s", terminal.Elapsed(skew.Abs())), fixOfClock(s, 0)}}
	}
	return []Finding{answer, {"SD004", OK, "the store's clock agrees with this machine's", ""}}
}

// health reports the statistics of the store.
func health(ctx context.Context, all *store.Statistics) Finding {
	what := fmt.Sprintf("runs: %d ready, %d waiting or held by workers, %d ended; %s on the way", all.Ready, all.Waiting, all.Closed, terminal.Counted(all.Outbox, "message"))
	if definition.GrantedIn(ctx) != nil {
		what = "the store counts the runs of all namespaces together; swrun ls --count counts the runs of some namespaces"
	}
	switch {
	case all.Losses > 0:
		return Finding{"SD006", Warning, fmt.Sprintf("%s; the server lost confirmed writes %s", what, terminal.Counted(all.Losses, "time")), "set appendfsync always, and check failovers and restores of the server"}
	case all.Jumps > 0:
		return Finding{"SD006", Warning, fmt.Sprintf("%s; the server's clock jumped, which was noticed %s", what, terminal.Counted(all.Jumps, "time")), "the store's time stayed even; find the program that sets the server's clock"}
	case all.Repairs > 0:
		return Finding{"SD006", Warning, fmt.Sprintf("%s; %s of indexes", what, terminal.Counted(all.Repairs, "repair")), "repairs are signs of lost writes or of a bug: please report them"}
	}
	return Finding{"SD006", OK, what, ""}
}

// quarantined reports runs that wait for their release.
func quarantined(ctx context.Context, all *store.Statistics) Finding {
	if definition.GrantedIn(ctx) != nil {
		return Finding{"SD011", Note, "the store counts the quarantined runs of all namespaces together", "swrun ls --status quarantined lists the runs of some namespaces"}
	}
	if all.Quarantined == 0 {
		return Finding{"SD011", OK, "no run is quarantined", ""}
	}
	return Finding{"SD011", Warning, fmt.Sprintf("quarantined: %s that lost several workers at one step", terminal.Counted(all.Quarantined, "run")),
		"swrun ls --status quarantined lists them; correct the cause of the lost workers, then run swrun retry"}
}

// Failed is the finding of a check that failed.
func Failed(ctx context.Context, code string, err error) Finding {
	what, fix := definition.GrantedIn(ctx).Failure(err, fixOf(err))
	return Finding{code, Error, what, fix}
}

// fixOf returns the remedy for a store whose operation failed.
func fixOf(err error) string {
	if store.IsUnreadable(err) {
		return "swrun explain SD019 describes the remedies for unreadable data"
	}
	return cmp.Or(redisstore.Remedy(err), boltstore.Remedy(err), "see whether the server is overloaded")
}
