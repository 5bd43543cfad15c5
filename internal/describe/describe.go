// Package describe describes runs in a store for people: what a run waits for, what happens next, its deadlines, and its history line
// by line. It formats what package client has found out, and reads no store itself.
package describe

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/swrun/swrun/internal/api"
	"github.com/swrun/swrun/internal/terminal"
	"github.com/swrun/swrun/interpreter"
	"github.com/swrun/swrun/runtime/client"
	"github.com/swrun/swrun/runtime/store"
)

// Run describes a run in lines. Driver says how it goes on if nobody works on
// its store, and is empty if somebody may.
func Run(d *client.Description, r *client.Review, driver string) string {
	var b strings.Builder
	line := func(name, format string, args ...any) {
		fmt.Fprintf(&b, "%-10s %s\n", name, terminal.Printable(fmt.Sprintf(format, args...)))
	}
	line("Run:", "%s  %s  %s", d.Instance.ID, d.Invocation.Workflow, d.Status)
	line("Why:", "%s", d.Why)
	if d.Then != "" {
		line("Then:", "%s", d.Then)
	}
	for _, soft := range d.Soft {
		line(softLine(d, soft))
	}
	start(line, d)
	if d.State.Fault != nil {
		line("Failure:", "%s", d.State.Fault)
		if source, at := r.Source, d.State.Fault.Instance; source != d {
			line("From:", "%s  %s at %s (%s)", source.Instance.ID, source.Invocation.Workflow, at, source.Source(api.InstancePointer(at)))
		}
	}
	if d.Invocation.Parent == nil && d.Invocation.Origin != nil {
		line("Started:", "by %s, which does not wait for it", d.Invocation.Origin)
	}
	if d.Lifecycle.Held() {
		line("Worker:", "%s", workerText(d))
	}
	if driver != "" {
		line("To go on:", "%s", driver)
	}
	if d.Lifecycle.Deaths > 0 {
		line("Lost:", "%s in a row", terminal.Counted(d.Lifecycle.Deaths, "worker"))
	}
	line("You can:", "%s", strings.Join(possible(d), " · "))
	if len(d.Deadlines) > 0 {
		b.WriteString("Deadlines, the first to fire first:\n" + deadlines(d))
	}
	b.WriteString(children(r) + failures(r))
	return b.String()
}

// softLine describes a soft deadline, as the arguments of a line.
func softLine(d *client.Description, soft interpreter.ActiveSoftDeadline) (name, format string, at any) {
	scope := "the workflow"
	if soft.Pointer != "" {
		scope = fmt.Sprintf("%s (%s)", soft.Pointer, d.Source(soft.Origin))
	}
	if left := soft.At.Sub(d.At); left > 0 {
		return "Soft:", "%s", fmt.Sprintf("%s is late after %s, %s", scope, api.Time(soft.At), client.Due(left))
	}
	return "Late:", "%s", fmt.Sprintf("%s, since %s; it goes on all the same", scope, api.Time(soft.At))
}

// start describes how the run was started.
func start(line func(name, format string, args ...any), d *client.Description) {
	if f := d.Invocation.Fork; f != nil {
		line("Forked:", "from %s", f.Instance)
	}
	if began := d.Invocation.Began; began != nil {
		line("Migrated:", "from %s", began.Workflow)
	}
	for _, f := range d.Forks {
		line("Fork:", "%s goes on from it", f)
	}
	if n := d.State.RunNumber(); n > 1 {
		line("Run no.:", "%d of this execution", n)
	}
	by := ""
	if d.Invocation.Actor != "" {
		by = ", by " + d.Invocation.Actor
	}
	line("Created:", "%s%s", api.Time(d.Lifecycle.Created), by)
	if d.Invocation.BusinessKey != "" {
		line("Key:", "%s", d.Invocation.BusinessKey)
	}
	for _, name := range slices.Sorted(maps.Keys(d.Invocation.Labels)) {
		line("Label:", "%s=%s", name, d.Invocation.Labels[name])
	}
	if d.Invocation.Parent != nil {
		line("Parent:", "%s", d.Invocation.Parent.Instance)
	}
}

func deadlines(d *client.Description) string {
	var b strings.Builder
	w := terminal.NewTable(&b, indented(DeadlineColumns())...)
	for _, in := range d.Deadlines {
		w.Row(indented(DeadlineRow(in))...)
	}
	w.Flush() // it writes to memory
	return b.String()
}

// DeadlineColumns are the heads of the columns of DeadlineRow.
func DeadlineColumns() []string {
	return []string{"SCOPE", "SOURCE", "KIND", "AT", "LEFT", "CAUGHT BY"}
}

// DeadlineRow describes a deadline in columns.
func DeadlineRow(in client.DescribedDeadline) []string {
	scope, source, by := "the workflow", "-", "nothing: the run faults"
	if in.Pointer != "" {
		scope = string(in.Pointer)
	}
	if in.Line > 0 {
		source = fmt.Sprintf("%s:%d", in.File, in.Line)
	}
	if in.CaughtBy != "" {
		by = string(in.CaughtBy)
	}
	if in.Conditional {
		by += " (if its condition holds)"
	}
	if in.AwaitsRelease {
		by += ", once the run is released"
	}
	return []string{scope, source, in.Kind, api.Time(in.At), leftOrOverdue(in.Left), by}
}

// workerText names the worker that has a run, and says whether it is there.
func workerText(d *client.Description) string {
	return d.Lifecycle.Owner + ", " + presence(d)
}

func presence(d *client.Description) string {
	lease := d.Lifecycle.Lease
	switch {
	case lease.IsZero():
		return "gone: its lease has ended"
	case d.Gone && lease.After(d.At):
		return "gone: nothing works on the store now"
	case d.Gone:
		return fmt.Sprintf("gone: it last renewed its lease before %s, and the lease ended %s ago", api.Time(lease), terminal.Elapsed(d.At.Sub(lease)))
	}
	return fmt.Sprintf("has it until %s, and longer as long as it is there", api.Time(lease))
}

// leftOrOverdue shows how much time there is, or by how much it is over.
func leftOrOverdue(d time.Duration) string {
	if d < 0 {
		return client.Due(d)
	}
	return terminal.Elapsed(d)
}

// possible returns the verbs that the run's state allows.
func possible(d *client.Description) (all []string) {
	read := d.Lifecycle.Status.Final() || slices.Contains(d.Commands, store.VerbCancel) || slices.Contains(d.Commands, store.VerbTerminate)
	for _, p := range d.Permissions() {
		if p.Verb == client.VerbDelete && read { // there is little else to do
			all = append(all, "history")
		}
		if p.Useful() {
			all = append(all, p.Verb)
		}
	}
	return all
}

func indented(row []string) []string {
	row[0] = "  " + row[0]
	return row
}
