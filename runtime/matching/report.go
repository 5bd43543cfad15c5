package matching

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"net/url"
	"strconv"
	"strings"

	"github.com/swrun/swrun/errors"
	"github.com/swrun/swrun/expr"
	"github.com/swrun/swrun/interpreter"
	"github.com/swrun/swrun/limits"
	"github.com/swrun/swrun/runtime/activity"
	"github.com/swrun/swrun/runtime/inbox"
	"github.com/swrun/swrun/runtime/store"
)

// The reports of outside workers about what they have taken.

// ticket is an attempt in the hands of a worker: its token says all of it.
type ticket struct {
	attempt
	number int    // of the attempt
	worker string // as it polled
}

// token is the text of a ticket that a worker shows with a report.
func (t ticket) token() string {
	text := fmt.Sprintf("%s %s %d %s", t.ActivityID, t.nonce, t.number, url.QueryEscape(t.worker))
	return base64.RawURLEncoding.EncodeToString([]byte(text))
}

// TokenError is a token that no poll has answered with.
type TokenError struct{ token string }

func (e *TokenError) Error() string {
	return fmt.Sprintf("%.60q is not the token of an activity: use the one that the poll has answered with", e.token)
}

// parseToken reads a token. One without the number of the attempt and the worker comes from a server before they were in tokens.
func parseToken(text string) (t ticket, err error) {
	data, _ := base64.RawURLEncoding.DecodeString(text) // what is no base64 has too few parts
	parts := strings.Split(string(data), " ")
	if len(parts) == 3 {
		parts = append(parts, "0", "")
	}
	if len(parts) != 5 || parts[2] == "" {
		return t, &TokenError{text}
	}
	id, err := store.ParseActivityID(parts[0] + " " + parts[1])
	number, notNumber := strconv.Atoi(parts[3])
	worker, notText := url.QueryUnescape(parts[4])
	if err != nil || notNumber != nil || notText != nil || id.Run.Check() != nil {
		return t, &TokenError{text}
	}
	return ticket{attempt{id, parts[2]}, number, worker}, nil
}

func newTask(id store.ActivityID, nonce string, c store.ActivityChanged) (Task, error) {
	a, err := activity.Parse(c.Activity)
	if err != nil {
		return Task{}, err
	}
	input, err := expr.Decode(c.Input)
	if err != nil {
		return Task{}, fmt.Errorf("read the input of the activity %s: %w", id, err)
	}
	t := ticket{attempt{id, nonce}, a.Attempt, a.Worker}
	return Task{ID: id, Token: t.token(), Activity: a, Input: interpreter.Value{V: input}}, nil
}

// SupersededError says that a report does not count: another attempt has replaced the worker's, its time is over, or nobody waits for
// the activity any more. What the worker has done may have happened all the same (promises 213).
type SupersededError struct {
	ID  store.ActivityID
	Why string
}

func (e *SupersededError) Error() string {
	return fmt.Sprintf("the report about the activity %s does not count: %s", e.ID, e.Why)
}

// Heartbeat says that the worker of an attempt is alive, and how far it has come; nil progress leaves what was said before. It reports
// whether the worker is to stop, because nobody waits for the activity any more.
func (m *Matcher) Heartbeat(ctx context.Context, token string, progress *interpreter.Value) (cancelRequested bool, err error) {
	t, err := parseToken(token)
	if err != nil {
		return false, err
	}
	if progress != nil {
		if tooLarge := (limits.Set{}).Check(limits.Progress, expr.EncodedSize(progress.V, 1<<40)); tooLarge != nil {
			return false, tooLarge
		}
	}
	refused, err := m.change(ctx, t.attempt, activity.Heartbeat{Nonce: t.nonce, Progress: progress})
	switch store.RefusedAs(refused) {
	case store.NoSuch, store.Closed:
		return true, err
	}
	return false, superseded(t.ActivityID, refused, err)
}

// Return gives back what a worker has taken and does not perform: others may take it at once, and it does not count as an attempt.
func (m *Matcher) Return(ctx context.Context, token string) error {
	t, err := parseToken(token)
	if err != nil {
		return err
	}
	refused, err := m.change(ctx, t.attempt, activity.Return{Nonce: t.nonce})
	return superseded(t.ActivityID, refused, err)
}

