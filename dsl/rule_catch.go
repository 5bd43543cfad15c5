package dsl

import (
	"fmt"
	"net/url"
	"strings"

	"github.com/swrun/swrun/dsl/source"
	"github.com/swrun/swrun/errors"
	"github.com/swrun/swrun/internal/delimited"
	"github.com/swrun/swrun/internal/lazyregexp"
	"github.com/swrun/swrun/internal/suggest"
)

// checkFilters: SW401 to SW405, catches that cannot match, or that match everything.
func checkFilters(c *checker) {
	Walk(c.w, func(t Task) bool {
		try, ok := t.(*TryTask)
		if !ok {
			return true
		}
		catch := try.Catch
		if catch.Errors == nil && catch.When.Text == "" && catch.ExceptWhen.Text == "" && catch.Retry == nil && catch.RetryUse.Name == "" &&
			catch.Do == nil && catch.Then == "" {
			c.add(Diagnostic{Code: "SW405", Pointer: catch.Pointer, Range: c.w.Source.Key(catch.Pointer),
				Message: "this catch swallows every error without a trace", Help: "say which errors it is for, or what to do about them"})
		}
		if catch.When.Text != "" && catch.When.Text == catch.ExceptWhen.Text {
			c.add(Diagnostic{Code: "SW404", Pointer: catch.Pointer.Key("exceptWhen"), Message: "`when` and `exceptWhen` are the same, so nothing is caught"})
		}
		if catch.Errors != nil && catch.Errors.Type != "" {
			c.filterType(try, catch.Errors)
		} else if catch.Errors != nil && catch.Errors.Status != nil && *catch.Errors.Status == 408 {
			c.expectsTimeout(try, catch.Errors)
		}
		return true
	})
}

// filterType checks the type that a filter selects.
func (c *checker) filterType(try *TryTask, f *ErrorFilter) {
	at := f.Pointer.Key("type")
	name := errors.StandardName(f.Type)
	switch {
	case name == "":
		c.unknownType(try, at, f.Type)
	case strings.Contains(f.Type, "/dsl/errors/types/"):
		c.add(Diagnostic{Code: "SW403", Pointer: at, Message: "this is an older spelling of a standard error type; it matches all the same",
			Fix: c.replace(at, errors.Base+name)})
	}
	if status, ok := standardStatus(name); ok && f.Status != nil && *f.Status != status {
		c.add(Diagnostic{Code: "SW402", Pointer: f.Pointer.Key("status"),
			Message: fmt.Sprintf("this catch never matches: a `%s` error has status %d", name, status)})
	}
	if name == "timeout" {
		c.expectsTimeout(try, f)
	}
}

// standardStatus returns the status that all errors of a standard type have. ok is false for communication errors, which have the server's status,
// and for runtime errors, which have any.
func standardStatus(name string) (status int, ok bool) {
	for _, s := range errors.Standards() {
		if s.Name == name && name != "communication" && name != "runtime" {
			return s.Status, true
		}
	}
	return 0, false
}

func standardNames() []string {
	var all []string
	for _, s := range errors.Standards() {
		all = append(all, s.Name)
	}
	return all
}

// unknownType reports a type that is almost a standard type: a short name, or a misspelt URI. It also reports a type that nothing raises.
func (c *checker) unknownType(try *TryTask, at Pointer, uri string) {
	u, err := url.Parse(uri)
	if err != nil || delimited.Is(uri) || c.sourcesOf(try).mayRaise(uri) {
		return
	}
	last := errors.InStandardFolder(uri)
	switch {
	case u.Scheme != "" && last == "":
		c.neverRaised(try, at, uri)
	case u.Scheme == "" && contains(standardNames(), strings.ToLower(uri)):
		c.add(Diagnostic{
			Code: "SW401", Pointer: at, Message: fmt.Sprintf("this catch can never match: `%s` is not a URI", uri), Label: "the type's URI is longer",
			Fix: c.replace(at, errors.Base+strings.ToLower(uri)), Related: c.firstTimeout(try, strings.ToLower(uri)),
		})
	case u.Scheme == "" && otherErrorTypes()[uri] != "":
		c.add(Diagnostic{Code: "SW401", Pointer: at, Message: fmt.Sprintf("this catch can never match: `%s` is a type of another language", uri), Help: otherErrorTypes()[uri]})
	case u.Scheme == "":
		c.neverRaised(try, at, uri)
	default:
		c.add(c.asStandard(uri, Diagnostic{
			Code: "SW401", Pointer: at, Message: "this catch can never match: `%s` is not an error type",
			Related: c.firstTimeout(try, suggest.Nearest(last, standardNames())),
		}))
	}
}

