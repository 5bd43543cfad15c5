package interpreter

import (
	"context"
	"fmt"
	"slices"

	"github.com/swrun/swrun/dsl"
	"github.com/swrun/swrun/errors"
	"github.com/swrun/swrun/expr"
	"github.com/swrun/swrun/limits"
	"github.com/swrun/swrun/redact"
)

// Program is a workflow that is ready to run. It is read-only and shared by all of its runs.
type Program struct {
	Workflow *dsl.Workflow

	config  Config
	root    *List
	input   transform
	output  transform
	timeout *Duration
	// definitions are the parts of the document that expressions can see: the whole by the empty pointer, and each
	// task, if any expression uses $workflow or $task.
	definitions map[dsl.Pointer]any
	places      map[*expr.Code]dsl.Pointer  // where each expression stands
	redacted    *redact.Cache               // the values of the secrets that it declares
	needs       []string                    // of its tasks
	texts       map[dsl.Pointer]*dsl.Source // of remote functions, by their pointers
	namesQueue  bool                        // the document or one of its tasks does
	runs        []WorkflowRun               // by its tasks
}

// ErrorAliases returns what types of errors are read as where they are caught.
func (p *Program) ErrorAliases() errors.Aliases { return p.config.ErrorAliases }

// Config is what a program needs from its host. The zero value knows no kind of task and no secret.
type Config struct {
	Kinds   []Kind
	Secrets Secrets // nil: no secret is available
	// FormerSecrets returns the values that a secret had before while this process ran: they are hidden too. Nil: none had another one.
	FormerSecrets func(name string) []any
	// RefusesSecret reports that the workflow may not use a secret, although there is one of that name: a task that names it fails. Secrets must not
	// return such a one. Nil refuses none.
	RefusesSecret func(name string) bool
	// LeaveSecrets has tasks wait for a driver that has the secrets which they name (Result.Lacks), where they would fail otherwise.
	LeaveSecrets bool
	Load         Loader // nil: no external resource can be read
	Limits       limits.Set

	// ErrorBase is the base of the standard error types that tasks raise: errors.Base unless set.
	ErrorBase string
	// ErrorAliases are what types of errors are read as where errors are caught.
	ErrorAliases errors.Aliases
	// Runtime is the descriptor that expressions see as $runtime: name, version, metadata.
	Runtime map[string]any
}

// Secrets returns the value of a secret that the workflow declares, and whether there is one.
type Secrets func(name string) (value any, ok bool)

// ErrNotFetched is what a Loader returns for a resource that it is not allowed to fetch. Compile then checks everything but
// what the resource contains, and says so; the program must not be run.
var ErrNotFetched = errors.New("it is not fetched here")

// Loader reads an external resource, and gives up when ctx ends; uri is absolute, or relative to the workflow's own file.
type Loader func(ctx context.Context, uri string) (Resource, error)

// Resource is an external resource as it was read.
type Resource struct {
	Data []byte
	// Place is the URL without query that relative references in the resource start from (RFC 3986, section 5.1.3). It is empty if that is the URI that
	// the Loader was called with: no server has redirected the request.
	Place string
}

// List is a compiled list of tasks: one of a task's own lists, or the workflow's.
type List struct {
	// name is which list of its owner it is, as a pointer below the owner: do, try, catch/do, fork/branches. It is never
	// empty: only stored frames of lists have it.
	name  string
	tasks []*node
	owner *node // nil for the workflow's own list and for functions
	// absolute says that the list stands elsewhere in the document than its owner, as an extension's does, so that the pointers
	// of its tasks do not begin with the owner's.
	absolute bool
}

// Len returns the number of tasks in l.
func (l *List) Len() int { return len(l.tasks) }

// Names returns the names of the tasks in l.
func (l *List) Names() (all []string) {
	for _, n := range l.tasks {
		tokens := n.origin.Tokens()
		all = append(all, tokens[len(tokens)-1])
	}
	return all
}

