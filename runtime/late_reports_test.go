package runtime_test

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"log/slog"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/swrun/swrun/errors"
	"github.com/swrun/swrun/interpreter"
	"github.com/swrun/swrun/runtime/activity"
	"github.com/swrun/swrun/runtime/client"
	"github.com/swrun/swrun/runtime/matching"
	"github.com/swrun/swrun/runtime/store"
)

// lateNotes returns the notes of late reports in the history of a run: the position of their task in the document, and the report.
func (a *activities) lateNotes(i store.Instance) string {
	a.Helper()
	var all []string
	_, err := a.client.History(a.Context(), i, 0, func(e client.HistoryEntry) error {
		for _, r := range e.Events {
			if r.Type == interpreter.ResultLate {
				all = append(all, strings.TrimSpace(fmt.Sprintf("%s %s", r.Pointer, r.Report)))
			}
		}
		return nil
	})
	a.must(err)
	return strings.Join(all, ", ")
}

// TestLateReportsNameTheirTask: the note of a late report has the pointer of the task while the task waits, after its end, and after the
// end of the run. A token of an earlier version has no pointer and is valid nevertheless (promises 213).
func TestLateReportsNameTheirTask(t *testing.T) {
	const twice = "do: [{first: {call: 'activity:1.0.0@default', with: {type: a}}}, {'a second': {call: 'activity:1.0.0@default', with: {type: b}}}]"
	withActivities(t, func(a *activities) {
		i := a.start(twice, client.StartOptions{})
		first := a.poll()
		a.must(a.matcher.Complete(a.Context(), first.Token, 1))
		second := a.poll()
		a.mustSupersede(a.matcher.Complete(a.Context(), first.Token, 2)) // the run waits for the second task
		a.must(a.matcher.Complete(a.Context(), second.Token, 1))
		a.wait(i)
		a.mustSupersede(a.matcher.Fail(a.Context(), first.Token, errors.Runtimef("no"), false))
		a.mustSupersede(a.matcher.Complete(a.Context(), second.Token, 2))
		a.expect(a.lateNotes(i), "/do/0/first completed, /do/0/first failed, /do/1/a second completed")
	})
}

// TestTokensReadByEarlierVersions: earlier versions read a token in groups of four characters up to the first group that is not base64;
// newer ones among them also read the pointer behind the dot. They can read the tokens of this version.
func TestTokensReadByEarlierVersions(t *testing.T) {
	withActivities(t, func(a *activities) {
		for n := range 12 { // texts of all lengths
			i := a.start("do: [{one: {call: 'activity:1.0.0@default', with: {type: a}}}]", client.StartOptions{ID: strings.Repeat("r", n+1)})
			token := a.poll().Token
			first, second, _ := strings.Cut(token, ".")
			text, _ := base64.RawURLEncoding.DecodeString(first)
			all, _ := base64.RawURLEncoding.DecodeString(token)
			pointer, err := base64.RawURLEncoding.DecodeString(second)
			a.must(err)
			parts := strings.Split(string(text), " ")
			a.expect([]any{len(parts), parts[0], string(all), string(pointer)}, []any{5, i.String(), string(text), "/do/0/one"})
			number, err := strconv.Atoi(parts[3])
			a.must(err)
			a.expect(number, 1)
		}
	})
}

// TestTokensOfEarlierVersions: a token without a seal, the pointer or the attempt is valid for all accepted reports. A late report with it
// is refused with the reason, and the answer states that the history does not record it, and why (promises 213).
func TestTokensOfEarlierVersions(t *testing.T) {
	withActivities(t, func(a *activities) {
		for name, older := range map[string]func(text, pointer string) string{
			"no seal":    func(text, pointer string) string { return text + "." + pointer },
			"no pointer": func(text, _ string) string { return text },
			"no attempt": func(text, _ string) string {
				said, err := base64.RawURLEncoding.DecodeString(text)
				a.must(err)
				return base64.RawURLEncoding.EncodeToString([]byte(strings.Join(strings.Split(string(said), " ")[:3], " ")))
			},
		} {
			i := a.activity("")
			first, pointer, _ := strings.Cut(a.poll().Token, ".")
			text, _, _ := strings.Cut(first, "~")
			token := older(text, pointer)
			_, err := a.matcher.Heartbeat(a.Context(), token, nil)
			a.must(err)
			a.must(a.matcher.Complete(a.Context(), token, 1))
			a.wait(i)
			err = a.matcher.Complete(a.Context(), token, 2)
			a.mustSupersede(err)
			if want := "nobody waits for it any more; the history does not note the report: a server of an earlier version has given the token"; !strings.Contains(err.Error(), want) {
				a.Errorf("%s: a late report is answered with %v", name, err)
			}
			a.expect(a.lateNotes(i), "")
		}
	})
}

