package describe

import (
	"fmt"
	"slices"
	"strings"

	"github.com/swrun/swrun/internal/api"
	"github.com/swrun/swrun/internal/shorten"
	"github.com/swrun/swrun/internal/terminal"
	"github.com/swrun/swrun/interpreter"
	"github.com/swrun/swrun/runtime/client"
	"github.com/swrun/swrun/runtime/store"
)

// Where returns the tasks in progress.
func Where(d *api.Description) string {
	var all []string
	for _, t := range d.Open {
		all = append(all, t.Pointer)
	}
	if len(all) == 0 {
		return "-"
	}
	if len(all) > 2 {
		all = append(all[:2], fmt.Sprintf("and %d more", len(all)-2))
	}
	return strings.Join(all, " ")
}

// Next describes the next event in a few words.
func Next(d *api.Description) string {
	said := ""
	if d.Reason != "" {
		said = ": " + shorten.To(d.Reason, 60)
	}
	switch {
	case d.Status == string(interpreter.StatusCompleted):
		return "-"
	case d.ClosedAt != "":
		return d.ClosedReason + said
	}
	var all []string
	switch {
	case d.Status == store.Quarantined:
		all = append(all, "nothing until swrun retry")
	case d.Suspended:
		all = append(all, "nothing until swrun resume"+said)
	case len(d.Commands) > 0:
		all = append(all, "waits for a worker to carry out: "+strings.Join(d.Commands, ", "))
	case d.WorkerGone:
		all = append(all, "its worker is gone")
	default:
		all = append(all, waits(d)...)
	}
	now := api.ParseTime(d.DescribedAt)
	if starts := api.ParseTime(d.StartsAt); starts.After(now) {
		all = append(all, "starts "+client.Due(starts.Sub(now)))
	}
	all = append(all, due(d)...)
	if late := Late(d); late != "" {
		all = append(all, late)
	}
	if len(all) == 0 {
		return "-"
	}
	return strings.Join(all, " · ")
}

// waits describes the waits of a run, except for timers.
func waits(d *api.Description) (all []string) {
	for _, one := range d.Waiting {
		switch one {
		case store.WaitsForTimer:
		case store.WaitsForQueue:
			all = append(all, "waits for the queue "+strings.Join(queues(d), ", "))
		case store.WaitsForActivity, store.WaitsForEvent:
			all = append(all, "waits for an "+one)
		default:
			all = append(all, "waits for a "+one)
		}
	}
	return all
}

// queues returns the queues of the tasks that wait, and of the activities.
func queues(d *api.Description) (all []string) {
	add := func(name string) {
		if !slices.Contains(all, name) {
			all = append(all, name)
		}
	}
	for _, need := range d.Needs {
		for _, part := range need.Parts() {
			if name, ok := interpreter.NeededQueue(part); ok {
				add(name)
			}
		}
	}
	for _, t := range d.Open {
		if t.Activity != nil {
			add(t.Activity.Queue)
		}
	}
	return all
}

// due describes the first timer, retry and deadline.
func due(d *api.Description) (all []string) {
	for _, t := range d.Open {
		if t.Until != "" {
			what := "timer"
			if t.Retry {
				what = "retry"
			}
			all = append(all, what+" "+client.Due(api.ParseTime(t.Until).Sub(api.ParseTime(d.DescribedAt))))
			break
		}
	}
	if len(d.Deadlines) > 0 {
		scope := "timeout"
		if d.Deadlines[0].Pointer == "" {
			scope = "run deadline"
		}
		told := scope + " " + client.Due(d.Deadlines[0].Left())
		if d.Deadlines[0].OnceBegun {
			told += " if it starts as soon as it may"
		}
		all = append(all, told)
	}
	return all
}

// Late describes the late scope of a run in progress, and its delay: of several, the outermost. It is empty if no scope is late.
func Late(d *api.Description) string {
	for _, soft := range d.SoftDeadlines {
		if left := soft.Left(); left <= 0 {
			scope := ""
			if soft.Pointer != "" {
				scope = " at " + soft.Pointer
			}
			return "late" + scope + " by " + terminal.Elapsed(-left)
		}
	}
	return ""
}