// find returns the task of l that stands at origin, or nil.
func (l *List) find(origin dsl.Pointer) *node {
	for _, n := range l.tasks {
		if n.origin == origin {
			return n
		}
	}
	return nil
}

// task returns the task of l that stands at origin, and panics if there is none.
func (l *List) task(origin dsl.Pointer) *node {
	if l != nil {
		if n := l.find(origin); n != nil {
			return n
		}
	}
	panic(otherDefinition(origin))
}

func otherDefinition(origin dsl.Pointer) string {
	return fmt.Sprintf("the program has no task %s there: the state belongs to another definition", origin)
}

// inlined reports whether l is a function, which runs as if it stood where it is called.
func (l *List) inlined() bool { return l.name == callList }

// callList is the name of the list that holds the task of a called function.
const callList = "call"

// node is one compiled task.
type node struct {
	task       dsl.Task
	kind       *Kind
	body       Body
	origin     dsl.Pointer // where it stands in the document
	pointer    dsl.Pointer // as errors show it; relative to the call for tasks inside a function
	segment    string      // what it adds to the path of the task that it belongs to
	condition  *expr.Code
	input      transform
	output     transform
	export     transform
	timeout    *Duration
	then       Jump
	lists      []*List
	extensions []*extension
	secrets    []string      // that its expressions name
	detaches   bool          // it asks for an effect that nobody waits for
	soft       *dsl.Duration // metadata.swrun.softDeadline
	atMostOnce bool          // metadata.swrun.delivery is at-most-once
	needs      []string      // to perform its effects, beside its queue
}

// list returns the node's list of that name, or nil.
func (n *node) list(name string) *List {
	if i := slices.IndexFunc(n.lists, func(l *List) bool { return l.name == name }); i >= 0 {
		return n.lists[i]
	}
	return nil
}

// transform reshapes a value and validates it.
type transform struct {
	schema *Schema
	value  *expr.Template // nil leaves the value as it is
}

func (t transform) apply(s *Scope, v any) (any, *errors.Error) {
	if t.value == nil {
		return v, nil
	}
	return s.Eval(t.value, v)
}

// extension is a compiled extension; before and after may be nil.
type extension struct {
	when          *expr.Code
	before, after *List
}

// Jump is a resolved flow directive.
type Jump struct {
	Directive dsl.Directive
	Index     int // of the task to go on with, for dsl.DirectiveTask

	// unwinding says that a child has ended the workflow: of this task only output.as and export.as follow (semantics 4.5).
	unwinding bool
}

func (j *Jump) stored(o *object) {
	number(o, "d", &j.Directive)
	number(o, "i", &j.Index)
}

// Duration is a compiled duration.
type Duration struct {
	literal  dsl.Duration
	code     *expr.Template // nil for a literal
	property string         // that the code stands in
}

// Eval returns the duration, or an error if its expression yields none.
func (d *Duration) Eval(s *Scope, input any) (dsl.Duration, *errors.Error) {
	if d.code == nil {
		return d.literal, nil
	}
	v, err := d.code.Eval(s, input)
	if err != nil {
		return dsl.Duration{}, s.evalError(err)
	}
	yielded, err := dsl.DurationValue(v)
	var negative *dsl.NegativeError
	switch {
	case err == nil:
		return yielded, nil
	case errors.As(err, &negative): // (semantics 9.4)
		return dsl.Duration{}, s.withCode(errors.Validationf("`%s`: %s", d.property, err), d.code.CodeAt(), input)
	}
	return dsl.Duration{}, s.withCode(errors.Expressionf("`%s`: %s", d.property, err), d.code.CodeAt(), input)
}

// Performer returns the performer of a kind, or nil if it has none.
func (p *Program) Performer(k dsl.Kind) Performer { return p.kind(k).Perform }

func (p *Program) kind(k dsl.Kind) Kind {
	for i := range p.config.Kinds {
		if p.config.Kinds[i].Kind == k {
			return p.config.Kinds[i]
		}
	}
	return Kind{}
}