func (a *activities) mustSupersede(err error) {
	a.Helper()
	if !errors.As(err, new(*matching.SupersededError)) {
		a.Errorf("a late report is answered with %v", err)
	}
}

// TestLateReportsAreBounded: each distinct late report is recorded once, up to a hundred per activity. The limit of one activity does not
// affect others (promises 213).
func TestLateReportsAreBounded(t *testing.T) {
	withActivities(t, func(a *activities) {
		i := a.start("do: [{one: {call: 'activity:1.0.0@default', with: {type: a}}}, {two: {call: 'activity:1.0.0@default', with: {type: b}}}]", client.StartOptions{})
		one := a.poll()
		a.must(a.matcher.Complete(a.Context(), one.Token, "counts"))
		two := a.poll()
		a.must(a.matcher.Complete(a.Context(), two.Token, "counts"))
		a.wait(i)
		for n := range matching.MaxLate + 20 {
			for range 2 {
				a.mustSupersede(a.matcher.Complete(a.Context(), one.Token, n))
			}
		}
		a.mustSupersede(a.matcher.Complete(a.Context(), two.Token, "other"))
		notes := a.lateNotes(i)
		a.expect(strings.Count(notes, "/do/0/one"), matching.MaxLate)
		a.expect(strings.Count(notes, "/do/1/two"), 1)
	})
}

// lateEntries notes the entries of the registry that were written for late reports.
type lateEntries struct {
	store.Store
	keys map[string]bool
}

func (l *lateEntries) Register(ctx context.Context, r store.Registration) (store.Registered, error) {
	if r.Kind == store.RegistryLate {
		l.keys[r.Key] = true
	}
	return l.Store.Register(ctx, r)
}

// sealed returns a token as a worker called eve would have been given for the first attempt at an activity: with the seal of the deployment.
func (a *activities) sealed(run store.Instance, effect int, nonce, pointer string) string {
	a.Helper()
	key, _, err := store.RegistryEntry[string]{Kind: store.RegistryKeys, Key: "activities"}.Load(a.Context(), a.store)
	a.must(err)
	mac := hmac.New(sha256.New, []byte(key))
	fmt.Fprintf(mac, "%s %d %s 1 eve %s", run, effect, nonce, pointer)
	seal := base64.RawURLEncoding.EncodeToString(mac.Sum(nil))[:16]
	return madeUp(run, effect, nonce) + "~" + seal + "." + base64.RawURLEncoding.EncodeToString([]byte(pointer))
}

// madeUp returns a token for an activity that no worker has been given.
func madeUp(run store.Instance, effect int, nonce string) string {
	return base64.RawURLEncoding.EncodeToString(fmt.Appendf(nil, "%s %d %s 1 eve", run, effect, nonce))
}

