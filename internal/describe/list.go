package describe

import (
	"fmt"
	"strings"

	"github.com/swrun/swrun/internal/shorten"
	"github.com/swrun/swrun/internal/terminal"
	"github.com/swrun/swrun/interpreter"
	"github.com/swrun/swrun/runtime/client"
	"github.com/swrun/swrun/runtime/store"
)

// Where returns the tasks in progress.
func Where(d *client.Description) string {
	var all []string
	for _, t := range d.OpenTasks {
		all = append(all, string(t.Pointer))
	}
	if len(all) == 0 {
		return "-"
	}
	if len(all) > 2 {
		all = append(all[:2], fmt.Sprintf("and %d more", len(all)-2))
	}
	return strings.Join(all, " ")
}

// Next says in a few words what happens next.
func Next(d *client.Description) string {
	said := ""
	if reason := d.Reason; reason != "" {
		said = ": " + shorten.To(reason, 60)
	}
	switch {
	case d.Lifecycle.Status == interpreter.StatusCompleted:
		return "-"
	case d.Lifecycle.Status.Final():
		return d.Lifecycle.Reason + said
	}
	var all []string
	switch {
	case d.Status == store.Quarantined:
		all = append(all, "nothing until swrun retry")
	case d.State.Suspended:
		all = append(all, "nothing until swrun resume"+said)
	case len(d.Commands) > 0:
		all = append(all, "waits for a worker to carry out: "+commands(d))
	case d.Gone:
		all = append(all, "its worker is gone")
	case !d.Lifecycle.Ready.IsZero():
		all = append(all, "waits for a worker")
	}
	if starts := d.Lifecycle.Started; d.Lifecycle.Status == interpreter.StatusPending && starts.After(d.At) {
		all = append(all, "starts "+client.Due(starts.Sub(d.At)))
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

func commands(d *client.Description) string {
	var all []string
	for _, verb := range d.Commands {
		all = append(all, string(verb))
	}
	return strings.Join(all, ", ")
}

// due says which timer, retry and deadline comes first.
func due(d *client.Description) (all []string) {
	for _, t := range d.OpenTasks {
		if !t.Until.IsZero() {
			what := "timer"
			if t.Retry {
				what = "retry"
			}
			all = append(all, what+" "+client.Due(t.Until.Sub(d.At)))
			break
		}
	}
	if len(d.Deadlines) > 0 {
		scope := "timeout"
		if d.Deadlines[0].Pointer == "" {
			scope = "run deadline"
		}
		all = append(all, scope+" "+client.Due(d.Deadlines[0].Left))
	}
	return all
}

// Late says which scope of a run in progress is late, and since when: of several, the outermost. It is empty if none is.
func Late(d *client.Description) string {
	for _, soft := range d.Soft {
		if over := d.At.Sub(soft.At); over >= 0 {
			scope := ""
			if soft.Pointer != "" {
				scope = " at " + string(soft.Pointer)
			}
			return "late" + scope + " by " + terminal.Elapsed(over)
		}
	}
	return ""
}
