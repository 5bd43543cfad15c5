package main

import (
	"context"
	"fmt"
	"net"
	"net/url"
	"strings"
	"time"

	"github.com/Masterminds/semver/v3"
	"github.com/spf13/cobra"

	"github.com/swrun/swrun/errors"
	"github.com/swrun/swrun/internal/terminal"
	"github.com/swrun/swrun/redisstore"
	"github.com/swrun/swrun/runtime/store"
)

func (p *program) doctorCommand() *cobra.Command {
	f := &operateFlags{}
	cmd := &cobra.Command{
		Use: "doctor", Short: "Check what a store needs, and whether it is well",
		Example: "  swrun doctor --store redis://localhost:6379",
		Long:    "Exit 0: all is well, perhaps with warnings; 7: something would lose runs, or the store cannot be reached.",
		Args:    exactly(), RunE: verb(func([]string) error { return p.doctor(f) }),
	}
	f.add(cmd, "human", "json")
	return cmd
}

// Finding is one thing that doctor has looked at.
type Finding struct {
	Code  string `json:"code"`
	Level string `json:"level"` // ok, warning or error
	What  string `json:"what"`
	Fix   string `json:"fix,omitempty"`
}

const (
	levelOK      = "ok"
	levelWarning = "warning"
	levelError   = "error"
)

func (p *program) doctor(f *operateFlags) error {
	if err := f.check(); err != nil {
		return err
	}
	printer, err := f.printer(p)
	if err != nil {
		return err
	}
	ctx, _, stop := p.interruptible()
	defer stop()
	var found []Finding
	_, because := f.location(p)
	f.looks = true
	s, err := f.open(ctx, p)
	var exit *exitError
	if errors.As(err, &exit) && exit.code == exitUsage {
		return err
	}
	if err != nil {
		fix := "correct the server or --store, and run doctor again"
		if exit != nil && exit.hint != doctorHint {
			fix = exit.hint
		}
		found = append(found, Finding{"SD001", levelError, err.Error() + " (" + because + ")", fix})
	} else if s.missing != "" {
		found = append(found, Finding{"SD001", levelOK, fmt.Sprintf("there is no store yet: the first run makes %s (%s)", s, because), ""})
	} else {
		defer s.Close() // it was only looked at
		found = append(found, Finding{"SD001", levelOK, fmt.Sprintf("the store %s can be opened and written to: %s (%s)", s, layoutText(s.Layout()), because), ""})
		found = append(found, p.examine(ctx, s)...)
	}
	return (&operation{program: p, flags: f, printer: printer}).diagnose(found)
}

// examine looks at a store that could be opened.
func (p *program) examine(ctx context.Context, s *openedStore) []Finding {
	var found []Finding
	if redis, ok := s.Store.Store.(*redisstore.Store); ok {
		facts, err := redis.Facts(ctx)
		if err != nil {
			return append(found, Finding{"SD002", levelError, err.Error(), "let the user of the store read INFO"})
		}
		found = append(found, persistence(facts), room(facts))
		found = append(found, exposure(facts, s.URL())...)
	}
	found = append(found, p.clocks(ctx, s)...)
	found = append(found, health(ctx, s))
	return append(found, workers(ctx, s)...)
}

func layoutText(l store.Layout) string {
	return fmt.Sprintf("deployment %s, %s, schema %d", l.Deployment, terminal.Counted(l.Partitions, "partition"), l.Schema)
}

func persistence(f redisstore.Facts) Finding {
	servers := "one server"
	if f.Servers > 0 {
		servers = fmt.Sprintf("a cluster of %d", f.Servers)
	}
	what := fmt.Sprintf("Redis %s, %s with %s, durability %s, maxmemory-policy %s", f.Version, servers, terminal.Counted(f.Replicas, "replica"), f.Durability, f.Policy)
	switch f.Durability {
	case redisstore.DurabilityMemory:
		return Finding{"SD002", levelWarning, what + ": a crash of the server loses everything that was not saved", "set appendonly yes"}
	case redisstore.DurabilityEverysec:
		return Finding{"SD002", levelOK, what + ": a crash of the machine may lose the last second", ""}
	}
	return Finding{"SD002", levelOK, what + ": what is confirmed is on the disk", ""}
}

func room(f redisstore.Facts) Finding {
	if f.MaxMemory == 0 {
		return Finding{"SD003", levelWarning, fmt.Sprintf("%d MB in use, without a limit", f.Memory>>20), "set maxmemory below the machine's memory, so that the server refuses writes before the machine kills it"}
	}
	used := f.Used()
	what := fmt.Sprintf("%d of %d MB in use", f.Memory>>20, f.MaxMemory>>20)
	switch {
	case used > redisstore.Full:
		return Finding{"SD003", levelError, what + ": no new runs are taken", "raise maxmemory, or let workers delete old runs: swrun worker --retention 24h"}
	case used > 0.7:
		return Finding{"SD003", levelWarning, what, "raise maxmemory soon"}
	}
	return Finding{"SD003", levelOK, what, ""}
}

