package filter

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/swrun/swrun/errors"
	"github.com/swrun/swrun/interpreter"
	"github.com/swrun/swrun/runtime/store"
)

// field is something that a run is or has. It has one of texts, number and time.
type field struct {
	name   string
	texts  func(*Run) []string // in each form in which it may be written, beginning with the form for groups; empty for a run without a value
	number func(*Run) int64
	time   func(*Run) time.Time
	past   bool                     // the time is over, in every run
	allow  func(v *value) error     // refuses values that no run can have; nil if any text is valid
	spell  func(text string) string // how texts has a value that may be spelt in several ways; nil if there is one way
}

// fieldText is the field of everything that is text in a run.
const fieldText = "text"

// fieldError is the field of the type of the error of a faulted run.
const fieldError = "error"

// fieldDeadline is the field of the first deadline.
const fieldDeadline = "deadline"

// ReadsDeadlines reports whether the filter asks for the first deadline of a run, so that Run.ActivityDue is needed.
func (f Filter) ReadsDeadlines() bool {
	return slices.ContainsFunc(f.conditions, func(c condition) bool { return c.field.name == fieldDeadline })
}

// fieldTrouble is the field of the current trouble of a run: the type of the error, including an error that is being retried.
const fieldTrouble = "trouble"

// troubleOf returns the trouble of a run: its name for people, and its full type.
func troubleOf(r *Run) []string {
	switch t := r.trouble(); {
	case r.Status() == store.Quarantined:
		return []string{store.Quarantined}
	case t.Type != "":
		return []string{errors.Name(t.Type), t.Type}
	case r.Lifecycle.Retrying:
		return nil
	}
	return errorOf(r)
}

// fieldAttention is the field of the reason for which a run needs attention.
const fieldAttention = "attention"

// fieldWaiting is the field of the causes for which a run waits.
const fieldWaiting = "waiting"

// ReadsWaiting reports whether the filter needs the causes for which a run waits, in Run.Waiting.
func (f Filter) ReadsWaiting() bool {
	return slices.ContainsFunc(f.conditions, func(c condition) bool { return c.field.name == fieldWaiting })
}

// AnyType is the value of the field `listens` of a run that listens for events of any type.
const AnyType = "any"

// listens returns the types of the events that a run listens for.
func listens(r *Run) []string {
	all := r.Lifecycle.Listens.Types()
	for n, kind := range all {
		all[n] = cmp.Or(kind, AnyType)
	}
	return all
}

// labelField is the prefix of the fields for labels.
const labelField = "label."

// fields returns the fields of every run, without the fields for labels.
func fields() []field {
	return []field{
		{name: "status", texts: func(r *Run) []string { return []string{r.Status()} }, allow: among("a status", Statuses())},
		{name: "reason", texts: func(r *Run) []string { return given(closedReason(r)) }, allow: among("why a run ends", store.ClosedReasons())},
		{name: fieldError, texts: errorOf, allow: literally(allowError), spell: errors.Name},
		{name: "timeout", texts: func(r *Run) []string { return given(r.Lifecycle.Failure.TimeoutKind) }, allow: among("a kind of timeout", interpreter.TimeoutKinds())},
		{name: fieldAttention, texts: func(r *Run) []string { return given(r.Attention()) }, allow: among("a reason why a run needs attention", attentions())},
		{name: fieldWaiting, texts: func(r *Run) []string { return r.Waiting }, allow: among("what a run waits for", store.WaitingFor())},
		{name: "listens", texts: listens},
		{name: fieldTrouble, texts: troubleOf, spell: errors.Name},
		{name: "task", texts: func(r *Run) []string { return given(r.trouble().Task) }},
		{name: "host", texts: func(r *Run) []string { return given(r.trouble().Host) }},
		{name: fieldGroup, texts: groupOf},
		{name: fieldAcknowledged, texts: acknowledged, allow: whether("trouble is acknowledged", fieldAttention+"=* chooses all runs in trouble")},
		{name: "workflow", texts: workflowOf, allow: literally(allowWorkflow)},
		{name: "version", texts: func(r *Run) []string { return []string{r.Invocation.Workflow.Version} }, allow: literally(allowVersion)},
		namespaceField(),
		idField(),
		{name: "key", texts: func(r *Run) []string { return given(r.Invocation.BusinessKey) }},
		{name: "parent", texts: parentOf},
		{name: "forked-from", texts: forkedFrom},
		{name: "forked", texts: forked, allow: whether("a run was forked", "forked=yes chooses the runs that were forked")},
		{name: fieldText, texts: allTexts},
		{name: "attempts", number: func(r *Run) int64 { return max(r.Lifecycle.Attempts, 1) }},
		{name: "created", past: true, time: func(r *Run) time.Time { return r.Lifecycle.Created }},
		{name: "started", past: true, time: startedAt},
		{name: "closed", past: true, time: func(r *Run) time.Time { return r.Lifecycle.Closed }},
		{name: fieldDeadline, time: (*Run).Deadline},
		{name: "wake", time: func(r *Run) time.Time { return r.Lifecycle.Wake }},
	}
}

