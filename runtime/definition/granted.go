package definition

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/swrun/swrun/interpreter"
)

// Granted lists the namespaces whose workflows and runs a caller may use. Nil means all namespaces; an empty list means no namespace.
type Granted []string

type grantedKey struct{}

// WithGranted returns a context in which only some namespaces may be used: an engine refuses to deploy, start, command or read anything in
// another one, and to deploy or start a document whose tasks run workflows of another one. Nil takes such a limit away.
func WithGranted(ctx context.Context, g Granted) context.Context {
	return context.WithValue(ctx, grantedKey{}, g)
}

// GrantedIn returns the value set by WithGranted; nil, which means all namespaces, for a context without a limit.
func GrantedIn(ctx context.Context) Granted {
	g, _ := ctx.Value(grantedKey{}).(Granted)
	return g
}

// Has reports whether a namespace may be used.
func (g Granted) Has(namespace string) bool { return g == nil || slices.Contains(g, namespace) }

// Check returns a *ForeignError if a workflow is in a namespace that may not be used.
func (g Granted) Check(workflow Reference) error {
	if g.Has(workflow.Namespace) {
		return nil
	}
	return &ForeignError{Workflow: workflow, Granted: g}
}

// CheckAll returns a *ForeignError unless all namespaces may be used, for operations that concern all of them.
func (g Granted) CheckAll() error {
	if g == nil {
		return nil
	}
	return &ForeignError{Granted: g}
}

// CheckDefinition returns a *ForeignError if a definition is in a namespace that may not be used, or if one of its tasks runs a workflow of
// such a namespace. The tasks of the functions that it calls count too.
func (g Granted) CheckDefinition(d Definition, compile Compile) error {
	if g == nil {
		return nil
	}
	r, err := d.Reference()
	if err == nil {
		err = g.Check(r)
	}
	if err != nil {
		return err
	}
	p, err := compile(d)
	if err != nil {
		return err
	}
	for _, child := range ChildrenOf(p) {
		if !g.Has(child.Namespace) {
			return &ForeignError{Workflow: child, Task: true, Granted: g}
		}
	}
	return nil
}

// ChildrenOf returns the distinct workflows that the tasks of a program run or continue as, including tasks in functions.
func ChildrenOf(p *interpreter.Program) (all []Reference) {
	for _, r := range p.Runs() {
		all = append(all, Reference{Namespace: r.Namespace, Name: r.Name, Version: r.Version})
	}
	slices.SortFunc(all, func(a, b Reference) int { return strings.Compare(a.String(), b.String()) })
	return slices.Compact(all)
}

// ForeignError reports that a namespace is needed that was not granted.
type ForeignError struct {
	Workflow Reference // the requested workflow; zero for operations that concern all namespaces
	Task     bool      // a task of the document runs it
	Granted  Granted
}

// Error names the requested and the granted namespaces.
func (e *ForeignError) Error() string {
	granted := "no namespace is granted"
	if len(e.Granted) > 0 {
		granted = "only these namespaces are granted: " + strings.Join(e.Granted, ", ")
	}
	switch {
	case e.Task:
		return fmt.Sprintf("a task runs the workflow %s, and %s", e.Workflow, granted)
	case e.Workflow.Namespace == "":
		return "this is about all namespaces, and " + granted
	case e.Workflow.Name == "":
		return fmt.Sprintf("this is about the namespace %s, and %s", e.Workflow.Namespace, granted)
	}
	return fmt.Sprintf("this is about the workflow %s, and %s", e.Workflow, granted)
}

// Help returns the remedy.
func (e *ForeignError) Help() string {
	if e.Workflow.Namespace == "" {
		return "ask as somebody to whom all namespaces are granted (swrun token new --all-namespaces)"
	}
	return "ask as somebody to whom the namespace " + e.Workflow.Namespace + " is granted too (swrun token new -n)"
}
