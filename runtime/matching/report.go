package matching

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/swrun/swrun/errors"
	"github.com/swrun/swrun/expr"
	"github.com/swrun/swrun/interpreter"
	"github.com/swrun/swrun/limits"
	"github.com/swrun/swrun/runtime/activity"
	"github.com/swrun/swrun/runtime/store"
)

// The reports of outside workers about their activities.

// ticket is an attempt held by a worker: its token contains all of it.
type ticket struct {
	attempt
	number  int    // of the attempt
	worker  string // as it polled
	pointer string // of the task, as it was when the worker took the activity; empty if it is not known
	seal    string // as in the token; empty without one: see sealWith
}

// MaxToken is how long a token can be, in bytes.
const MaxToken = 32 << 10

// token is the text of a ticket that a worker sends with a report, with the seal by a key. Servers of earlier versions read of the first
// part only the text before the tilde: they decode it in groups of four characters, and stop at a character that is not base64. So this
// text is padded to whole groups. They read the pointer behind the dot, or nothing of it.
func (t ticket) token(key string) string {
	before, after := t.ActivityID.String()+" "+t.nonce+" ", strconv.Itoa(t.number)+" "+url.QueryEscape(t.worker)
	for (len(before)+len(after))%3 != 0 {
		before += "0"
	}
	text := base64.RawURLEncoding.EncodeToString([]byte(before + after))
	pointer := "." + base64.RawURLEncoding.EncodeToString([]byte(t.pointer))
	if t.pointer == "" || len(text)+len("~")+sealed+len(pointer) > MaxToken {
		t.pointer, pointer = "", ""
	}
	return text + "~" + t.sealWith(key) + pointer
}

// TokenError is a token that no poll has answered with.
type TokenError struct{ token string }

func (e *TokenError) Error() string {
	return fmt.Sprintf("%.60q is not the token of an activity: use the one that the poll has answered with", e.token)
}

// parseToken reads a token. One without the seal, the pointer of the task, or the number of the attempt and the worker comes from a server of an earlier
// version.
func parseToken(text string) (t ticket, err error) {
	first, second, _ := strings.Cut(text, ".")
	first, seal, _ := strings.Cut(first, "~")
	data, _ := base64.RawURLEncoding.DecodeString(first) // a text that is not base64 has too few parts
	pointer, notBase64 := base64.RawURLEncoding.DecodeString(second)
	parts := strings.Split(string(data), " ")
	if len(parts) == 3 {
		parts = append(parts, "0", "")
	}
	if len(parts) != 5 || parts[2] == "" || notBase64 != nil || !isPointer(string(pointer)) {
		return t, &TokenError{text}
	}
	id, err := store.ParseActivityID(parts[0] + " " + parts[1])
	number, notNumber := strconv.Atoi(parts[3])
	worker, notText := url.QueryUnescape(parts[4])
	if err != nil || notNumber != nil || notText != nil || id.Run.Check() != nil {
		return t, &TokenError{text}
	}
	return ticket{attempt{id, parts[2]}, number, worker, string(pointer), seal}, nil
}

// isPointer reports whether a text can be the pointer of a task, or is empty.
func isPointer(text string) bool {
	return text == "" || strings.HasPrefix(text, "/") && utf8.ValidString(text) && !strings.ContainsFunc(text, unicode.IsControl)
}

func newTask(id store.ActivityID, key string, c store.ActivityChanged) (Task, error) {
	a, err := activity.Parse(c.Activity)
	if err != nil {
		return Task{}, err
	}
	input, err := expr.Decode(c.Input)
	if err != nil {
		return Task{}, fmt.Errorf("read the input of the activity %s: %w", id, err)
	}
	t := ticket{attempt: attempt{id, a.Nonce}, number: a.Attempt, worker: a.Worker, pointer: a.Pointer}
	return Task{ID: id, Token: t.token(key), Activity: a, Input: interpreter.Value{V: input}}, nil
}

// SupersededError reports that a report does not count: another attempt has replaced the worker's, its deadline passed, or the run no
// longer waits for the activity. The effects of the worker's attempt may have happened anyway (promises 213).
type SupersededError struct {
	ID      store.ActivityID
	Why     string
	Unnoted string // reason why the history does not record the report; empty if it does, or if it records no reports of that kind
}

func (e *SupersededError) Error() string {
	text := fmt.Sprintf("the report about the activity %s does not count: %s", e.ID, e.Why)
	if e.Unnoted != "" {
		text += "; the history does not note the report: " + e.Unnoted
	}
	return text
}

// Heartbeat reports that the worker of an attempt is alive, with its progress; nil keeps the former progress. The result is whether the
// worker is to stop, because the run no longer waits for the activity.
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

// Return gives back an activity that a worker took and does not perform: other workers may take it immediately, and it does not count as an
// attempt.
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
	op := activity.Complete{Nonce: t.nonce, Result: result}
	older := op
	op.Content = digest(result)
	return m.end(ctx, t, report{op, older, interpreter.ReportCompleted, op.Content})
}

// Fail reports the failure of an attempt; nonRetryable prevents further attempts.
func (m *Matcher) Fail(ctx context.Context, token string, failure *errors.Error, nonRetryable bool) error {
	t, err := parseToken(token)
	if err != nil {
		return err
	}
	op := activity.Fail{Nonce: t.nonce, Error: failure, NonRetryable: nonRetryable}
	older := op
	op.Content = digest([]any{failure.Value(), nonRetryable})
	return m.end(ctx, t, report{op, older, interpreter.ReportFailed, op.Content})
}

// digest returns a short text that differs for different reports; empty if the content cannot be encoded as JSON.
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

// report is how a worker has reported the end of an attempt.
type report struct {
	op activity.Operation
	// older is op as it was done by servers that did not remember the content of reports. A report that such a server accepted is accepted
	// again, even though its content cannot be compared.
	older   activity.Operation
	kind    string // interpreter.ReportCompleted or ReportFailed
	content string // differs for different reports
}

// end reports the end of an attempt. A report that does not count is noted in the history of the run.
func (m *Matcher) end(ctx context.Context, t ticket, r report) error {
	id := t.ActivityID
	if is := m.forget(t.attempt); is != nil && m.c.Report(ctx, Report{id, is, r.op}) {
		return nil
	}
	refused, err := m.change(ctx, t.attempt, r.op)
	answer := superseded(id, refused, err)
	if answer == nil || store.RefusedAs(refused) == "" {
		return answer
	}
	if older, failed := m.change(ctx, t.attempt, r.older); older == nil && failed == nil {
		return nil
	}
	m.forgetActivity(id) // the next report must not overtake the note
	unnoted, err := m.noteGiven(ctx, t, r)
	if err != nil {
		return err // the worker repeats the report
	}
	if late := new(SupersededError); errors.As(answer, &late) {
		late.Unnoted = unnoted
	}
	return answer
}

func (m *Matcher) change(ctx context.Context, of attempt, op store.ActivityOperation) (refused, err error) {
	partition, ids := of.Run.Partition(m.c.Store.Layout().Partitions), []store.ActivityID{of.ActivityID}
	changed, err := m.c.Store.ChangeActivities(ctx, store.ChangeActivities{Partition: partition, Activities: ids, Operation: op})
	if err != nil {
		return nil, err
	}
	_ = m.c.Gate.Ended(ctx, ids, changed) // the report is stored; the unneeded permit is recovered later
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
	return &SupersededError{ID: id, Why: why}
}
