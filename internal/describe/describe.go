// Package describe describes runs for people: the tasks of a run, its next event, its deadlines, and its history line by line. It formats the types
// of package api, of any origin, and sends no requests.
package describe

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/swrun/swrun/internal/api"
	"github.com/swrun/swrun/internal/terminal"
	"github.com/swrun/swrun/runtime/client"
	"github.com/swrun/swrun/runtime/store"
)

// Run describes a run in lines. Driver describes how the run continues if no worker works on its store; it is empty if a worker may.
func Run(d *api.Description, driver string) string {
	var b strings.Builder
	line := func(name, format string, args ...any) {
		fmt.Fprintf(&b, "%-10s %s\n", name, terminal.Printable(fmt.Sprintf(format, args...)))
	}
	line("Run:", "%s  %s  %s", d.ID, d.Workflow, d.Status)
	if d.Why != "" {
		line("Why:", "%s", d.Why)
	}
	if d.HiddenData {
		line("Hidden:", "the token does not show the data of runs")
	}
	if d.Then != "" {
		line("Then:", "%s", d.Then)
	}
	for _, soft := range d.SoftDeadlines {
		line(softLine(soft, api.ParseTime(d.DescribedAt)))
	}
	start(line, d)
	failure(line, d)
	if d.LaunchedBy != "" {
		line("Started:", "by %s, which does not wait for it", d.LaunchedBy)
	}
	if d.Worker != "" {
		line("Worker:", "%s", workerText(d))
	}
	if driver != "" {
		line("Continue:", "%s", driver)
	}
	if d.WorkersLost > 0 {
		line("Lost:", "%s in a row", terminal.Counted(d.WorkersLost, "worker"))
	}
	line("You can:", "%s", strings.Join(possible(d), " · "))
	b.WriteString(deadlines(d) + activities(d) + listens(d) + children(d) + failures(d))
	return b.String()
}

// softLine describes a soft deadline at a time, as the arguments of a line.
func softLine(soft api.SoftDeadline, now time.Time) (name, format string, at any) {
	scope := "the workflow"
	if soft.Pointer != "" {
		scope = fmt.Sprintf("%s (%s:%d)", soft.Pointer, soft.File, soft.Line)
	}
	if left := soft.Left(); left > 0 {
		text := fmt.Sprintf("%s is late after %s, %s", scope, soft.At, client.Due(left))
		if soft.OnceBegun {
			text += ", if it starts as soon as it may"
		}
		return "Soft:", "%s", text
	}
	return "Late:", "%s", fmt.Sprintf("%s, since %s. %s", scope, soft.At, lateEnd(soft, now))
}

// lateEnd describes the end of a late scope.
func lateEnd(soft api.SoftDeadline, now time.Time) string {
	switch {
	case soft.EndsAt == "":
		return "Being late does not end it"
	case api.ParseTime(soft.EndsAt).After(now):
		return fmt.Sprintf("It ends at %s at the latest", soft.EndsAt)
	case soft.Held:
		return fmt.Sprintf("Its time was over at %s, and it ends once the run is released", soft.EndsAt)
	}
	return fmt.Sprintf("Its time was over at %s, and a worker will end it", soft.EndsAt)
}

// start describes the start of the run.
func start(line func(name, format string, args ...any), d *api.Description) {
	if d.ForkedFrom != "" {
		line("Forked:", "from %s", d.ForkedFrom)
	}
	if d.BeganAs != "" {
		line("Migrated:", "from %s", d.BeganAs)
	}
	if a := d.Acknowledged; a != nil {
		by, why := "", ""
		if a.Actor != "" {
			by = " by " + a.Actor
		}
		if a.Reason != "" {
			why = ": " + a.Reason
		}
		line("Known:", "acknowledged%s at %s%s", by, a.At, why)
	}
	for _, f := range d.Forks {
		line("Fork:", "%s continues it", f)
	}
	if d.Status == client.Continued {
		line("Run no.:", "%d of the %d of this execution", d.RunNumber, d.LatestRun)
	} else if d.RunNumber > 1 {
		line("Run no.:", "%d of this execution", d.RunNumber)
	}
	by := ""
	if d.StartedBy != "" {
		by = ", by " + d.StartedBy
	}
	line("Created:", "%s%s", d.CreatedAt, by)
	if d.BusinessKey != "" {
		line("Key:", "%s", d.BusinessKey)
	}
	for _, name := range slices.Sorted(maps.Keys(d.Labels)) {
		line("Label:", "%s=%s", name, d.Labels[name])
	}
	if d.Parent != "" {
		line("Parent:", "%s", d.Parent)
	}
}

