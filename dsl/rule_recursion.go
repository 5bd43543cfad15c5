package dsl

import (
	"fmt"
	"slices"
	"strings"

	"github.com/swrun/swrun/internal/shorten"
)

// checkRecursion: SW206, functions that call themselves each time that they are called, directly or by way of others.
func checkRecursion(c *checker) {
	if len(c.w.Use.Extensions) > 0 { // an extension may end the workflow before any call
		return
	}
	r := recursion{c: c, visited: map[string]bool{}}
	for _, name := range sortedKeys(c.w.Use.Functions) {
		r.visit(name)
	}
}

// recursion goes through the functions along the calls that happen each time, and visits each function once.
type recursion struct {
	c       *checker
	visited map[string]bool
	callers []string // the functions that lead to the one that is visited, which is the last
	calls   []Task   // calls[n] is the call in callers[n] that leads on
}

func (r *recursion) visit(name string) {
	if first := slices.Index(r.callers, name); first >= 0 {
		r.report(r.callers[first:], r.calls[first:])
		return
	}
	if r.visited[name] {
		return
	}
	r.visited[name] = true
	r.callers = append(r.callers, name)
	r.c.eachCertain(TaskList{r.c.w.Use.Functions[name]}, uncaughtLists, func(t Task) {
		function := t.Traits().Function
		if r.c.w.Use.Functions[function] == nil {
			return
		}
		r.calls = append(r.calls, t)
		r.visit(function)
		r.calls = r.calls[:len(r.calls)-1]
	})
	r.callers = r.callers[:len(r.callers)-1]
}

// report reports the functions of a circle: each calls the next one, and the last one calls the first.
func (r *recursion) report(circle []string, calls []Task) {
	const longest = 200
	at := calls[0].Base().Pointer.Key("call")
	d := Diagnostic{
		Code: "SW206", Pointer: at, Range: r.c.w.Source.Value(at),
		Message: fmt.Sprintf("the function `%s` calls itself each time that it is called, without end", circle[0]),
		Help:    "have an `if` or a `switch` decide whether it calls itself again",
	}
	if len(circle) > 1 {
		d.Message += ", by way of " + shorten.To("`"+strings.Join(circle[1:], "`, `")+"`", longest)
		last := calls[len(calls)-1].Base().Pointer.Key("call")
		d.Related = related(r.c.w.Source.Value(last), "here it is called again")
	}
	r.c.add(d)
}

// uncaughtLists returns the lists of a task that run each time, except those of a try: its catch may end a recursion.
func uncaughtLists(t Task) []TaskList {
	if _, is := t.(*TryTask); is {
		return nil
	}
	return certainLists(t)
}
