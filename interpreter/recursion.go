package interpreter

import (
	"fmt"
	"slices"
	"strings"

	"github.com/swrun/swrun/dsl"
	"github.com/swrun/swrun/errors"
)

// remoteCalls are the calls of remote functions in a document. Functions are named by their pointers.
type remoteCalls struct {
	places  map[dsl.Pointer]string // the places of the functions
	tasks   map[string]dsl.Task    // of the functions
	called  map[dsl.Task]string    // the function that a call names
	callers map[string]dsl.Pointer // the first task of the document from which a function is called
}

func newRemoteCalls() *remoteCalls {
	return &remoteCalls{places: map[dsl.Pointer]string{}, tasks: map[string]dsl.Task{}, called: map[dsl.Task]string{}, callers: map[string]dsl.Pointer{}}
}

// at returns the pointer of the function at a place that a call names by a URI. States of runs contain the pointer. It is the pointer of the URI,
// unless that pointer belongs to a function at another place that the same relative URI named before.
func (r *remoteCalls) at(uri, place string) dsl.Pointer {
	at := dsl.RemoteFunction(uri)
	for n := 1; ; n++ {
		if of, taken := r.places[at]; !taken || of == place {
			r.places[at] = place
			return at
		}
		if at = dsl.RemoteFunction(place); n > 1 { // another call has named it by this place
			at = dsl.RemoteFunction(fmt.Sprintf("%s#%d", place, n))
		}
	}
}

// note notes a call of the function at a pointer. Caller is the task of the document that leads to the function that makes the call; it is empty if
// the document itself makes the call.
func (r *remoteCalls) note(call dsl.Task, at, caller dsl.Pointer) {
	r.called[call] = string(at)
	if caller == "" {
		caller = call.Base().Pointer
	}
	if r.callers[string(at)] == "" {
		r.callers[string(at)] = caller
	}
}

// checkRecursion reports remote functions that call themselves without end, at the call of the document that leads to them. Package dsl checks
// functions of the document: no remote function can call them.
func (c *compiler) checkRecursion() {
	if len(c.workflow.Use.Extensions) > 0 { // an extension may end the workflow before any call
		return
	}
	functions := dsl.Functions{Tasks: c.remote.tasks, Calls: func(t dsl.Task) string { return c.remote.called[t] }}
	for _, circle := range functions.Circles() {
		names := make([]string, len(circle))
		for n, one := range circle {
			names[n] = shownFunction(c.remote.places[dsl.Pointer(one.Function)])
		}
		d := dsl.Recursion(c.remote.callers[circle[0].Function].Key("call"), names)
		known := slices.ContainsFunc(c.diagnostics, func(k dsl.Diagnostic) bool { return k.Code == d.Code && k.Pointer == d.Pointer })
		if source := c.workflow.Source; !known && !source.Ignores(d.Code, source.Value(d.Pointer).Start.Line) {
			c.add(d)
		}
	}
}

// shownFunction returns the name of the function at a URI for messages: its place in the default catalog, or the URI.
func shownFunction(uri string) string {
	if file, ok := strings.CutPrefix(uri, "catalog:/functions/"); ok {
		if parts := strings.Split(file, "/"); len(parts) == 3 {
			return parts[0] + ":" + parts[1]
		}
	}
	return errors.MaskURL(uri)
}
