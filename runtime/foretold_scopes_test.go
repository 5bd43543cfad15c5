package runtime_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/swrun/swrun/internal/pacetest"
	"github.com/swrun/swrun/interpreter"
	"github.com/swrun/swrun/runtime/client"
	"github.com/swrun/swrun/runtime/store"
)

// scopes makes documents with scopes of all kinds, in each other, with timeouts that are written in all ways.
type scopes struct {
	*rand.Rand
	named []string // under use.timeouts
	soft  bool     // they have soft deadlines, too
}

func (s *scopes) seconds(from, to int) string {
	return fmt.Sprintf("PT%d.%03dS", from+s.IntN(to-from), s.IntN(1000))
}

// late returns the soft deadline of a task, or nothing. Some become late at the same time.
func (s *scopes) late() string {
	if !s.soft || s.IntN(2) == 0 {
		return ""
	}
	return fmt.Sprintf("metadata: {swrun: {softDeadline: PT%dS}}, ", 3+s.IntN(40))
}

// timeout returns the timeout of a task, or nothing: as a duration, members, an expression or a name.
func (s *scopes) timeout() string {
	n := 5 + s.IntN(120)
	switch s.IntN(8) {
	case 0:
		return "timeout: {after: " + s.seconds(5, 120) + "}, "
	case 1:
		return fmt.Sprintf("timeout: {after: {seconds: %d, milliseconds: %d}}, ", n, s.IntN(1000))
	case 2:
		return fmt.Sprintf(`timeout: {after: '${ "PT\(%d + 1).%03dS" }'}, `, n, s.IntN(1000))
	case 3:
		s.named = append(s.named, fmt.Sprintf("n%d: {after: %s}", len(s.named), s.seconds(5, 120)))
		return fmt.Sprintf("timeout: n%d, ", len(s.named)-1)
	}
	return ""
}

// task returns a task that does not end on its own.
func (s *scopes) task(depth int) string {
	inner := func() string { return "[{t: " + s.task(depth-1) + "}]" }
	kind := s.IntN(10)
	if depth == 0 {
		kind = s.IntN(5)
	}
	return "{" + s.timeout() + s.late() + map[int]func() string{
		0: func() string { return "listen: {to: {one: {with: {type: never}}}}" },
		1: func() string { return "wait: P1D" },
		2: func() string { return "run: {shell: {command: 'true'}}" },
		3: func() string { return "run: {workflow: {namespace: test, name: child, version: latest}}" },
		4: func() string {
			return fmt.Sprintf("call: 'activity:1.0.0@default', with: {type: x, timeouts: {scheduleToStart: %s, scheduleToClose: %s}, retry: {maxAttempts: 2, backoff: [%s]}}",
				s.seconds(5, 60), s.seconds(20, 120), s.seconds(1, 5))
		},
		5: func() string { return "do: " + inner() },
		6: func() string { return "for: {in: '[1, 2]'}, do: " + inner() },
		7: func() string {
			return fmt.Sprintf("fork: {compete: %t, branches: [{a: %s}, {b: %s}]}", s.IntN(2) == 0, s.task(depth-1), s.task(depth-1))
		},
	}[min(kind, 7)]() + "}"
}

// retried returns a try around a task, which tries it again when its time is over.
func (s *scopes) retried(task string) string {
	delay := []string{"delay: " + s.seconds(0, 4), "delay: PT1S, backoff: {exponential: {}}", "delay: PT1S, backoff: {linear: {}}",
		"jitter: {from: PT0.1S, to: PT3S}", "delay: PT0.5S, jitter: {from: PT0S, to: PT2S}"}[s.IntN(5)]
	limit := []string{"attempt: {count: 2}", "attempt: {count: 3, duration: " + s.seconds(5, 60) + "}", "duration: " + s.seconds(10, 120),
		"attempt: {duration: " + s.seconds(5, 60) + "}, duration: " + s.seconds(30, 200)}[s.IntN(4)]
	return fmt.Sprintf("{%s%stry: [{t: %s}], catch: {errors: {with: {status: 408}}, retry: {%s, limit: {%s}}, do: [{w: {%s%swait: P1D}}]}}",
		s.timeout(), s.late(), task, delay, limit, s.timeout(), s.late())
}

