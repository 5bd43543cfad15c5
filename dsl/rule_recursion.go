package dsl

import (
	"fmt"
	"slices"
	"strings"

	"github.com/swrun/swrun/internal/shorten"
)

// checkRecursion: SW206, functions that call themselves each time that they are called, directly or through other functions.
func checkRecursion(c *checker) {
	if len(c.w.Use.Extensions) > 0 { // an extension may end the workflow before any call
		return
	}
	functions := Functions{Tasks: map[string]Task{}, Calls: func(t Task) string { return t.Traits().Function }}
	for name, task := range c.w.Use.Functions {
		functions.Tasks[name] = task
	}
	for _, circle := range functions.Circles() {
		c.reportCircle(circle)
	}
}

// Functions are functions that may call each other.
type Functions struct {
	Tasks map[string]Task
	Calls func(t Task) string // the name of the function that a task calls
}

// CertainCall is a function, and a call in it that happens each time.
type CertainCall struct {
	Function string
	Call     Task
}

// Circles returns the functions that call themselves each time that they are called: in each circle a function calls the next function, and the last
// function calls the first. A document with extensions has no circles, since an extension may end the workflow before any call; the caller checks for
// extensions.
func (f Functions) Circles() [][]CertainCall {
	r := recursion{Functions: f, c: &checker{w: &Workflow{}}, visited: map[string]bool{}}
	for _, name := range sortedKeys(f.Tasks) {
		r.visit(name)
	}
	return r.circles
}

// recursion follows the calls that happen each time, and visits each function once.
type recursion struct {
	Functions
	c       *checker
	visited map[string]bool
	path    []CertainCall // the calls that lead to the visited function
	circles [][]CertainCall
}

func (r *recursion) visit(name string) {
	if first := slices.IndexFunc(r.path, func(c CertainCall) bool { return c.Function == name }); first >= 0 {
		r.circles = append(r.circles, slices.Clone(r.path[first:]))
		return
	}
	if r.visited[name] {
		return
	}
	r.visited[name] = true
	r.c.eachCertain(TaskList{r.Tasks[name]}, uncaughtLists, func(t Task) {
		called := r.Calls(t)
		if r.Tasks[called] == nil {
			return
		}
		r.path = append(r.path, CertainCall{name, t})
		r.visit(called)
		r.path = r.path[:len(r.path)-1]
	})
}

// reportCircle reports functions of the document that call each other without end.
func (c *checker) reportCircle(circle []CertainCall) {
	at := circle[0].Call.Base().Pointer.Key("call")
	names := make([]string, len(circle))
	for n, one := range circle {
		names[n] = one.Function
	}
	d := Recursion(at, names)
	d.Range = c.w.Source.Value(at)
	if len(circle) > 1 {
		last := circle[len(circle)-1].Call.Base().Pointer.Key("call")
		d.Related = related(c.w.Source.Value(last), "here it is called again")
	}
	c.add(d)
}

// Recursion returns the diagnostic about functions of which each calls the next, and the last calls the first.
func Recursion(at Pointer, names []string) Diagnostic {
	const longest = 200
	d := Diagnostic{
		Code: "SW206", Severity: SeverityWarning, Pointer: at,
		Message: fmt.Sprintf("the function `%s` calls itself each time that it is called, without end", shorten.To(names[0], longest)),
		Help:    "have an `if` or a `switch` decide whether it calls itself again",
	}
	if len(names) > 1 {
		d.Message += ", by way of " + shorten.To("`"+strings.Join(names[1:], "`, `")+"`", longest)
	}
	return d
}

// uncaughtLists returns the lists of a task that run each time, except the lists of a try: its catch may end a recursion.
func uncaughtLists(t Task) []TaskList {
	if _, is := t.(*TryTask); is {
		return nil
	}
	return certainLists(t)
}