// failure describes the error of a faulted run, and its origin if that is another run.
func failure(line func(name, format string, args ...any), d *api.Description) {
	if d.Failure == nil {
		return
	}
	e := api.ParseError(d.Failure.Error)
	line("Failure:", "%s", strings.Join(append([]string{e.Error()}, nonRetryable(d.Failure.Error)...), ", "))
	if called := e.Reached().String(); called != "" {
		line("Called:", "%s", called)
	}
	if f := d.Failure; f.Run != "" {
		line("From:", "%s  %s at %s (%s:%d)", store.InstanceOf(f.Run).ID, f.Workflow, e.Instance, f.File, f.Line)
	}
}

func deadlines(d *api.Description) string {
	if len(d.Deadlines) == 0 {
		return ""
	}
	var b strings.Builder
	b.WriteString("Deadlines, the first to fire first:\n")
	if d.Status == client.Continued {
		b.Reset()
		b.WriteString("Deadlines in force when the next run began:\n")
	}
	w := terminal.NewTable(&b, indented(DeadlineColumns())...)
	for _, in := range d.Deadlines {
		w.Row(indented(DeadlineRow(in))...)
	}
	w.Flush() // it writes to memory
	return b.String()
}

// DeadlineColumns are the headings of the columns of DeadlineRow.
func DeadlineColumns() []string {
	return []string{"SCOPE", "SOURCE", "KIND", "WITHIN", "AT", "LEFT", "CAUGHT BY"}
}

// DeadlineRow describes a deadline in columns.
func DeadlineRow(in api.Deadline) []string {
	source := "-"
	if in.Line > 0 {
		source = fmt.Sprintf("%s:%d", in.File, in.Line)
	}
	by := cmp.Or(in.CaughtBy, "nothing: the run faults")
	if in.Retries {
		by = "another attempt follows"
	}
	if in.Conditional {
		by += " (if its condition holds)"
	}
	if in.OnceBegun {
		by += ", if it starts as soon as it may"
	}
	if in.Held {
		by += ", once the run is released"
	}
	return []string{cmp.Or(in.Pointer, "the workflow"), source, in.Kind, within(in), in.At, leftOrOverdue(in.Left()), by}
}

// within returns the length of the deadline; a deadline that was set as a moment has no length.
func within(in api.Deadline) string {
	if in.StartedAt == "" {
		return "-"
	}
	return terminal.Elapsed(api.ParseTime(in.At).Sub(api.ParseTime(in.StartedAt)))
}

// workerText names the worker that holds a run, and reports whether it is present.
func workerText(d *api.Description) string { return d.Worker + ", " + presence(d) }

func presence(d *api.Description) string {
	now, lease := api.ParseTime(d.DescribedAt), api.ParseTime(d.HeldUntil)
	switch {
	case d.WorkerUnknown != "" && !lease.After(now):
		return "not known whether it is there: it cannot renew its lease, since " + d.WorkerUnknown
	case d.HeldUntil == "":
		return "gone: its lease has ended"
	case d.WorkerGone && lease.After(now):
		return "gone: nothing works on the store now"
	case d.WorkerGone:
		return fmt.Sprintf("gone: it last renewed its lease before %s, and the lease ended %s ago", d.HeldUntil, terminal.Elapsed(now.Sub(lease)))
	}
	return fmt.Sprintf("has it until %s, and longer as long as it is there", d.HeldUntil)
}

// leftOrOverdue returns the remaining time, or the time by which a deadline is overdue.
func leftOrOverdue(d time.Duration) string {
	if d < 0 {
		return client.Due(d)
	}
	return terminal.Elapsed(d)
}

// possible returns the verbs that the run's state allows.
func possible(d *api.Description) (all []string) {
	read := d.ClosedAt != "" || slices.Contains(d.Commands, string(store.VerbCancel)) || slices.Contains(d.Commands, string(store.VerbTerminate))
	for _, verb := range client.PermissionVerbs() {
		if verb == client.VerbDelete && read { // few other commands remain
			all = append(all, "history")
		}
		if p := d.Allowed[verb]; p.Allowed && p.NoEffect == "" {
			all = append(all, inCommand(verb))
		}
	}
	return all
}

// inCommand returns the words of the command of a verb.
func inCommand(verb string) string {
	if verb == string(store.VerbRetryNow) {
		return "retry --now"
	}
	return verb
}

func indented(row []string) []string {
	row[0] = "  " + row[0]
	return row
}