// RunOf returns the run of the activity that a token is about.
func RunOf(token string) (store.Instance, error) {
	t, err := parseToken(token)
	return t.Run, err
}

// Complete reports the result of an attempt.
func (m *Matcher) Complete(ctx context.Context, token string, result any) error {
	t, err := parseToken(token)
	if err != nil {
		return err
	}
	if result, err = expr.Normalize(result); err != nil {
		return err
	}
	return m.end(ctx, t, activity.Complete{Nonce: t.nonce, Result: result, Content: digest(result)}, interpreter.ReportCompleted)
}

// Fail reports that an attempt has failed; nonRetryable says that there is to be no other one.
func (m *Matcher) Fail(ctx context.Context, token string, failure *errors.Error, nonRetryable bool) error {
	t, err := parseToken(token)
	if err != nil {
		return err
	}
	return m.end(ctx, t, activity.Fail{Nonce: t.nonce, Error: failure, NonRetryable: nonRetryable, Content: digest([]any{failure.Value(), nonRetryable})}, interpreter.ReportFailed)
}

// digest returns a short text that differs for reports that say different things; empty for one that cannot be written as JSON.
func digest(content any) string {
	text, err := expr.Encode(content)
	if err != nil {
		return ""
	}
	sum := sha256.Sum256(text)
	return base64.RawURLEncoding.EncodeToString(sum[:12])
}

// Report is the end of an attempt that a worker has reported.
type Report struct {
	ID        store.ActivityID
	Activity  *store.Activity // as it was stored last, as far as is known here
	Operation activity.Operation
}

// end reports the end of an attempt. A report that does not count is noted in the history of the run.
func (m *Matcher) end(ctx context.Context, t ticket, op activity.Operation, report string) error {
	id := t.ActivityID
	if is := m.forget(t.attempt); is != nil && m.c.Report(ctx, Report{id, is, op}) {
		return nil
	}
	refused, err := m.change(ctx, t.attempt, op)
	if err := superseded(id, refused, err); err != nil {
		if store.RefusedAs(refused) != "" {
			m.forgetActivity(id) // what is reported next must not overtake the note
			return errors.Join(err, m.note(ctx, t, report))
		}
		return err
	}
	return nil
}

func (m *Matcher) change(ctx context.Context, of attempt, op store.ActivityOperation) (refused, err error) {
	partition, ids := of.Run.Partition(m.c.Store.Layout().Partitions), []store.ActivityID{of.ActivityID}
	changed, err := m.c.Store.ChangeActivities(ctx, store.ChangeActivities{Partition: partition, Activities: ids, Operation: op})
	if err != nil {
		return nil, err
	}
	_ = m.c.Gate.Ended(ctx, ids, changed) // what the report says has happened; that nobody needs the permit is found out
	m.due(partition, changed[0])
	m.know(of, changed[0])
	return changed[0].Refused, nil
}

// superseded returns the error of a report that was refused.
func superseded(id store.ActivityID, refused, err error) error {
	if err != nil || refused == nil {
		return err
	}
	why := map[store.Code]string{
		store.NoSuch: "nobody waits for it any more", store.Closed: "its run has ended",
		store.Fenced: "another attempt has replaced this one", store.TimedOut: "its time is over",
	}[store.RefusedAs(refused)]
	if why == "" {
		return refused
	}
	return &SupersededError{id, why}
}

// note adds to the history of a run that a report came too late: once for each attempt and kind of report, because a worker may repeat its report.
func (m *Matcher) note(ctx context.Context, t ticket, report string) error {
	late := interpreter.ReportedLate{
		Effect: t.Effect, Attempt: interpreter.Attempt{Number: t.number, Worker: t.worker}, Report: report,
	}
	message, err := inbox.Message{Type: interpreter.EventReportedLate, Effect: late.Effect, Attempt: late.Attempt, Report: report}.Encode()
	if err != nil {
		return err
	}
	err = m.c.Store.Deliver(ctx, store.Delivery{
		To: t.Run, ID: fmt.Sprintf("late %s %s %s", t.ActivityID, t.nonce, report), Message: message, Late: &late,
	})
	if store.RefusedAs(err) != "" { // the run is gone, or ended more than a day ago
		return nil
	}
	return err
}
