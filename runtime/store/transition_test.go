package store_test

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/swrun/swrun/internal/form"
	"github.com/swrun/swrun/interpreter"
	"github.com/swrun/swrun/runtime/store"
)

// now is the time of every transition here.
const now = 1_000_000

// parse reads a record as stores keep it: status reason epoch nonce owner version wake deadline ready begun read deaths created started
// closed records entries. It is followed by the number of messages and the end of the owner's lease.
func parse(t *testing.T, text string) *store.Lifecycle {
	t.Helper()
	if text == "" {
		return nil
	}
	var mail, lease int64
	var fields [18]string
	to := make([]any, 0, 20)
	for n := range fields {
		to = append(to, &fields[n])
	}
	if _, err := fmt.Sscan(text, append(to, &mail, &lease)...); err != nil {
		t.Fatalf("%q: %s", text, err)
	}
	record := strconv.Itoa(int(form.Record)) + " " + fields[0]
	for _, f := range fields[1:] {
		record += " " + f
	}
	r, err := store.ParseLifecycle(record)
	if err != nil {
		t.Fatal(err)
	}
	r.Mail, r.Lease = mail, store.Moment(lease)
	return &r
}

// The records that the transitions begin with.
const (
	fresh       = "pending - 0 - - 0 0 0 900000 0 0 0 0 900000 900000 0 0 0 0 0"
	delayed     = "pending - 0 - - 0 1005000 0 0 0 0 0 0 900000 1005000 0 0 0 0 0"
	held        = "running - 1 n w 3 0 0 0 0 0 2 0 900000 900000 0 4 2 0 1003000"
	heldUnread  = "running - 1 n w 3 0 0 0 0 0 0 0 900000 900000 0 4 2 1 1003000"
	expired     = "running - 1 n w 3 0 0 0 0 0 0 0 900000 900000 0 4 2 0 999000"
	hanging     = "running - 1 n w 3 990000 990000 0 0 0 0 0 900000 900000 0 4 2 0 1003000"
	timed       = "running - 1 n w 3 1001000 1001000 0 0 0 0 0 900000 900000 0 4 2 0 1003000"
	waiting     = "waiting - 1 n - 3 999500 0 0 0 0 0 0 900000 900000 0 4 2 0 0"
	later       = "waiting - 1 n - 3 1000001 0 0 0 0 0 0 900000 900000 0 4 2 0 0"
	begun       = "waiting - 1 n - 3 0 0 999000 1 0 0 0 900000 900000 0 4 2 0 0"
	quarantined = "running quarantined 5 n - 3 0 0 0 0 0 5 0 900000 900000 0 4 2 0 0"
	deadly      = "running - 5 n w 3 0 0 0 0 0 4 0 900000 900000 0 4 2 0 999000"
	ended       = "completed completed 1 n - 4 0 0 0 0 0 0 0 900000 900000 950000 4 2 0 0"
)

func commit(change func(*store.Commit)) store.Operation {
	c := store.Commit{Token: store.Token{Epoch: 1, Nonce: "n"}, Version: 3, Next: 4, At: store.Moment(now), Status: interpreter.StatusRunning}
	change(&c)
	return &c
}