func namespaceField() field {
	return field{name: "namespace", texts: func(r *Run) []string { return []string{r.Instance.Namespace} }, allow: literally(allowNamespace)}
}

func idField() field {
	return field{name: "id", texts: func(r *Run) []string { return []string{r.Instance.ID} }, allow: literally(allowID)}
}

// Names returns the names of the fields, in the order in which help shows them.
func Names() []string {
	var all []string
	for _, f := range fields() {
		all = append(all, f.name)
	}
	return append(all, labelField+"NAME")
}

// otherNames returns further names of fields, as they are used in the JSON of a run, or in other tools.
func otherNames() map[string]string {
	return map[string]string{
		"closedreason": "reason", "businesskey": "key", "createdat": "created", "startedat": "started", "closedat": "closed",
		"deadlineat": "deadline", "nextwakeat": "wake", "timeoutkind": "timeout", "errortype": "error", "type": "error", "state": "status", "wait": fieldWaiting, "waits": fieldWaiting, "waitingfor": fieldWaiting, "waitsfor": fieldWaiting, "listensfor": "listens", "event": "listens", "ack": fieldAcknowledged, "acked": fieldAcknowledged, "acknowledgement": fieldAcknowledged, "phase": "status",
		"name": "workflow", "labels": "label.NAME", "label": "label.NAME", "ns": "namespace", "continued": "forked", "continuedas": "forked", "forkedfrom": "forked-from", "run": "id", "age": "created", "attempt": "attempts",
	}
}

// lookUp returns the field of a name.
func lookUp(name string) (field, error) {
	if label, ok := strings.CutPrefix(name, labelField); ok && label != "" {
		return field{name: name, texts: func(r *Run) []string { return present(r.Invocation.Labels, label) }}, nil
	}
	all := fields()
	if at := slices.IndexFunc(all, func(f field) bool { return f.name == name }); at >= 0 {
		return all[at], nil
	}
	if meant := otherNames()[strings.ToLower(name)]; meant != "" {
		return field{}, &Error{Text: name, Problem: "is not a field of a run; did you mean " + meant + "?", Hint: "fields: " + strings.Join(Names(), ", ")}
	}
	return field{}, unknown(name, "a field of a run", Names())
}

// takes returns the comparisons that the field can be part of.
func (f *field) takes() []operator {
	switch {
	case f.name == fieldText:
		return []operator{"~", "!~"}
	case f.texts != nil:
		return []operator{"=", "!=", "~", "!~"}
	}
	return []operator{"<", "<=", ">", ">=", "=", "!="}
}

// complete reads a value as one of the field.
func (f *field) complete(v *value, o operator, now time.Time) (err error) {
	switch {
	case f.number != nil:
		v.number, err = readNumber(v.text)
	case f.time != nil && (o == "=" || o == "!="):
		if v.any = v.text == "*" && !v.literal; !v.any {
			err = &Error{Text: v.text, Problem: "is one moment, which no run hits", Hint: "compare with < or >; =* and !=* ask whether there is such a time"}
		}
	case f.time != nil:
		v.time, err = readTime(v.text, now)
		if err == nil && f.past && isToCome(v.text) {
			err = &Error{Text: v.text, Problem: "is a time to come, at which no run was " + f.name + " yet", Hint: "-" + strings.TrimPrefix(v.text, "+") + " is that long ago"}
		}
	case o == "=" || o == "!=":
		err = f.check(v)
	}
	return err
}

