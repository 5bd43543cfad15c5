package dsl

import (
	"fmt"

	"github.com/swrun/swrun/dsl/source"
	"github.com/swrun/swrun/errors"
	"github.com/swrun/swrun/internal/delimited"
)

// errorSources are the possible sources of errors inside a try.
type errorSources struct {
	timeouts     []Pointer       // of tasks and of the attempts of inner tries
	types        map[string]bool // that are raised by literal URI
	serverErrors bool            // something calls a server, which may answer with any status
	anyError     bool            // something may raise an error that the document does not show
}

// mayRaise reports whether they may raise an error of a type.
func (s errorSources) mayRaise(uri string) bool { return s.anyError || s.types[uri] }

// sourcesOf returns the sources of errors in a try, without the sources in its catch.
func (c *checker) sourcesOf(try *TryTask) errorSources {
	s := errorSources{types: map[string]bool{}, anyError: len(c.w.Use.Extensions) > 0} // an extension may raise around any task
	c.addSources(&s, try.Try, map[string]bool{})
	if policy := c.w.RetryPolicyOf(&try.Catch); policy != nil && policy.AttemptDuration != nil {
		s.timeouts = append(s.timeouts, policy.AttemptDuration.Pointer)
	}
	return s
}

// addSources adds the sources of errors in a list; called contains the visited functions.
func (c *checker) addSources(s *errorSources, tasks TaskList, called map[string]bool) {
	w := &walker{onError: s.addRaised, onReference: func(r Reference) {
		if r.Section == "errors" {
			s.addRaised(c.w.Use.Errors[r.Name])
		}
	}}
	w.onTask = func(t Task) bool {
		if timeout := t.Base().Timeout; timeout != nil {
			s.timeouts = append(s.timeouts, timeout.Pointer)
		}
		traits := t.Traits()
		s.serverErrors = s.serverErrors || traits.ServerErrors
		s.anyError = s.anyError || traits.AnyErrors
		if traits.Function != "" {
			c.addFunction(s, traits.Function, called)
		}
		if try, ok := t.(*TryTask); ok {
			if policy := c.w.RetryPolicyOf(&try.Catch); policy != nil && policy.LimitDuration != nil {
				s.timeouts = append(s.timeouts, policy.LimitDuration.Pointer)
			}
		}
		return true
	}
	w.list(nil, tasks)
}

func (c *checker) addFunction(s *errorSources, name string, called map[string]bool) {
	function := c.w.Use.Functions[name]
	if function == nil {
		s.anyError = true
		return
	}
	if !called[name] {
		called[name] = true
		c.addSources(s, TaskList{function}, called)
	}
}

func (s *errorSources) addRaised(e *ErrorDefinition) {
	if e == nil || delimited.Is(e.Type) {
		s.anyError = true
		return
	}
	s.types[e.Type] = true
	if status, literal := e.Status.(int); !literal || status == 408 {
		s.serverErrors = true
	}
}

// neverRaised: SW402, a type of the author that nothing in the try raises.
func (c *checker) neverRaised(try *TryTask, at Pointer, uri string) {
	if len(foreignSigns(uri)) > 0 {
		return // SW209 tells why
	}
	c.add(Diagnostic{Code: "SW402", Pointer: at, Message: fmt.Sprintf("this catch never matches: nothing in the try raises `%s`", uri),
		Help: "raise the error inside the try, or widen the filter", Related: c.otherRaise(uri)})
}

// otherRaise points at a task elsewhere that raises the type.
func (c *checker) otherRaise(uri string) []source.Related {
	var raised []source.Related
	Walk(c.w, func(t Task) bool {
		if r, ok := t.(*RaiseTask); ok && raised == nil {
			if e := c.w.ErrorOf(r); e != nil && e.Type == uri {
				raised = related(c.w.Source.Key(r.Pointer), "this raises it, outside of the try")
			}
		}
		return raised == nil
	})
	return raised
}

// expectsTimeout: SW303, SW304 and SW402, a catch of timeouts around tasks that cannot time out.
func (c *checker) expectsTimeout(try *TryTask, f *ErrorFilter) {
	sources, at := c.sourcesOf(try), f.Pointer.Key("type")
	if f.Type == "" {
		at = f.Pointer.Key("status")
		if sources.serverErrors { // a server's answer is a communication error with the server's status
			return
		}
	}
	if sources.anyError || len(sources.timeouts) > 0 || raisesTimeout(sources.types) {
		return
	}
	d := Diagnostic{Code: "SW402", Pointer: at, Message: "this catch never matches: nothing in the try has a timeout",
		Help: "give the task that may take too long a `timeout`"}
	switch {
	case try.Timeout != nil:
		d.Code, d.Message = "SW304", "this catch never matches: the try's own timeout is raised outside of it"
		d.Related = related(c.w.Source.Key(try.Timeout.Pointer), "this timeout is raised outside the try")
		d.Help = "move the timeout to a task inside the try, or catch it one level up"
	case c.w.Timeout != nil:
		d.Code, d.Message = "SW303", "this catch never matches: only the workflow has a timeout, and nothing inside it can catch that"
		d.Related = related(c.w.Source.Key(c.w.Timeout.Pointer), "this timeout ends the workflow")
	}
	c.add(d)
}

func raisesTimeout(types map[string]bool) bool {
	for uri := range types {
		if errors.StandardName(uri) == "timeout" {
			return true
		}
	}
	return false
}