// TestTransitions applies each operation to a run and compares the record and its place afterwards, or the refusal.
func TestTransitions(t *testing.T) {
	claim := &store.Claim{Worker: "v", Nonce: "m", Lease: 3 * time.Second}
	promote := &store.Promote{}
	for _, c := range []struct {
		name, from string
		operation  store.Operation
		want       string // the record, the set and the time there; or the refusal
	}{
		{"start", "", &store.Start{}, "pending - 0 - - 0 0 0 1000000 0 0 0 0 1000000 1000000 0 0 0 in new at 1000000"},
		{"start urgently", "", &store.Start{Urgent: true}, "pending - 0 - - 0 0 0 1000000 1 0 0 0 1000000 1000000 0 0 0 in begun at 1000000"},
		{"start later", "", &store.Start{Delay: time.Second, Timeout: time.Minute}, "pending - 0 - - 0 1001000 1060000 0 0 0 0 0 1000000 1001000 0 0 0 in waiting at 1001000"},
		{"start later than the end", "", &store.Start{Delay: time.Hour, Timeout: time.Minute}, "pending - 0 - - 0 1060000 1060000 0 0 0 0 0 1000000 4600000 0 0 0 in waiting at 1060000"},
		{"start again", fresh, &store.Start{}, "done"},

		{"claim what is new", fresh, claim, "running - 1 m v 0 0 0 0 0 0 0 0 900000 1000000 0 0 0 in held at never"},
		{"claim what has begun", begun, claim, "waiting - 2 m v 3 0 0 0 0 0 0 0 900000 900000 0 4 2 in held at never"},
		{"claim what waits", waiting, claim, "CONFLICT"},
		{"claim what is held", held, claim, "CONFLICT"},
		{"claim again", held, &store.Claim{Worker: "w", Nonce: "n"}, "done"},
		{"claim what is not there", "", claim, "NO_SUCH"},

		{"commit", held, commit(func(c *store.Commit) { c.Entries, c.Records = make([][]byte, 1), 2 }), "running - 1 n w 4 0 0 0 0 0 0 0 900000 900000 0 6 3 in held at never"},
		{"commit without progress", held, commit(func(*store.Commit) {}), "running - 1 n w 4 0 0 0 0 0 2 0 900000 900000 0 4 2 in held at never"},
		{"commit a wait", held, commit(func(c *store.Commit) { c.Wake = store.Moment(1005000) }), "running - 1 n w 4 1005000 0 0 0 0 2 0 900000 900000 0 4 2 in held at 1007000"},
		{"commit a wait within a millisecond", held, commit(func(c *store.Commit) { c.Wake = store.Moment(1005000).Add(1) }), "running - 1 n w 4 1005001 0 0 0 0 2 0 900000 900000 0 4 2 in held at 1007001"},
		{"end within a millisecond", held, commit(func(c *store.Commit) {
			c.At, c.Status, c.Reason = c.At.Add(time.Millisecond-1), interpreter.StatusCompleted, "completed"
		}), "completed completed 1 n - 4 0 0 0 0 0 2 0 900000 900000 1000000 4 2 in closed at 1000000"},
		{"commit that it waits for a slot", held, commit(func(c *store.Commit) { c.AwaitsSlot = true }), "running - 1 n w 4 0 0 0 0 0 2 1 900000 900000 0 4 2 in held at never"},
		{"release while it waits for a slot", held, commit(func(c *store.Commit) { c.AwaitsSlot, c.Release = true, true }), "running - 1 n - 4 0 0 0 0 0 2 0 900000 900000 0 4 2 in waiting at never"},
		{"release", held, commit(func(c *store.Commit) { c.Release, c.Wake = true, store.Moment(1005000) }), "running - 1 n - 4 1005000 0 0 0 0 2 0 900000 900000 0 4 2 in waiting at 1005000"},
		{"release for messages", held, commit(func(c *store.Commit) { c.Release = true }), "running - 1 n - 4 0 0 0 0 0 2 0 900000 900000 0 4 2 in waiting at never"},
		{"release with more to do", held, commit(func(c *store.Commit) { c.Release, c.Ready = true, true }), "running - 1 n - 4 0 0 1000000 1 0 2 0 900000 900000 0 4 2 in begun at 1000000"},
		{"release with a message", heldUnread, commit(func(c *store.Commit) { c.Release = true }), "running - 1 n - 4 0 0 1000000 1 0 0 0 900000 900000 0 4 2 in begun at 1000000"},
		{"release with a message read", heldUnread, commit(func(c *store.Commit) { c.Release, c.Read = true, 1 }), "running - 1 n - 4 0 0 0 0 1 0 0 900000 900000 0 4 2 in waiting at never"},
		{"end", held, commit(func(c *store.Commit) { c.Status, c.Reason = interpreter.StatusCompleted, "completed" }), "completed completed 1 n - 4 0 0 0 0 0 2 0 900000 900000 1000000 4 2 in closed at 1000000"},
		{"end before the start", "pending - 1 n w 3 0 0 0 0 0 0 0 900000 1005000 0 0 0 0 1003000", commit(func(c *store.Commit) { c.Status, c.Reason = interpreter.StatusCancelled, "cancelled" }), "cancelled cancelled 1 n - 4 0 0 0 0 0 0 0 900000 0 1000000 0 0 in closed at 1000000"},
		{"commit at the deadline", "running - 1 n w 3 1000000 1000000 0 0 0 0 0 900000 900000 0 4 2 0 1003000", commit(func(c *store.Commit) { c.At = store.Moment(999999) }), "TIMED_OUT"},
		{"commit the timeout", "running - 1 n w 3 1000000 1000000 0 0 0 0 0 900000 900000 0 4 2 0 1003000", commit(func(*store.Commit) {}), "running - 1 n w 4 0 0 0 0 0 0 0 900000 900000 0 4 2 in held at never"},
		{"commit behind a guard", held, commit(func(c *store.Commit) { c.Guard = store.Moment(now) }), "TIMED_OUT"},
		{"commit from the future", held, commit(func(c *store.Commit) { c.At = store.Moment(now + 1) }), "TOO_EARLY"},
		{"commit again", held, commit(func(c *store.Commit) { c.Version, c.Next = 2, 3 }), "done"},
		{"commit with an older version", held, commit(func(c *store.Commit) { c.Version = 2 }), "CONFLICT"},
		{"commit with a newer version", held, commit(func(c *store.Commit) { c.Version = 4 }), "ROLLED_BACK"},
		{"commit with another token", held, commit(func(c *store.Commit) { c.Token.Nonce = "o" }), "FENCED"},
		{"commit when it was given back", waiting, commit(func(*store.Commit) {}), "FENCED"},
		{"commit after the end", ended, commit(func(c *store.Commit) { c.Next = 5 }), "CLOSED"},

		{"promote due runs", waiting, promote, "waiting - 1 n - 3 999500 0 999500 1 0 0 0 900000 900000 0 4 2 in begun at 999500"},
		{"promote what is not due", later, promote, "CONFLICT"},
		{"promote a delayed start", delayed, promote, "CONFLICT"},
		{"promote what is held", held, promote, "CONFLICT"},
		{"promote after the lease", expired, promote, "running - 1 n - 3 0 0 999000 1 0 1 0 900000 900000 0 5 3 in begun at 999000"},
		{"promote what waited for a slot", "running - 1 n w 3 0 0 0 0 0 1 1 900000 900000 0 4 2 0 999000", promote, "running - 1 n - 3 0 0 999000 1 0 1 0 900000 900000 0 4 2 in begun at 999000"},
		{"promote without a lease", "running - 1 n w 3 0 0 0 0 0 0 0 900000 900000 0 4 2 0 0", promote, "running - 1 n - 3 0 0 1000000 1 0 1 0 900000 900000 0 5 3 in begun at 1000000"},
		{"promote from an owner that hangs", hanging, promote, "running - 1 n - 3 990000 990000 992000 1 0 1 0 900000 900000 0 5 3 in begun at 992000"},
		{"promote within the hang tolerance", timed, promote, "CONFLICT"},
		{"promote after the fifth death", deadly, promote, "running quarantined 5 n - 3 0 0 999000 1 0 5 0 900000 900000 0 6 3 in begun at 999000"},
		{"promote after the tenth death", "running quarantined 5 n w 3 0 0 0 0 0 9 0 900000 900000 0 4 2 0 999000", promote, "running quarantined 5 n - 3 0 0 0 0 0 10 0 900000 900000 0 5 3 in waiting at never"},
		{"give up", held, &store.Promote{Worker: "w"}, "running - 1 n - 3 0 0 1000000 1 0 2 0 900000 900000 0 4 2 in begun at 1000000"},
		{"give up what has killed", held, &store.Promote{Worker: "w", Died: true}, "running - 1 n - 3 0 0 1000000 1 0 3 0 900000 900000 0 5 3 in begun at 1000000"},
		{"give up what another holds", held, &store.Promote{Worker: "v"}, "CONFLICT"},

		{"deliver", later, &store.Delivery{}, "waiting - 1 n - 3 1000001 0 1000000 1 0 0 0 900000 900000 0 4 2 in begun at 1000000"},
		{"deliver to what is new", fresh, &store.Delivery{}, "pending - 0 - - 0 0 0 1000000 1 0 0 0 900000 900000 0 0 0 in begun at 1000000"},
		{"deliver to what has begun", begun, &store.Delivery{}, begunRecord + " in begun at 999000"},
		{"deliver to an owner", held, &store.Delivery{}, heldRecord + " in held at never"},
		{"deliver to what is quarantined", quarantined, &store.Delivery{}, quarantinedRecord + " in waiting at never"},
		{"deliver after the end", ended, &store.Delivery{}, "CLOSED"},
		{"note a late report after the end", ended, &store.Delivery{Late: &interpreter.ReportedLate{Effect: 1}}, "completed completed 1 n - 4 0 0 0 0 0 0 0 900000 900000 950000 5 3 in closed at 950000"},
		{"note a late report before the end", begun, &store.Delivery{Late: &interpreter.ReportedLate{Effect: 1}}, begunRecord + " in begun at 999000"},
		{"deliver to nobody", "", &store.Delivery{}, "NO_SUCH"},
		{"cancel what is quarantined", quarantined, &store.Command{Verb: store.VerbCancel}, "running - 5 n - 3 0 0 1000000 1 0 0 0 900000 900000 0 4 2 in begun at 1000000"},
		{"suspend what is quarantined", quarantined, &store.Command{Verb: store.VerbSuspend}, quarantinedRecord + " in waiting at never"},
		{"retry", quarantined, &store.Command{Verb: store.VerbRetry}, "running - 5 n - 3 0 0 1000000 1 0 0 0 900000 900000 0 4 2 in begun at 1000000"},
		{"retry what goes on", held, &store.Command{Verb: store.VerbRetry}, "CONFLICT"},

		{"adopt what is held", held, store.Adoption(), "running - 1 n - 3 0 0 1000000 1 0 2 0 900000 900000 0 4 2 in begun at 1000000"},
		{"adopt what waits", later, store.Adoption(), "waiting - 1 n - 3 1000001 0 0 0 0 0 0 900000 900000 0 4 2 in waiting at 1000001"},
	} {
		if got := outcome(c.operation, parse(t, c.from)); got != c.want {
			t.Errorf("%s:\ngot  %s\nwant %s", c.name, got, c.want)
		}
	}
}

// The records of runs that a message does not move.
const (
	begunRecord       = "waiting - 1 n - 3 0 0 999000 1 0 0 0 900000 900000 0 4 2"
	heldRecord        = "running - 1 n w 3 0 0 0 0 0 2 0 900000 900000 0 4 2"
	quarantinedRecord = "running quarantined 5 n - 3 0 0 0 0 0 5 0 900000 900000 0 4 2"
)

// outcome describes the result of an operation on a run, including the check of the change against the clock.
func outcome(op store.Operation, r *store.Lifecycle) string {
	change, code := op.Transition(r, store.Moment(now))
	if code == "" && change.Done {
		return "done"
	}
	if code == "" {
		code = change.Check(store.Moment(now))
	}
	if code != "" {
		return string(code)
	}
	place, at := change.To.Place(), "never"
	if !place.At.IsZero() {
		at = fmt.Sprint(store.Millis(place.At))
	}
	return fmt.Sprintf("%s in %s at %s", strings.TrimPrefix(change.To.String(), strconv.Itoa(int(form.Record))+" "), place.Set, at)
}
