// Package filter selects runs by their data in lists: status=waiting workflow=demo/* started>-1h. A run is loaded only for the deadlines of its
// activities. The command, the HTTP API and all other queries for runs use this grammar:
//
//	filter     = condition { " " condition }            all of them hold
//	condition  = field operator value { "," value }     one of the values fits; with != and !~, no value does
//	operator   = "=" | "!=" | "~" | "!~" | "<" | "<=" | ">" | ">="
//	value      = text without spaces and commas, in which * and ? stand for any characters and for one, or text in double quotes,
//	             which is taken literally
//
// ~ searches for a text anywhere in the value, in upper or lower case. Times are absolute (2026-11-22T08:00:00Z, 2026-11-22, today) or relative
// to now: 5m is in five minutes, -1h an hour ago. A missing field of a run matches no value: label.team=* selects the runs with this label,
// label.team!=* the runs without it.
package filter

import (
	"slices"
	"strings"
	"time"

	"github.com/swrun/swrun/errors"
	"github.com/swrun/swrun/interpreter"
	"github.com/swrun/swrun/runtime/execution"
	"github.com/swrun/swrun/runtime/store"
)

// Run is a run as known from a list.
type Run struct {
	Instance   store.Instance
	Lifecycle  store.Lifecycle
	Invocation *execution.Invocation
	// ActivityDue is the first deadline of the awaited activities; zero for never or unknown: it is not part of the record
	// (Filter.ReadsDeadlines).
	ActivityDue time.Time
	// Waiting lists the causes for which the run waits, in the order of store.WaitingFor; empty if it does not wait, or if they were not
	// read (Filter.ReadsWaiting).
	Waiting []string
	// Acknowledged is the acknowledgement of the run's trouble; nil without one, or if it was not read (Filter.ReadsAcknowledged).
	Acknowledged *Acknowledgement
}

// Deadline returns when the first deadline of the run passes, of its scopes in progress and of its activities; zero for never.
func (r *Run) Deadline() time.Time { return interpreter.Earlier(r.Lifecycle.Deadline, r.ActivityDue) }

// Status returns the phase of the run, or quarantined.
func (r *Run) Status() string {
	if r.Lifecycle.Reason == store.Quarantined {
		return store.Quarantined
	}
	return string(r.Lifecycle.Status)
}

// Filter chooses the runs for which all its conditions hold. The zero Filter chooses all.
type Filter struct {
	conditions []condition
}

// condition is one condition on a field.
type condition struct {
	field    field
	operator operator
	values   []value
}

// operator is how a field is compared.
type operator string

// operators returns all operators. An operator follows the longer ones that begin with it.
func operators() []operator { return []operator{"!=", "!~", "<=", ">=", "=", "~", "<", ">"} }

// negated reports whether none of the values may fit.
func (o operator) negated() bool { return strings.HasPrefix(string(o), "!") }

// The bounds of a filter: it is read for every request, and asked for every run.
const (
	maxText       = 16 << 10
	maxConditions = 100
	maxValues     = 1000 // of all conditions
)

// Parse parses a filter. Relative times count from the given time. Invalid filters are refused with an *Error.
func Parse(text string, now time.Time) (Filter, error) {
	if len(text) > maxText {
		return Filter{}, &Error{Text: text[:40] + "…", Problem: "is longer than a filter may be", Hint: "at most 16 KiB"}
	}
	if text != "" && strings.TrimSpace(text) == "" { // refused instead of matching all runs, which would be dangerous for a cancel of the matching runs
		return Filter{}, &Error{Text: text, Problem: "is blank", Hint: "leave it out, or give it a value"}
	}
	p := parser{text: text, now: now}
	return p.filter()
}

// Equal returns the filter for the runs whose field has exactly a value, with any characters. Impossible values are refused as in Parse.
func Equal(name, text string) (Filter, error) {
	f, err := lookUp(name)
	v := value{text: text, literal: true}
	if err == nil {
		err = f.complete(&v, "=", time.Time{})
	}
	if err != nil {
		return Filter{}, err
	}
	return Filter{[]condition{{field: f, operator: "=", values: []value{v}}}}, nil
}

// Text returns the text of the filter that Equal returns.
func Text(name, value string) string { return quote(name) + "=" + quote(value) }

func quote(text string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(text) + `"`
}

// In returns the filter for the runs of some namespaces. It matches all runs if no namespace is given, or an empty one.
func In(namespaces ...string) Filter {
	var values []value
	for _, n := range namespaces {
		if n == "" {
			return Filter{}
		}
		values = append(values, value{text: n, literal: true})
	}
	if len(values) == 0 {
		return Filter{}
	}
	return Filter{[]condition{{field: namespaceField(), operator: "=", values: values}}}
}