// document returns a document of such tasks, perhaps with a child beside.
func (s *scopes) document() (text string) {
	task := s.task(2)
	if s.IntN(2) == 0 {
		task = s.retried(task)
	}
	tasks := "{t: " + task + "}"
	if s.IntN(3) == 0 {
		tasks = beside([]string{"cancel", "terminate", "abandon"}[s.IntN(3)]) + ", " + tasks
	}
	if s.IntN(2) == 0 {
		text = "timeout: {after: " + s.seconds(30, 200) + "}\n"
	}
	if s.IntN(4) == 0 {
		text = fmt.Sprintf("timeout: {after: '${ \"PT%d.5S\" }'}\n", 30+s.IntN(100))
	}
	if len(s.named) > 0 {
		text += "use: {timeouts: {" + strings.Join(s.named, ", ") + "}}\n"
	}
	if metadata := s.late(); metadata != "" {
		text = "{" + strings.TrimSuffix(metadata, ", ") + "}\n" + text
	}
	return text + "do: [" + tasks + "]"
}

// TestDeadlinesOfAllScopesAreNamed: the deadline that describe names as the first fires first in scopes of all kinds: in loops, branches
// and tries with their retries, at tasks that listen, wait, perform, or run a child, beside detached children, with computed or named
// timeouts, and while the run is suspended.
func TestDeadlinesOfAllScopesAreNamed(t *testing.T) {
	fired, all := nameSeeds(t, 1, false, func(*activities, *scopes, store.Instance) {})
	if all {
		expectCounted(t, fired, append(interpreter.DeadlineKinds(), interpreter.DeadlineScheduleToStart, interpreter.DeadlineScheduleToClose, "suspended")...)
	}
}

// nameSeeds makes documents from random numbers of a stream, and has the deadlines of their runs pass. Meddle is called before each. It
// returns how often a deadline of each kind fired, and whether so many documents were made that each kind of event occurs.
func nameSeeds(t *testing.T, stream uint64, soft bool, meddle func(*activities, *scopes, store.Instance)) (fired map[string]int, all bool) {
	const seeds = 300
	fired = map[string]int{}
	tried := pacetest.Fewer(seeds, 5)
	for seed := range uint64(tried) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			withOutsideWorkers(t, false, func(a *activities) {
				s := &scopes{Rand: rand.New(rand.NewPCG(seed, stream)), soft: soft}
				document := s.document()
				a.nameAll(s, document, fired, func(i store.Instance) { meddle(a, s, i) })
				if t.Failed() {
					t.Logf("the document is\n%s", document)
				}
			})
		})
	}
	return fired, tried == seeds
}

// expectCounted expects that each kind of event occurred.
func expectCounted(t *testing.T, counted map[string]int, kinds ...string) {
	t.Helper()
	for _, kind := range kinds {
		if counted[kind] == 0 {
			t.Errorf("nothing of the kind %q occurred: %v", kind, counted)
		}
	}
}

// nameAll starts a run and has its deadlines pass one after the other. Meddle is called before each.
func (a *activities) nameAll(s *scopes, document string, fired map[string]int, meddle func(store.Instance)) {
	a.Helper()
	a.perform = func(ctx context.Context, _ interpreter.Request) (any, error) {
		<-ctx.Done()
		return nil, context.Cause(ctx)
	}
	a.deploy("child", "do: [{w: {listen: {to: {one: {with: {type: never}}}}}}]")
	o := client.StartOptions{}
	if s.IntN(3) == 0 {
		o.ExecutionTimeout = time.Duration(30_000+s.IntN(200_000)) * time.Millisecond
	}
	if s.IntN(3) == 0 {
		o.RunTimeout = time.Duration(30_000+s.IntN(200_000)) * time.Millisecond
	}
	i := a.start(document, o)
	for range 20 {
		time.Sleep(2 * time.Second) // effects in progress are stored
		suspended := s.IntN(3) == 0 && !a.record(i).Status.Final()
		if suspended {
			a.must(a.client.Suspend(a.Context(), i, ""))
			time.Sleep(2 * time.Second)
		}
		meddle(i)
		a.awaitOthers(i)
		kind := a.foretold(i)
		if suspended && !a.record(i).Status.Final() {
			a.must(a.client.Resume(a.Context(), i, ""))
		}
		if kind == "" {
			break
		}
		if fired[kind]++; suspended {
			fired["suspended"]++
		}
	}
	if !a.record(i).Status.Final() {
		a.must(a.client.Terminate(a.Context(), i, ""))
		a.wait(i)
	}
}

// awaitOthers waits until nothing comes before the first deadline of a run: the delay of a retry has passed.
func (a *activities) awaitOthers(i store.Instance) {
	a.Helper()
	for range 20 {
		d, err := a.client.Describe(a.Context(), i)
		a.must(err)
		wake := d.Lifecycle.Wake
		if len(d.Deadlines) == 0 || wake.IsZero() || !wake.Before(d.Deadlines[0].At) || d.Lifecycle.Status.Final() {
			return
		}
		time.Sleep(time.Until(wake) + 10*time.Millisecond)
	}
}
