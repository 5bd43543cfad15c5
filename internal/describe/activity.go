package describe

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/swrun/swrun/internal/api"
	"github.com/swrun/swrun/internal/shorten"
	"github.com/swrun/swrun/internal/terminal"
)

// activities lists the activities that a run waits for: their attempts, their retry policy, all of their timeouts, and the timeout that passes next
// (promises 46); empty without activities.
func activities(d *api.Description) string {
	var open []api.Task
	for _, t := range d.Open {
		if t.Activity != nil {
			open = append(open, t)
		}
	}
	return lastRows("Activities", open, []string{"WHERE", "TYPE", "QUEUE", "ATTEMPT", "WORKER", "HEARTBEAT", "PROGRESS", "TIMEOUTS", "NEXT TO PASS", "TRIED AGAIN"}, func(t api.Task) []string {
		a := t.Activity
		worker := cmp.Or(a.Worker, "-")
		if a.AvailableAt != "" {
			worker = "-"
		}
		return []string{cmp.Or(t.Path, t.Pointer), a.Type, a.Queue, attempts(t.Attempt, a.Retry.MaxAttempts), worker, ago(d, a.HeartbeatAt), progress(a.Progress), timeouts(a.Timeouts), nextToPass(a.Deadlines), triedAgain(a.Retry)}
	})
}

// ago returns the time from an event to the description, as text.
func ago(d *api.Description, at string) string {
	if at == "" {
		return "-"
	}
	return terminal.Elapsed(max(0, api.ParseTime(d.DescribedAt).Sub(api.ParseTime(at)))) + " ago"
}

// progress returns the beginning of the data of the last heartbeat.
func progress(told any) string {
	if told == nil {
		return "-"
	}
	return shorten.To(shownData(told), 60)
}

func attempts(n, most int) string {
	if most == 0 {
		return fmt.Sprint(n)
	}
	return fmt.Sprintf("%d of %d", n, most)
}

func timeouts(t api.ActivityTimeouts) string {
	var all []string
	add := func(kind string, seconds *float64) {
		if seconds != nil {
			all = append(all, kind+"="+lasting(*seconds))
		}
	}
	add("schedule_to_start", t.ScheduleToStartSeconds)
	add("start_to_close", t.StartToCloseSeconds)
	add("schedule_to_close", t.ScheduleToCloseSeconds)
	add("heartbeat", t.HeartbeatSeconds)
	return cmp.Or(strings.Join(all, " "), "-")
}

func lasting(seconds float64) string {
	return terminal.Elapsed(time.Duration(seconds * float64(time.Second)))
}

// nextToPass describes the deadline that passes first: its kind, its time, and whether it ends the activity.
func nextToPass(all []api.OpenDeadline) string {
	first := api.OpenDeadline{}
	for _, d := range all {
		if first.At == "" || api.ParseTime(d.At).Before(api.ParseTime(first.At)) {
			first = d
		}
	}
	switch {
	case first.At == "":
		return "-"
	case first.Ends:
		return first.Kind + " at " + first.At + ": it fails"
	}
	return first.Kind + " at " + first.At + ": next attempt"
}

func triedAgain(r api.ActivityRetry) string {
	if r.MaxAttempts == 1 {
		return "never"
	}
	var all []string
	for _, delay := range r.DelaysSeconds {
		all = append(all, lasting(delay))
	}
	text := "after " + strings.Join(all, ", ")
	if len(all) == 0 {
		text = "at once"
		if r.InitialSeconds != nil {
			text = fmt.Sprintf("after %s, each time %g times as long", lasting(*r.InitialSeconds), r.Factor)
		}
		if r.MaxSeconds != nil {
			text += ", at most " + lasting(*r.MaxSeconds)
		}
	}
	if len(r.NonRetryable) > 0 {
		text += "; not after " + strings.Join(r.NonRetryable, ", ")
	}
	return text
}
