//go:build planted

package simulation

import (
	"encoding/json"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// turn chooses one of several shares of the mutations, because building them takes most of the time. The shares are tried in turns (scripts/turn.sh).
var turn = flag.Int("turn", -1, "the share of the mutations to try, from 0 to 3; all of them if it is not given")

const turns = 4

// mutation is a bug in the code that decides: a replaced piece of its text.
type mutation struct {
	name, file, text, by string
	from                 int // the first seed to play, for bugs that only a few worlds show; 0 for 1
}

// mutations are the bugs that have to be found.
func mutations() []mutation {
	return []mutation{
		{"effects do not wait for a slot", "execution/decide.go", "case x.slots.taken || e.Waits && x.mayWait():", "case true:", 0},
		{"an execution waits for a slot for ever", "execution/slots.go", "x.slots.handOverAt = x.Clock().Add(", "_ = x.Clock().Add(", 0},
		{"what waits for a slot is stored as begun", "execution/slots.go", "	x.state.DeferEffect(e.ID)\n	x.slots.deferred", "	x.slots.deferred", 0},
		{"an execution that leaves keeps what is in flight", "execution/slots.go", "	x.cancelAll(always)\n}\n\n// withdraw", "}\n\n// withdraw", 4300},
		{"a lost lease stops nothing", "execution/execution.go", "	x.fail(why)\n", "", 0},
		{"an end that was not stored is forgotten", "execution/commit.go", "	x.queue = append(x.queue, x.ended...)\n", "", 0},
		{"messages are not consumed", "execution/step.go", "		x.batch.read += e.messages\n", "", 0},
		{"a lease is trusted for too long", "lease/lease.go", "asked.Add(l.Length - l.Length/5)", "asked.Add(2 * l.Length)", 0},
		{"leases are renewed too late", "lease/lease.go", "age > l.Length/3", "age > 2*l.Length", 0},
		{"a lease that was renewed too late is trusted at once", "lease/lease.go", "p.doubted, p.recovered = true, sent", "p.extend(sent)", 11000},
		{"what others have taken is kept", "lease/comparison.go", "found.Lost = gone", "_ = gone", 11000},
		{"nothing is given up", "lease/comparison.go", "range unknown {", "range unknown[:0] {", 0},
		{"a run that fails is given up as if it had not", "lease/comparison.go", "case !hasFailed:", "case true, hasFailed:", 0},
		{"after an outage, runs are taken from the living", "lease/contact.go", "return max(0, c.toRenew-now.Sub(c.since))", "return 0", 0},
		{"a claim without an answer is never looked for", "lease/holding.go", "p.doubted = p.doubted || !c.Answered", "", 2400},
	}
}

// outsideMutations are the mutations that worlds with outside workers have to find.
func outsideMutations() []mutation {
	return []mutation{
		{"a superseded attempt counts", "activity/nonce.go", "!a.Taken() || a.Nonce != nonce", "!a.Taken()", 0},
		{"the next attempt does not wait", "activity/end.go", "now.Add(delay)", "now", 0},
		{"a heartbeat prolongs nothing", "activity/transition.go", "	a.HeartbeatAt = now\n", "", 0},
		{"progress is not handed on", "activity/end.go", "	a.Attempt++\n", "	a.Attempt++\n	a.Progress = nil\n", 0},
		{"attempts are not counted", "activity/end.go", "	a.Attempt++\n", "", 0},
		{"an attempt too many", "activity/end.go", "a.Attempt >= a.Retry.MaxAttempts", "a.Attempt > a.Retry.MaxAttempts", 0},
		{"each attempt has all the time", "activity/end.go", "	a.Attempt++\n", "	a.Attempt++\n	a.ScheduledAt = now\n", 0},
		{"an attempt waits for a worker since the first", "activity/activity.go", "a.Timeouts.ScheduleToStart, a.Since()", "a.Timeouts.ScheduleToStart, a.ScheduledAt", 0},
		{"a failure that is final is tried again", "activity/end.go", "f.NonRetryable || a.isNonRetryable(f.Error.Type)", "a.isNonRetryable(f.Error.Type)", 0},
		{"an activity that nobody waits for stays", "execution/activity.go", "		x.batch.activities = append(x.batch.activities, change)\n", "		_ = change\n", 0},
		{"a report overtakes the end of an earlier attempt", "execution/activity.go", "done.Attempt != x.state.Attempt(r.Effect) || ", "", 0},
		{"a direct report may be late", "execution/activity.go", "!r.before.IsZero()", "false", 0},
		{"a report counts that was not stored", "execution/activity.go", "	for _, r := range x.batch.reports {\n		r.Answer(false)", "	for _, r := range x.batch.reports {\n		r.Answer(true)", 0},
		{"a report that was accepted is refused", "kvstore/activity.go", "if change.Once != \"\" {", "if false {", 0},
		{"what is taken stays in its queue", "kvstore/activity.go", "			p.unlist(id, old)\n", "			_ = old\n", 0},
	}
}

// operatedMutations are the mutations that worlds with operators have to find.
func operatedMutations() []mutation {
	return []mutation{
		{"what a run has migrated to is not stored", "execution/migration.go", "x.batch.invocation, err = x.invocation.Encode()", "_, err = x.invocation.Encode()", 0},
		{"a refused commit is stored, and what it has migrated to is forgotten", "execution/commit.go", "		p.program = x.program\n", "", 3740},
		{"what ends late after an outage is not given up", "lease/holding.go", "	p.doubted = p.doubted || p.held[i].abandoned\n", "", 6364},
		{"what could go on when it was migrated stands still", "../interpreter/migration.go", "if f.common().Queued {", "if false {", 0},
		{"what an owner had in hand stays where it is after an import", "store/imported.go", "goesOn := to.Held() || ", "goesOn := ", 0},
		{"an import takes the run's token anew", "store/imported.go", "	to.setNeeds(", "	to.Epoch = 0\n	to.setNeeds(", 0},
		{"a deadline that was moved stands where it was", "../interpreter/set_deadline.go", "*deadlines = ev.in(*deadlines, m.scopeStart(f))", "_ = deadlines", 0},
		{"a fork whose starter was lost is not noted", "client/continuation.go", "return c.noteFork(ctx, d.Instance, begun.Fork)", "return nil", 0},
	}
}

// listeningMutations are the mutations that worlds with events have to find.
func listeningMutations() []mutation {
	return []mutation{
		{"an event counts as published before it is delivered", "events/bus.go", "published{Digest: digest}, 0)", "published{Digest: digest, Done: true}, 0)", 0},
		{"an event counts as published though some have not got it", "events/bus.go", "	err := all.Wait()\n", "	err := all.Wait()\n	err = nil\n", 0},
		{"an event that is published again has another id", "events/bus.go", "+ i.String(), MessageAt", "+ i.String() + time.Now().String(), MessageAt", 0},
		{"expressions that are new are not asked for", "events/bus.go", "if len(others) == 0 {", "if len(others) >= 0 {", 0},
		{"an event stays in the inbox", "execution/step.go", "		x.batch.read += e.messages\n", "", 0},
		{"a key is bound by an event that was not consumed", "../tasks/event_strategy.go", "			continue\n		}\n		f.bind", "			f.bind(s, event, known)\n			continue\n		}\n		f.bind", 0},
	}
}

// TestPlantedListeningMutationsAreFound runs seeds of worlds with events on code with a bug in it.
func TestPlantedListeningMutationsAreFound(t *testing.T) {
	findAll(t, "TestListeningSeeds", listeningMutations(), ".")
}

// scheduleMutations are the mutations that the worlds of package schedule have to find.
func scheduleMutations() []mutation {
	return []mutation{
		{"who stood still decides on what others have decided on", "store/registry_entry.go", "Value: data, Version: version}", "Value: data, Version: AnyVersion}", 0},
		{"what was left behind is not started", "schedule/schedule.go", "if now.Sub(f.At) >= startedWithin {", "if false {", 0},
		{"a start that was lost counts as one", "schedule/run.go", "			return x, err // it is tried again: the run stays in the entry\n", "			continue\n", 0},
	}
}

// TestPlantedScheduleMutationsAreFound runs seeds of worlds with schedules on code with a bug in it.
func TestPlantedScheduleMutationsAreFound(t *testing.T) {
	findAll(t, "TestSeeds", scheduleMutations(), "../runtime/schedule")
}

// TestPlantedOperatedMutationsAreFound runs seeds of worlds with operators on code with a bug in it.
func TestPlantedOperatedMutationsAreFound(t *testing.T) {
	findAll(t, "TestOperatedSeeds", operatedMutations(), ".")
}

// TestPlantedMutationsAreFound runs the seeds on code with a bug in it.
func TestPlantedMutationsAreFound(t *testing.T) { findAll(t, "TestSeeds", mutations(), ".") }

// TestPlantedOutsideMutationsAreFound runs seeds of worlds with outside workers on code with a bug in it.
func TestPlantedOutsideMutationsAreFound(t *testing.T) {
	findAll(t, "TestOutsideSeeds", outsideMutations(), ".")
}

// findAll runs the seeds of a package on each mutation, which they have to find.
func findAll(t *testing.T, seeds string, all []mutation, where string) {
	t.Helper()
	for at, m := range all {
		if *turn >= 0 && at%turns != *turn {
			continue
		}
		t.Run(m.name, func(t *testing.T) {
			t.Parallel() // building it takes longer than finding it; both may wait long for a processor (scripts/test.sh)
			test := exec.Command("go", "test", "-vet=off", "-ldflags=-w", "-timeout", "1h", "-overlay", m.overlay(t), where, "-run", "^"+seeds+"$", "-from", strconv.Itoa(max(m.from, 1)), "-seeds", "20000")
			said, err := test.CombinedOutput()
			_, problem, found := strings.Cut(string(said), "PROBLEM ")
			if err == nil || !found {
				t.Fatalf("not found in 20,000 seeds: %v\n%s", err, said)
			}
			first, _, _ := strings.Cut(problem, "\n")
			t.Log(first)
		})
	}
}

// TestPlantedTextsAreThere: the text of each mutation is in the code, also of mutations in other shares.
func TestPlantedTextsAreThere(t *testing.T) {
	for _, m := range slices.Concat(mutations(), outsideMutations(), operatedMutations(), listeningMutations(), scheduleMutations()) {
		t.Run(m.name, func(t *testing.T) { m.source(t) })
	}
}

// source returns the file that a mutation changes, and its content.
func (m mutation) source(t *testing.T) (path string, code []byte) {
	t.Helper()
	path, err := filepath.Abs("../runtime/" + m.file)
	if err != nil {
		t.Fatal(err)
	}
	code, err = os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(string(code), m.text); n != 1 {
		t.Fatalf("%s holds %q %d times", m.file, m.text, n)
	}
	return path, code
}

// overlay returns the file with which go build builds the mutation.
func (m mutation) overlay(t *testing.T) string {
	t.Helper()
	path, code := m.source(t)
	folder := t.TempDir()
	mutated, overlay := filepath.Join(folder, filepath.Base(m.file)), filepath.Join(folder, "overlay.json")
	data, err := json.Marshal(map[string]any{"Replace": map[string]string{path: mutated}})
	if err != nil {
		t.Fatal(err)
	}
	for file, data := range map[string][]byte{mutated: []byte(strings.Replace(string(code), m.text, m.by, 1)), overlay: data} {
		if err := os.WriteFile(file, data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return overlay
}