// Begins returns the filter for the runs whose id begins so.
func Begins(prefix string) Filter {
	return Filter{[]condition{{field: idField(), operator: "=", values: []value{{text: prefix, literal: true, prefix: true}}}}}
}

// And returns the filter for the runs that both choose.
func (f Filter) And(other Filter) Filter {
	return Filter{slices.Concat(f.conditions, other.conditions)}
}

// WithAliases returns the filter that matches types of errors under their aliases.
func (f Filter) WithAliases(a errors.Aliases) Filter {
	if len(a) == 0 {
		return f
	}
	all := slices.Clone(f.conditions)
	for n, c := range all {
		if c.field.name == fieldError || c.field.name == fieldTrouble {
			all[n] = c.withAliases(a)
		}
	}
	return Filter{all}
}

// withAliases adds the aliases of error types to a condition on the type of an error.
func (c condition) withAliases(a errors.Aliases) condition {
	texts := c.field.texts
	c.field.texts = func(r *Run) []string {
		all := texts(r)
		if len(all) == 0 {
			return nil
		}
		now := a.Resolve(all[len(all)-1])
		return append(all, errors.Name(now), now)
	}
	c.values = slices.Clone(c.values)
	for _, v := range c.values {
		if now := a.Resolve(v.text); !v.isPattern() && now != v.text {
			v.text = errors.Name(now)
			c.values = append(c.values, v)
		}
	}
	return c
}

// Matches reports whether the filter chooses a run.
func (f Filter) Matches(r *Run) bool {
	return !slices.ContainsFunc(f.conditions, func(c condition) bool { return !c.holds(r) })
}

// MayMatch reports whether the filter could choose a run of which nothing but its name is known.
func (f Filter) MayMatch(i store.Instance) bool {
	run := &Run{Instance: i}
	return !slices.ContainsFunc(f.conditions, func(c condition) bool {
		return (c.field.name == namespaceField().name || c.field.name == idField().name) && !c.holds(run)
	})
}

// holds reports whether the condition holds for a run.
func (c *condition) holds(r *Run) bool {
	fits := slices.ContainsFunc(c.values, func(v value) bool { return c.field.fits(r, c.operator, v) })
	return fits != c.operator.negated()
}

// Grouping groups runs for counts, by one field or several together.
type Grouping struct {
	Fields            []string
	Of                func(*Run) []string // value of each field of a run; empty for a run without one
	ReadsWaiting      bool                // Run.Waiting is needed
	ReadsAcknowledged bool                // Run.Acknowledged is needed
}

// Where returns the filter for the runs of a group, of which each field has a value.
func (g *Grouping) Where(values []string) string {
	var all []string
	for n, name := range g.Fields {
		switch {
		case values[n] == "" && name == fieldAcknowledged: // which is for runs in trouble, and takes no pattern
			all = append(all, fieldAttention+"!=*")
		case values[n] == "":
			all = append(all, quoteUnlessPlain(name)+"!=*")
		default:
			all = append(all, quoteUnlessPlain(name)+"="+quoteUnlessPlain(values[n]))
		}
	}
	return strings.Join(all, " ")
}

// quoteUnlessPlain quotes a text with characters that are not usual in names, paths and addresses.
func quoteUnlessPlain(text string) string {
	if strings.Trim(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789./:-_@") == "" {
		return text
	}
	return quote(text)
}

// maxGrouping is by how many fields runs are counted at a time.
const maxGrouping = 10

// Group parses the fields for counting runs: a field, or several separated by commas. Of several values of a run, the first counts. Fields
// that cannot group runs are refused.
func Group(names string) (*Grouping, error) {
	g := &Grouping{}
	var fields []field
	for name := range strings.SplitSeq(names, ",") {
		f, err := lookUp(name)
		if err != nil {
			return nil, err
		}
		if f.texts == nil || f.name == fieldText || slices.Contains(g.Fields, name) || len(fields) == maxGrouping {
			return nil, &Error{Text: name, Problem: "cannot group runs for counts", Hint: "for example status, workflow, error or label.NAME, each once, or several with commas"}
		}
		fields, g.Fields = append(fields, f), append(g.Fields, name)
		g.ReadsWaiting = g.ReadsWaiting || f.name == fieldWaiting
		g.ReadsAcknowledged = g.ReadsAcknowledged || f.name == fieldAcknowledged
	}
	g.Of = func(r *Run) (values []string) {
		for _, f := range fields {
			value := ""
			if all := f.texts(r); len(all) > 0 {
				value = all[0]
			}
			values = append(values, value)
		}
		return values
	}
	return g, nil
}