// TestMadeUpReportsAreNotNoted: a report about an attempt that was never handed out does not reduce the number of recorded reports. It is
// refused like a report about a dismissed activity, counted, and logged once a minute (promises 213).
func TestMadeUpReportsAreNotNoted(t *testing.T) {
	withOutsideWorkers(t, false, func(a *activities) {
		var log bytes.Buffer
		entries, counted := &lateEntries{a.store, map[string]bool{}}, new(atomic.Int64)
		m := matching.New(matching.Config{Store: entries, Log: slog.New(slog.NewTextHandler(&log, nil)), MadeUp: counted})
		i := a.activity("")
		task := a.poll()
		a.must(m.Complete(a.Context(), task.Token, 1))
		a.wait(i)
		of := "does not count: nobody waits for it any more; the history does not note the report: "
		for n, token := range a.changed(task.Token) {
			for range 2 {
				if err := m.Complete(a.Context(), token, n); err == nil || !strings.Contains(err.Error(), of) {
					t.Errorf("%q is answered with %v", token, err)
				}
			}
		}
		a.expect(counted.Load(), int64(36))
		a.expect(len(entries.keys), 0)
		a.expect(a.lateNotes(i), "")
		a.expect(strings.Count(log.String(), "that no worker was given"), 1)
		time.Sleep(time.Minute)
		a.mustSupersede(m.Complete(a.Context(), madeUp(i, 1, "x"), 1))
		a.expect(strings.Count(log.String(), "reports=36"), 1)
		again := matching.New(matching.Config{Store: a.store}) // another server
		a.mustSupersede(again.Complete(a.Context(), task.Token, 2))
		a.expect(a.lateNotes(i), "/do/0/outer/try/0/work completed")
	})
}

// changed returns forged variants of a token that a worker was given.
func (a *activities) changed(token string) (all []string) {
	a.Helper()
	first, pointer, _ := strings.Cut(token, ".")
	given, seal, _ := strings.Cut(first, "~")
	text, err := base64.RawURLEncoding.DecodeString(given)
	a.must(err)
	is := strings.Split(string(text), " ") // run, effect, nonce, number, worker
	for _, made := range [][]string{
		{is[0], is[1], "x", is[3], is[4]}, {is[0], is[1], is[2][1:], is[3], is[4]}, {is[0], is[1], is[2] + "A", is[3], is[4]},
		{is[0], is[1], strings.ToLower(is[2]), is[3], is[4]}, {is[0], "2", is[2], is[3], is[4]}, {is[0], "-1", is[2], is[3], is[4]},
		{a.ended("other").String(), is[1], is[2], is[3], is[4]}, {is[0], is[1], is[2], is[3], "eve"}, {is[0], is[1], is[2]},
		{is[0], is[1], is[2], "2", is[4]}, {is[0], is[1], is[2], "-1", is[4]}, {is[0], is[1], is[2], "0", is[4]},
	} {
		all = append(all, base64.RawURLEncoding.EncodeToString([]byte(strings.Join(made, " ")))+"~"+seal+"."+pointer)
	}
	other := base64.RawURLEncoding.EncodeToString([]byte("/do/0/outer"))
	return append(all, given+"~"+seal+"."+other, given+"~"+seal, given+"~"+seal[1:]+"."+pointer, given+"~"+strings.ToLower(seal)+"."+pointer, given+"."+pointer, given)
}

// TestSealsAfterTheKeyIsLost: when the store has lost the key, in a failover for example, a server that knows it stores it again: reports with the tokens
// that it has given are noted.
func TestSealsAfterTheKeyIsLost(t *testing.T) {
	withOutsideWorkers(t, false, func(a *activities) {
		i := a.activity("")
		task := a.poll()
		a.must(a.matcher.Complete(a.Context(), task.Token, 1))
		a.wait(i)
		a.must(a.store.Unregister(a.Context(), store.RegistryKeys, "activities", store.AnyVersion))
		a.mustSupersede(a.matcher.Complete(a.Context(), madeUp(i, 1, "x"), 2))
		a.mustSupersede(matching.New(matching.Config{Store: a.store}).Complete(a.Context(), task.Token, 3))
		a.expect(a.lateNotes(i), "/do/0/outer/try/0/work completed")
	})
}

