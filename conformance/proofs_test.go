package conformance

import (
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/swrun/swrun/errors"
	"github.com/swrun/swrun/internal/pacetest"
	"github.com/swrun/swrun/interpreter"
)

// TestProofs shows for every case that the interpreter is a function of data: a second run gives the same result, a run whose state is stored (change
// by change) and read after every step gives the same result, and the events alone rebuild the state.
func TestProofs(t *testing.T) {
	for _, c := range pacetest.Thinned(mustCases(t), 10) { // each case has one goroutine
		if !c.runs() {
			continue
		}
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			first := newDriver(t, c)
			want := first.run()
			c.verify(t, first.ending())
			verifyAgain(t, c, want)
			verifyStored(t, c, want)
			verifyNudged(t, c, want)
			verifyReversed(t, c)
			verifySuspended(t, c)
			verifyHidden(t, c, want)
			verifyFolded(t, c)
			for _, i := range want {
				verifyReplayed(t, i)
			}
		})
	}
}

// verifyAgain runs the case a second time.
func verifyAgain(t *testing.T, c testCase, want []*caseRun) {
	t.Helper()
	compareRuns(t, "run again", want, newDriver(t, c).run())
}

// verifyStored runs the case with a state that survives each step only as JSON.
func verifyStored(t *testing.T, c testCase, want []*caseRun) {
	t.Helper()
	d := newDriver(t, c)
	d.between = mustStoreEach(t)
	compareRuns(t, "stored after every step", want, d.run())
	c.verify(t, d.ending())
}

// mustStoreEach returns a function that stores the changes of a state, and reads it again.
func mustStoreEach(t *testing.T) func(*interpreter.Program, *interpreter.State) *interpreter.State {
	kept := map[*interpreter.State]interpreter.StoredState{}
	return func(p *interpreter.Program, s *interpreter.State) *interpreter.State {
		t.Helper()
		stored := kept[s]
		delete(kept, s)
		mustStore(t, s, &stored)
		read, err := interpreter.Restore(p, interpreter.NewState(s.Namespace, s.ID), s.Input, stored)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(mustJSON(t, s), mustJSON(t, read)); diff != "" {
			t.Errorf("the changes do not make the state (-want +got):\n%s", diff)
		}
		kept[read] = stored
		return read
	}
}

// verifySuspended suspends the run whenever something happens, and resumes it right after. Only the stored data survives in between, and the outcome
// is the same.
func verifySuspended(t *testing.T, c testCase) {
	t.Helper()
	d := newDriver(t, c)
	d.pause = true
	d.between = mustStoreEach(t)
	for _, i := range d.run() {
		verifyBalanced(t, i)
		verifySuspensions(t, i)
	}
	c.outcome().verify(t, d.ending().outcome())
}

// verifySuspensions: a task is resumed if it was suspended, and suspended again only after that.
func verifySuspensions(t *testing.T, i *caseRun) {
	t.Helper()
	suspended := map[interpreter.Path]bool{}
	for _, r := range i.records {
		switch r.Type {
		case interpreter.TaskSuspended, interpreter.TaskResumed:
			if suspends := r.Type == interpreter.TaskSuspended; suspends == suspended[r.Path] {
				t.Errorf("record %d is %s of %s, which is suspended: %v", r.Seq, r.Type, r.Path, suspended[r.Path])
			}
			suspended[r.Path] = r.Type == interpreter.TaskSuspended
		case interpreter.TaskCompleted, interpreter.TaskFaulted, interpreter.TaskCancelled:
			delete(suspended, r.Path)
		}
	}
}

// mustStore adds the changes of a step to the stored data.
func mustStore(t *testing.T, s *interpreter.State, stored *interpreter.StoredState) {
	t.Helper()
	changes, err := s.TakeChanges()
	if err != nil {
		t.Fatal(err)
	}
	for _, id := range changes.Ended {
		if _, ok := stored.Frames[id]; !ok {
			t.Errorf("frame %d ends, but was never stored", id)
		}
	}
	stored.Apply(changes)
}

// verifyNudged runs the case with needless wake-ups after every step and half-way to each point of time: they change nothing.
func verifyNudged(t *testing.T, c testCase, want []*caseRun) {
	t.Helper()
	d := newDriver(t, c)
	d.nudge = true
	for i, got := range d.run() {
		compareRecords(t, "with needless wake-ups", want[i], got)
	}
}

// verifyReversed runs the case with the effects in flight ending in the opposite order: the outcome is independent of the order, unless tasks compete.
func verifyReversed(t *testing.T, c testCase) {
	t.Helper()
	d := newDriver(t, c)
	d.reverse = true
	d.run()
	c.outcome().verify(t, d.ending().outcome())
}

// outcome returns the part of a case that is independent of the order in which things happen.
func (c testCase) outcome() testCase {
	outcome := testCase{files: map[string]string{}}
	for _, name := range []string{"output.json", "error.json", "elapsed.txt"} {
		if text, ok := c.files[name]; ok {
			outcome.files[name] = text
		}
	}
	return outcome
}

// outcome returns the same part of the outcome of a run.
func (e ending) outcome() ending {
	e.records, e.events = nil, nil
	return e
}

// verifyHidden searches all stored data for texts that must not be stored.
func verifyHidden(t *testing.T, c testCase, all []*caseRun) {
	t.Helper()
	for _, text := range c.lines("hidden.txt") {
		for _, i := range all {
			if strings.Contains(mustJSON(t, i.records), text) {
				t.Errorf("the records hold %q:\n%s", text, mustJSON(t, i.records))
			}
			for _, s := range i.steps {
				if strings.Contains(s.state, text) {
					t.Errorf("the state holds %q:\n%s", text, s.state)
				}
			}
		}
	}
}

