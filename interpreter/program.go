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
	// definitions are the parts of the document that expressions can see: the whole document at the empty pointer, and each task, if any expression uses
	// $workflow or $task.
	definitions map[dsl.Pointer]any
	places      map[*expr.Code]dsl.Pointer  // the place of each expression
	redacted    *redact.Cache               // the values of the secrets that it declares
	needs       []string                    // of its tasks
	texts       map[dsl.Pointer]*dsl.Source // of remote functions, by their pointers
	namesQueue  bool                        // the document or one of its tasks names a queue
	runs        []WorkflowRun               // by its tasks
}

// ErrorAliases returns, for types of errors, the types as which catches read them.
func (p *Program) ErrorAliases() errors.Aliases { return p.config.ErrorAliases }

// Config contains the parts of the host that a program needs. The zero value knows no kind of task and no secret.
type Config struct {
	Kinds   []Kind
	Secrets Secrets // nil: no secret is available
	// FormerSecrets returns the earlier values of a secret in the life of this process. They are hidden too. If it is nil, no secret had another value.
	FormerSecrets func(name string) []any
	// RefusesSecret reports that the workflow may not use a secret although a secret of that name exists. A task that names it fails, and Secrets must
	// not return it. If it is nil, no secret is refused.
	RefusesSecret func(name string) bool
	// LeaveSecrets makes tasks wait for a driver that holds the secrets which they name (Result.Lacks). Otherwise such tasks fail.
	LeaveSecrets bool
	Load         Loader // nil: no external resource can be read
	Limits       limits.Set
	// Places are the places for evaluations that build much data, which programs share. If it is nil, their number is not bounded.
	Places *expr.Places

	// ErrorBase is the base of the standard error types that tasks raise: errors.Base unless set.
	ErrorBase string
	// ErrorAliases are, for types of errors, the types as which catches read them.
	ErrorAliases errors.Aliases
	// Runtime is the descriptor that expressions see as $runtime: name, version, metadata.
	Runtime map[string]any
}

// Secrets returns the value of a secret that the workflow declares, and whether the secret exists.
type Secrets func(name string) (value any, ok bool)

// ErrNotFetched is the error of a Loader for a resource that it is not allowed to fetch. Compile then checks everything except the content of the
// resource, and reports that. The program must not be run.
var ErrNotFetched = errors.New("it is not fetched here")

// Loader reads an external resource, and returns when ctx ends; uri is absolute, or relative to the workflow's own file.
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
	// name identifies the list among the lists of its owner, as a pointer below the owner: do, try, catch/do, fork/branches. It is never empty: a name
	// distinguishes stored frames of lists from other frames.
	name  string
	tasks []*node
	owner *node // nil for the workflow's own list and for functions
	// absolute reports that the list is at another place in the document than its owner, as the list of an extension is. The pointers of its tasks then
	// do not begin with the owner's pointer.
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

// find returns the task of l at origin, or nil.
func (l *List) find(origin dsl.Pointer) *node {
	for _, n := range l.tasks {
		if n.origin == origin {
			return n
		}
	}
	return nil
}

// task returns the task of l at origin, and panics if there is no such task.
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

// inlined reports whether l is a function, which runs as if it were at the place of its call.
func (l *List) inlined() bool { return l.name == callList }

// callList is the name of the list that holds the task of a called function.
const callList = "call"

// node is one compiled task.
type node struct {
	task       dsl.Task
	kind       *Kind
	body       Body
	origin     dsl.Pointer // place in the document
	pointer    dsl.Pointer // as errors show it; relative to the call for tasks inside a function
	segment    string      // its part of a path, after the path of the task that contains it
	condition  *expr.Code
	input      transform
	output     transform
	export     transform
	timeout    *Duration
	then       Jump
	lists      []*List
	extensions []*extension
	secrets    []string      // that its expressions name
	detaches   bool          // it requests an effect that no task waits for
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
	Index     int // of the next task, for dsl.DirectiveTask

	// unwinding reports that a child ended the workflow: only output.as and export.as of this task follow (semantics 4.5).
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
	property string         // that contains the code
}

// Eval returns the duration, or an error if its expression yields no duration.
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

// Performer returns the performer of a kind, or nil if the kind needs no performer.
func (p *Program) Performer(k dsl.Kind) Performer { return p.kind(k).Perform }

func (p *Program) kind(k dsl.Kind) Kind {
	for i := range p.config.Kinds {
		if p.config.Kinds[i].Kind == k {
			return p.config.Kinds[i]
		}
	}
	return Kind{}
}