// exposure tells what lets others at the server.
func exposure(f redisstore.Facts, location string) (found []Finding) {
	if !patched(f.Version) {
		found = append(found, Finding{"SD007", levelWarning, "Redis " + f.Version + " is older than the corrections of CVE-2025-49844, with which a user who may run scripts takes over the server",
			"use 7.2.11, 7.4.6, 8.0.4, 8.2.2 or later, or see whether your distribution has corrected this one"})
	}
	u, err := url.Parse(location)
	if err != nil || strings.HasPrefix(u.Scheme, "rediss") {
		return found
	}
	if address := net.ParseIP(u.Hostname()); u.Hostname() != "localhost" && (address == nil || !address.IsLoopback()) {
		found = append(found, Finding{"SD008", levelWarning, "what is sent to the server is not encrypted", "use rediss:// unless nobody else is on the way"})
	}
	return found
}

// patched reports whether a version of Redis has the corrections of CVE-2025-49844.
func patched(version string) bool {
	v, err := semver.NewVersion(version)
	if err != nil {
		return true // nobody knows
	}
	for _, corrected := range []string{">=8.2.2", ">=8.0.4 <8.1", ">=7.4.6 <7.5", ">=7.2.11 <7.3"} {
		if c, err := semver.NewConstraint(corrected); err == nil && c.Check(v) {
			return true
		}
	}
	return false
}

// clocks compares the store's clock with this machine's, and measures how fast it answers.
func (p *program) clocks(ctx context.Context, s *openedStore) []Finding {
	var best, skew time.Duration
	for n := range 20 {
		began := p.now()
		work, err := s.Poll(ctx, 0, 1, false)
		took := p.now().Sub(began)
		if err != nil {
			return []Finding{{"SD004", levelError, err.Error(), "see whether the server is overloaded"}}
		}
		if n == 0 || took < best {
			best, skew = took, work.At.Sub(began.Add(took/2))
		}
	}
	answer := Finding{"SD005", levelOK, fmt.Sprintf("the store answers in %s", terminal.Elapsed(best)), ""}
	if best > 20*time.Millisecond {
		answer = Finding{"SD005", levelWarning, answer.What, "run the workers nearer to the store: a durable step takes at least that long"}
	}
	if skew.Abs() > time.Second {
		return []Finding{answer, {"SD004", levelWarning, fmt.Sprintf("the store's clock differs from this machine's by %s", terminal.Elapsed(skew.Abs())), "deadlines follow the store's clock; synchronize both with NTP"}}
	}
	return []Finding{answer, {"SD004", levelOK, "the store's clock agrees with this machine's", ""}}
}

// health tells what the store has counted of itself.
func health(ctx context.Context, s *openedStore) Finding {
	var all store.Statistics
	for p := range s.Layout().Partitions {
		st, err := s.Statistics(ctx, p)
		if err != nil {
			return Finding{"SD006", levelError, err.Error(), "see whether the server is overloaded"}
		}
		all.Ready += st.Ready
		all.Waiting += st.Waiting
		all.Closed += st.Closed
		all.Outbox += st.Outbox
		all.Repairs += st.Repairs
		all.Losses += st.Losses
		all.Jumps += st.Jumps
	}
	what := fmt.Sprintf("runs: %d ready, %d waiting or in hand, %d ended; %s on the way", all.Ready, all.Waiting, all.Closed, terminal.Counted(all.Outbox, "message"))
	switch {
	case all.Losses > 0:
		return Finding{"SD006", levelWarning, fmt.Sprintf("%s; the server lost confirmed writes %s", what, terminal.Counted(all.Losses, "time")), "set appendfsync always, and check failovers and restores of the server"}
	case all.Jumps > 0:
		return Finding{"SD006", levelWarning, fmt.Sprintf("%s; the server's clock jumped, which was noticed %s", what, terminal.Counted(all.Jumps, "time")), "time went on in the store; see why the server's clock is set"}
	case all.Repairs > 0:
		return Finding{"SD006", levelWarning, fmt.Sprintf("%s; %s of indexes", what, terminal.Counted(all.Repairs, "repair")), "repairs are signs of lost writes or of a bug: please report them"}
	}
	return Finding{"SD006", levelOK, what, ""}
}

func (o *operation) diagnose(found []Finding) error {
	worst := levelOK
	values := []Finding{}
	l := o.outStyle()
	for _, x := range found {
		if x.Level == levelError || worst == levelOK {
			worst = x.Level
		}
		values = append(values, x)
		if o.flags.output == "human" {
			fmt.Fprintln(o.out, l.Text(fmt.Sprintf("%-8s %s  %s", x.Level, x.Code, terminal.Printable(x.What))))
			if x.Fix != "" {
				fmt.Fprintln(o.out, l.Text("         fix: "+terminal.Printable(x.Fix)))
			}
		}
	}
	if o.flags.output == "json" {
		if err := o.print(map[string]any{"schema": "swrun/v1/doctor", "level": worst, "findings": values}); err != nil {
			return err
		}
	}
	if worst == levelError {
		return quietExit(exitStore)
	}
	return nil
}