// verifyFolded makes each run's state again from its stored history alone, with large data apart.
func verifyFolded(t *testing.T, c testCase) {
	t.Helper()
	d := newDriver(t, c)
	d.history = true
	for _, i := range d.run() {
		var entries []interpreter.HistoryStep
		var records []interpreter.HistoryEvent
		for _, e := range i.history {
			stored := mustStoreEntry(t, e)
			entries = append(entries, stored)
			records = append(records, stored.Events...)
		}
		compareRecords(t, "stored history", i, &caseRun{records: records})
		s := interpreter.NewState(i.state.Namespace, i.state.ID)
		start := i.steps[0].event.(interpreter.Start)
		folded, err := interpreter.Replay(interpreter.Past{Program: i.programs[0], Migrated: i.programs[1:], New: s, Start: start, Steps: entries})
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(mustJSON(t, i.state), mustJSON(t, folded)); diff != "" {
			t.Errorf("the history does not make the state (-want +got):\n%s", diff)
		}
	}
}

func mustStoreEntry(t *testing.T, e interpreter.HistoryStep) interpreter.HistoryStep {
	t.Helper()
	var apart [][]byte
	data, err := e.Encode(nil, 20, func(data []byte) string {
		apart = append(apart, slices.Clone(data))
		return strconv.Itoa(len(apart) - 1)
	})
	if err != nil {
		t.Fatal(err)
	}
	stored, err := interpreter.DecodeHistoryStep(data, func(ref string) ([]byte, error) {
		at, err := strconv.Atoi(ref)
		return apart[at], err
	})
	if err != nil {
		t.Fatalf("%v in %s", err, data)
	}
	return stored
}

// verifyReplayed gives the events of a run to a new state: no effect is performed.
func verifyReplayed(t *testing.T, want *caseRun) {
	t.Helper()
	got := &caseRun{programs: want.programs[:1], state: interpreter.NewState(want.state.Namespace, want.state.ID)}
	for _, recorded := range want.steps {
		result := got.step(recorded.event, recorded.now)
		got.records = append(got.records, result.History...)
		got.steps = append(got.steps, step{recorded.event, recorded.now, mustJSON(t, got.state)})
	}
	compareInstances(t, "replayed", want, got)
}

func compareRuns(t *testing.T, how string, want, got []*caseRun) {
	t.Helper()
	if len(want) != len(got) {
		t.Fatalf("%s: %d runs, want %d", how, len(got), len(want))
	}
	for i := range want {
		compareInstances(t, how, want[i], got[i])
	}
}

func compareRecords(t *testing.T, how string, want, got *caseRun) {
	t.Helper()
	if diff := diffJSON(t, want.records, got.records); diff != "" {
		t.Errorf("%s: records (-want +got):\n%s", how, diff)
	}
}

func compareInstances(t *testing.T, how string, want, got *caseRun) {
	t.Helper()
	compareRecords(t, how, want, got)
	if diff := cmp.Diff(states(want), states(got)); diff != "" {
		t.Errorf("%s: states (-want +got):\n%s", how, diff)
	}
}

func states(i *caseRun) []string {
	var all []string
	for _, s := range i.steps {
		all = append(all, s.now.Format(time.RFC3339Nano)+" "+s.state)
	}
	return all
}

// TestCancelAtEveryMoment cancels every case at every point of time at which something happens: the run ends as cancelled, or was ended before, and
// leaves no task open.
func TestCancelAtEveryMoment(t *testing.T) {
	for _, c := range pacetest.Thinned(mustCases(t), 10) { // each case has one goroutine
		if !c.runs() {
			continue
		}
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			first := newDriver(t, c)
			first.run()
			for at := range moments(first.all) {
				d := newDriver(t, c)
				d.cancel = at
				for _, i := range d.run() {
					verifyBalanced(t, i)
				}
				if root := d.all[0].state; d.cancelled && !endsWell(root) {
					t.Errorf("cancelled at %s, the run is %s with %v, %v", at, root.Status, root.Output, root.Fault)
				}
			}
			for _, i := range first.all {
				verifyBalanced(t, i)
			}
		})
	}
}

// endsWell reports whether a run with a request to end is cancelled, or was ended by a deadline of the same moment, which comes first.
func endsWell(s *interpreter.State) bool {
	if s.Status == interpreter.StatusFaulted {
		return errors.Same(s.Fault.Type, errors.Timeout)
	}
	return s.Status == interpreter.StatusCancelled && s.Output == nil && s.Fault == nil
}

func moments(instances []*caseRun) map[time.Time]bool {
	all := map[time.Time]bool{}
	for _, i := range instances {
		for _, s := range i.steps {
			all[s.now] = true
		}
	}
	return all
}

// verifyBalanced checks that every started task has one end, and that nothing happens after the end.
func verifyBalanced(t *testing.T, i *caseRun) {
	t.Helper()
	open := map[interpreter.Path]int{}
	for n, r := range i.records {
		if r.Seq != n+1 {
			t.Errorf("record %d has the number %d", n+1, r.Seq)
		}
		switch r.Type {
		case interpreter.TaskStarted:
			open[r.Path]++
		case interpreter.TaskCompleted, interpreter.TaskFaulted, interpreter.TaskCancelled:
			open[r.Path]--
		}
	}
	for path, n := range open {
		if n > 0 {
			t.Errorf("the task %s started and did not end:\n%s", path, mustJSON(t, i.records))
		}
	}
	if !i.state.Status.Final() {
		t.Errorf("the run %s is %s", i.state.ID, i.state.Status)
	}
}
