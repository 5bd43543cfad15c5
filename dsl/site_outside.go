package dsl

import (
	"regexp"
	"strings"

	"github.com/swrun/swrun/internal/delimited"
)

// outside collects the sites of the kinds that reach outside.
func (w *siteWalk) outside(t Task, vars []string) {
	switch t := t.(type) {
	case *CallHTTP, *CallFunction, *CallOpenAPI, *CallGRPC:
		w.call(t, vars)
	case *CallA2A:
		at := t.Pointer.Key("with")
		w.resource(t.AgentCard, vars)
		w.endpoint(t.Server, vars)
		w.data(at.Key("parameters"), "call", t.Parameters, vars)
	case *CallMCP:
		w.mcp(t, vars)
	case *CallAsyncAPI:
		w.asyncAPI(t, vars)
	case *RunShell, *RunScript, *RunContainer, *RunWorkflow:
		w.run(t, vars)
	}
}

func (w *siteWalk) call(t Task, vars []string) {
	at := t.Base().Pointer.Key("with")
	switch t := t.(type) {
	case *CallHTTP:
		w.endpoint(t.Endpoint, vars)
		w.data(at.Key("headers"), "call", t.Headers, vars)
		w.data(at.Key("query"), "call", t.Query, vars)
		w.data(at.Key("body"), "call", t.Body, vars)
	case *CallFunction:
		w.data(at, "call", anyOf(t.With), vars)
	case *CallOpenAPI:
		w.resource(t.Document, vars)
		w.data(at.Key("parameters"), "call", anyOf(t.Parameters), vars)
		w.authentication(t.Authentication, vars)
	case *CallGRPC:
		w.resource(t.Proto, vars)
		w.data(at.Key("arguments"), "call", anyOf(t.Arguments), vars)
		w.authentication(t.Authentication, vars)
	}
}

func (w *siteWalk) mcp(t *CallMCP, vars []string) {
	at := t.Pointer.Key("with")
	w.data(at.Key("parameters"), "call", t.Parameters, vars)
	w.duration(t.CallTimeout, vars)
	if http := t.HTTP; http != nil {
		w.endpoint(http.Endpoint, vars)
		w.data(at.Key("transport").Key("http").Key("headers"), "call", anyOf(http.Headers), vars)
	}
	if stdio := t.Stdio; stdio != nil {
		w.data(at.Key("transport").Key("stdio").Key("environment"), "run", anyOf(stdio.Environment), vars)
	}
}

func (w *siteWalk) asyncAPI(t *CallAsyncAPI, vars []string) {
	at := t.Pointer.Key("with")
	w.resource(t.Document, vars)
	w.authentication(t.Authentication, vars)
	w.data(at.Key("server").Key("variables"), "call", anyOf(t.ServerVariables), vars)
	if m := t.Message; m != nil {
		w.data(at.Key("message").Key("payload"), "call", m.Payload, vars)
		w.data(at.Key("message").Key("headers"), "call", m.Headers, vars)
	}
	s := t.Subscription
	if s == nil {
		return
	}
	consume := s.Pointer.Key("consume")
	w.expression(s.Pointer.Key("filter"), "filter", s.Filter, vars)
	w.expression(consume.Key("while"), "while", s.While, vars)
	w.expression(consume.Key("until"), "until", s.Until, vars)
	w.duration(s.For, vars)
	w.iterator(s.ForEach, vars)
}

func (w *siteWalk) run(t Task, vars []string) {
	run := t.Base().Pointer.Key("run")
	switch t := t.(type) {
	case *RunShell:
		w.process(run.Key("shell"), t.Process, vars)
		w.code(run.Key("shell").Key("command"), t.Command, vars)
	case *RunScript:
		w.process(run.Key("script"), t.Process, vars)
		w.code(run.Key("script").Key("code"), t.Code, vars)
		w.resource(t.Source, vars)
	case *RunContainer:
		at := run.Key("container")
		w.process(at, t.Process, vars)
		w.code(at.Key("command"), t.Command, vars)
		w.data(at.Key("name"), "run", t.Container, vars)
		w.duration(t.CleanupAfter, vars)
	case *RunWorkflow:
		w.data(run.Key("workflow").Key("input"), "run", t.With, vars)
	}
}

func (w *siteWalk) process(at Pointer, p Process, vars []string) {
	w.data(at.Key("stdin"), "run", p.Stdin, vars)
	w.data(at.Key("arguments"), "run", p.Arguments, vars)
	w.data(at.Key("environment"), "run", anyOf(p.Environment), vars)
}

// code is the text of a program, which is evaluated only if it is one expression as a whole.
func (w *siteWalk) code(at Pointer, text string, vars []string) {
	if delimited.Is(text) && !strings.Contains(strings.TrimSpace(text), "\n") {
		w.data(at, "code", text, vars)
	}
}

// strategy collects what filters, correlates and ends the consumption of events.
func (w *siteWalk) strategy(s *EventStrategy, vars []string) {
	if s == nil {
		return
	}
	for _, f := range s.filters() {
		w.data(f.Pointer.Key("with"), "event filter", anyOf(f.With), vars)
		for _, key := range sortedKeys(f.Correlate) {
			w.correlation(f.Pointer.Key("correlate").Key(key), f.Correlate[key], vars)
		}
	}
	w.expression(s.Pointer.Key("until"), "until", s.Until, vars)
	w.strategy(s.UntilEvent, vars)
}

// filters returns all filters of a strategy but those of its until.
func (s *EventStrategy) filters() []*EventFilter {
	switch {
	case s.One != nil:
		return []*EventFilter{s.One}
	case s.All != nil:
		return s.All
	}
	return s.Any
}

// attribute matches the bare name of an event's attribute, which may stand for an expression (semantics 14.7).
var attribute = regexp.MustCompile(`^\s*[a-z][a-z0-9]*\s*$`)

func (w *siteWalk) correlation(at Pointer, c Correlation, vars []string) {
	if !attribute.MatchString(string(c.From)) {
		w.expression(at.Key("from"), "correlate.from", c.From, vars)
	}
	if expect := strings.TrimSpace(c.Expect); strings.HasPrefix(expect, ".") || strings.HasPrefix(expect, "$") {
		w.expression(at.Key("expect"), "correlate.expect", Expression(c.Expect), vars)
	}
}

func (w *siteWalk) iterator(i *Iterator, vars []string) {
	if i != nil {
		inner := with(vars, i.Item, i.At)
		w.list(i.Do, inner)
		w.results(i.Pointer, i.Output, i.Export, inner)
	}
}