// check refuses a value that fits no run, and spells it as texts does.
func (f *field) check(v *value) error {
	if f.spell != nil && !v.isPattern() {
		v.text = f.spell(v.text)
	}
	if f.allow == nil {
		return nil
	}
	return f.allow(v)
}

// fits reports whether a value matches the field of a run, without regard to negation.
func (f *field) fits(r *Run, o operator, v value) bool {
	switch {
	case f.number != nil:
		return compare(o, cmp.Compare(f.number(r), v.number))
	case f.time != nil:
		at := f.time(r)
		return !at.IsZero() && (v.any || compare(o, at.Compare(v.time)))
	case o == "~" || o == "!~":
		return slices.ContainsFunc(f.texts(r), v.contains)
	}
	return slices.ContainsFunc(f.texts(r), v.fitsText)
}

func given(text string) []string {
	if text == "" {
		return nil
	}
	return []string{text}
}

func present(labels map[string]string, name string) []string {
	if text, ok := labels[name]; ok {
		return []string{text}
	}
	return nil
}

func closedReason(r *Run) string {
	if !r.Lifecycle.Status.Final() {
		return ""
	}
	return r.Lifecycle.Reason
}

// Attention returns the reason for which a run needs attention: it is quarantined, it retries a failed task, or it failed without a fork
// and without a run that waits for it. It is empty if there is no reason.
func (r *Run) Attention() string {
	switch {
	case r.Lifecycle.Status == interpreter.StatusFaulted && r.Lifecycle.Continuation == "" && r.Invocation.Parent == nil:
		return AttentionFailed
	case r.Lifecycle.Status.Final():
		return ""
	case r.Lifecycle.Reason == store.Quarantined:
		return store.Quarantined
	case r.Lifecycle.Retrying:
		return AttentionRetrying
	}
	return ""
}

// AttentionRetrying is the Attention of a run that retries a failed task (promise 200).
const AttentionRetrying = "retrying"

// AttentionFailed is the Attention of a faulted run until it is forked.
const AttentionFailed = "failed"

func attentions() []string { return []string{AttentionRetrying, store.Quarantined, AttentionFailed} }

// Values of yes-or-no fields.
const (
	yes = "yes"
	no  = "no"
)

// forked returns whether another run continues or continued the run.
func forked(r *Run) []string {
	if r.Lifecycle.Continuation != "" {
		return []string{yes}
	}
	return []string{no}
}

// errorOf returns the type of the error of a faulted run: its name for people, and its full type.
func errorOf(r *Run) []string {
	kind := r.Lifecycle.Failure.Type
	if kind == "" {
		return nil
	}
	return []string{errors.Name(kind), kind}
}

func workflowOf(r *Run) []string {
	w := r.Invocation.Workflow
	return []string{w.String(), w.Namespace + "/" + w.Name}
}

func parentOf(r *Run) []string {
	starter, ok := r.Invocation.Starter()
	if !ok {
		return nil
	}
	return []string{starter.String(), starter.ID}
}

func forkedFrom(r *Run) []string {
	if r.Invocation.Fork == nil {
		return nil
	}
	return []string{r.Invocation.Fork.Instance.String(), r.Invocation.Fork.Instance.ID}
}

// startedAt returns when the run began; zero for a run that has not begun.
func startedAt(r *Run) time.Time {
	if r.Lifecycle.Status == interpreter.StatusPending {
		return time.Time{}
	}
	return r.Lifecycle.Started
}

func allTexts(r *Run) []string {
	all := append([]string{r.Instance.ID, r.Invocation.Workflow.String(), r.Invocation.BusinessKey}, errorOf(r)...)
	return slices.AppendSeq(all, maps.Values(r.Invocation.Labels))
}

// Statuses returns the values of Status.
func Statuses() []string {
	return []string{
		string(interpreter.StatusPending), string(interpreter.StatusRunning), string(interpreter.StatusWaiting), string(interpreter.StatusSuspended),
		string(interpreter.StatusCompleted), string(interpreter.StatusFaulted), string(interpreter.StatusCancelled), store.Quarantined,
	}
}