// otherErrorTypes returns the replacements of types of errors in other languages.
func otherErrorTypes() map[string]string {
	const all, filter = "leave `errors` out, which catches every error", "write `type: " + errors.Base
	return map[string]string{
		"States.ALL": all, "*": all,
		"States.Timeout": filter + "timeout`", "States.Permissions": filter + "authorization`",
		"States.Http.Socket": filter + "communication`", "States.TaskFailed": all,
	}
}

// asStandard completes d, which is about a misspelt URI of a standard type, with the type that was probably meant. The %s in the message becomes the
// misspelt part.
func (c *checker) asStandard(uri string, d Diagnostic) Diagnostic {
	d.Help = "standard types: " + strings.Join(standardNames(), " ")
	last := errors.InStandardFolder(uri)
	if contains(standardNames(), last) { // the mistake precedes it
		d.Message, d.Label, d.Fix = fmt.Sprintf(d.Message, uri), didYouMean(errors.Base+last), c.replace(d.Pointer, errors.Base+last)
		return d
	}
	d.Message = fmt.Sprintf(d.Message, last)
	i := strings.LastIndex(uri, last)
	d.Range = c.w.Source.Within(d.Pointer, i, i+len(last))
	if meant := suggest.Nearest(last, standardNames()); meant != "" {
		d.Label = didYouMean(meant)
		d.Fix = onlyIf(suggest.Word(last, standardNames()) == meant, []source.Edit{{Range: d.Range, NewText: meant, Safe: true}})
	}
	return d
}

// firstTimeout points at the timeout that the author probably wants to catch.
func (c *checker) firstTimeout(try *TryTask, wanted string) []source.Related {
	if wanted != "timeout" {
		return nil
	}
	for _, at := range c.sourcesOf(try).timeouts {
		return related(c.w.Source.Value(at), "the timeout you probably want to catch")
	}
	return nil
}

// checkRaised: SW404, a standard type with another type's status.
func checkRaised(c *checker) {
	for _, e := range c.w.ErrorDefinitions() {
		status, ok := e.Status.(int)
		name := errors.StandardName(e.Type)
		if want, fixed := standardStatus(name); ok && fixed && status != want {
			c.add(Diagnostic{Code: "SW404", Pointer: e.Pointer.Key("status"),
				Message: fmt.Sprintf("a `%s` error has status %d, not %d", name, want, status)})
		}
	}
}

// standardURI matches the URI of a standard error type inside an expression.
var standardURI = lazyregexp.New(`https?://(?:serverlessworkflow\.io|open-workflow-specification\.org)/(?:spec/[^/"]+/errors|dsl/errors/types)/\w*`)

// checkComparedTypes: SW406, an error type that an expression compares as text. A filter matches all spellings of a type; text only equals the
// spelling that the engine is configured to raise (semantics 1.2).
func checkComparedTypes(c *checker) {
	for _, e := range c.texts {
		if e.property == propertyRaise || !e.isExpression() {
			continue
		}
		if m := standardURI().FindStringIndex(e.text); m != nil {
			c.add(Diagnostic{Code: "SW406", Pointer: e.at, Range: c.w.Source.Within(e.at, m[0], m[1]),
				Message: "as text, an error type is only equal to the spelling that the engine is set to raise",
				Help:    "filter by `errors: {with: {type: ...}}`, which matches all spellings, or compare the status"})
		}
	}
}