// TestSealedReportsAreBounded: a worker that knows how to make tokens, for activities, attempts and runs that were not given to it, fills neither a history
// nor the store, and a worker of another run is not hindered (promises 213).
func TestSealedReportsAreBounded(t *testing.T) {
	withOutsideWorkers(t, false, func(a *activities) {
		entries := &lateEntries{a.store, map[string]bool{}}
		m := matching.New(matching.Config{Store: entries})
		report := func(run store.Instance, effect int, nonce, pointer string) {
			a.mustSupersede(m.Complete(a.Context(), a.sealed(run, effect, nonce, pointer), 1))
		}
		running, of := a.activity(""), a.ended("first").Namespace
		full := 0 // an entry that the flooded runs share, and no other run
		for full == running.Partition(matching.MaxLateEntries) || full == a.ended("first").Partition(matching.MaxLateEntries) {
			full++
		}
		a.mustSupersede(m.Complete(a.Context(), madeUp(a.ended("first"), 1, "x"), 1)) // the key is made
		for n := range 20 {
			report(store.Instance{Namespace: of, ID: fmt.Sprint("none", n)}, n, "x", "")
		}
		a.expect(len(entries.keys), 0)
		var flooded []store.Instance // that share an entry
		for n := 0; len(flooded) < 3; n++ {
			if i := (store.Instance{Namespace: of, ID: fmt.Sprint("run-", n)}); i.Partition(matching.MaxLateEntries) == full {
				flooded = append(flooded, a.ended(i.ID))
			}
		}
		var noted []int
		for _, i := range flooded {
			for n := range matching.MaxLateOfRun + 5 {
				if report(i, n+1, strings.Repeat("x", 10+n), ""); n == 10 && len(noted) == 2 {
					break
				}
			}
			noted = append(noted, strings.Count(a.lateNotes(i), "completed"))
		}
		a.expect(noted, []int{matching.MaxLateOfRun, matching.MaxLateOfEntry - matching.MaxLateOfRun, 0})
		a.expect(len(entries.keys), 1)
		pointer := "/" + strings.Repeat("p", 23<<10)
		for n := range 120 {
			report(a.ended("first"), n/4, fmt.Sprint(n), pointer)
		}
		a.expect(strings.Count(a.lateNotes(a.ended("first")), "completed"), 89) // in 2 MiB
		task := a.poll()
		time.Sleep(store.Remembered - time.Hour)
		report(running, 100, "x", "")
		time.Sleep(2 * time.Hour)
		for n := range matching.MaxLate + 1 {
			report(running, 100, fmt.Sprint("x", n), "")
		}
		time.Sleep(store.Remembered - 90*time.Minute) // the first report is older than a day, the others are not
		for n := range 3 {
			report(running, 100, fmt.Sprint("y", n), "")
		}
		a.must(m.Complete(a.Context(), task.Token, 1))
		a.wait(running)
		a.expect(strings.Count(a.lateNotes(running), "completed"), matching.MaxLate+1)
	})
}

// ended returns a run that ended.
func (a *activities) ended(id string) store.Instance {
	a.Helper()
	i := a.start("do: [{one: {set: {a: 1}}}]", client.StartOptions{ID: id})
	a.wait(i)
	return i
}

// TestReportsThatEarlierVersionsAccepted: an earlier version remembered that it accepted a report, but not its content. A worker that
// repeats the report after the upgrade gets the answer that it got before.
func TestReportsThatEarlierVersionsAccepted(t *testing.T) {
	withActivities(t, func(a *activities) {
		for name, c := range map[string]struct {
			accepted      func(nonce string) store.ActivityOperation
			repeat, other func(token string) error
		}{
			"a result": {
				func(nonce string) store.ActivityOperation { return activity.Complete{Nonce: nonce, Result: 1} },
				func(token string) error { return a.matcher.Complete(a.Context(), token, 1) },
				func(token string) error { return a.matcher.Fail(a.Context(), token, errors.Runtimef("no"), false) },
			},
			"a failure": {
				func(nonce string) store.ActivityOperation {
					return activity.Fail{Nonce: nonce, Error: errors.Runtimef("no"), NonRetryable: true}
				},
				func(token string) error { return a.matcher.Fail(a.Context(), token, errors.Runtimef("no"), true) },
				func(token string) error { return a.matcher.Complete(a.Context(), token, 1) },
			},
		} {
			i := a.activity("")
			task := a.poll()
			changed, err := a.store.ChangeActivities(a.Context(), store.ChangeActivities{
				Partition: i.Partition(a.store.Layout().Partitions), Activities: []store.ActivityID{task.ID}, Operation: c.accepted(task.Activity.Nonce),
			})
			if err != nil || changed[0].Refused != nil {
				a.Fatal(name, err, changed[0].Refused)
			}
			a.wait(i)
			if err := c.repeat(task.Token); err != nil {
				a.Errorf("%s that is repeated: %v", name, err)
			}
			a.mustSupersede(c.other(task.Token))
		}
	})
}
