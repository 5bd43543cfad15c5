package dsl

import "slices"

// Workflow is a whole document (DSL reference, "Workflow").
type Workflow struct {
	Document Document
	Input    *Input
	Use      Use
	Do       TaskList
	Timeout  *Timeout
	Output   *Output
	Schedule *Schedule
	Evaluate Evaluate

	Source *Source
}

// Document names and describes the workflow.
type Document struct {
	DSL       string // version of the DSL
	Namespace string
	Name      string
	Version   string // semantic version
	Title     string
	Summary   string
	Tags      map[string]any
	Metadata  map[string]any
	Engine    WorkflowEngine // what metadata.swrun says
}

// String returns namespace/name:version.
func (d Document) String() string { return d.Namespace + "/" + d.Name + ":" + d.Version }

// Use holds the workflow's reusable components by name.
type Use struct {
	Authentications map[string]*Authentication
	Catalogs        map[string]*Endpoint
	Errors          map[string]*ErrorDefinition
	Extensions      []*Extension
	Functions       map[string]Task
	Retries         map[string]*RetryPolicy
	Secrets         []string
	Timeouts        map[string]*Timeout
}

// Extension wraps tasks before and after the tasks it extends (semantics section 13).
type Extension struct {
	Pointer Pointer // /use/extensions/0/name
	Name    string
	Extend  string // call, composite, emit, for, listen, raise, run, set, switch, try, wait or all
	When    Expression
	Before  TaskList
	After   TaskList
}

// Extends reports whether the extension is one of a task's kind.
func (e *Extension) Extends(t Task) bool {
	return slices.Contains([]string{"all", string(t.Kind()), t.Traits().Group}, e.Extend)
}

// Schedule says when instances start by themselves.
type Schedule struct {
	Every *Duration
	Cron  string
	After *Duration
	On    *EventStrategy
	Read  string // data (default), envelope or raw
}

// Input transforms and validates what comes in.
type Input struct {
	Schema *Schema
	From   Value // an expression, or an object that holds some
}

// Output transforms and validates what goes out.
type Output struct {
	Schema *Schema
	As     Value // as Input.From
}

// Export replaces the workflow's context.
type Export struct {
	Schema *Schema
	As     Value // as Input.From
}

// ExternalResource is a document that lives somewhere else.
type ExternalResource struct {
	Pointer  Pointer
	Name     string
	Endpoint *Endpoint
}

// Endpoint is where something is reached: a URI template or an expression, and how to authenticate.
type Endpoint struct {
	Pointer        Pointer
	URI            Value // text: a literal URI, an RFC 6570 template or a ${ } expression
	Authentication *Authentication
}

// Authentication is a policy, or the name of one.
type Authentication struct {
	Pointer Pointer
	Use     Reference // in use.authentications; all else is empty then
	Scheme  string    // basic, bearer, digest, oauth2 or oidc
	Secret  Reference // to the secret that holds the properties (basic: {use: name})

	// Properties are the scheme's own as written, for example username and password; strings may hold ${ }.
	Properties Value
}

// Timeout bounds a scope. It is a definition or the name of one.
type Timeout struct {
	Pointer Pointer
	Use     Reference // in use.timeouts
	After   *Duration
}

// TimeoutAfter returns what a timeout says, or the one in use.timeouts that it names; nil if there is none.
func (w *Workflow) TimeoutAfter(t *Timeout) *Duration {
	if t != nil && t.Use.Name != "" {
		t = w.Use.Timeouts[t.Use.Name]
	}
	if t == nil {
		return nil
	}
	return t.After
}

// RetryPolicyOf returns the retry policy of a catch, or the one in use.retries that it names; nil if there is none.
func (w *Workflow) RetryPolicyOf(c *Catch) *RetryPolicy {
	if c.RetryUse.Name != "" {
		return w.Use.Retries[c.RetryUse.Name]
	}
	return c.Retry
}

// ErrorOf returns the error that a task raises, or the one in use.errors that it names; nil if that is not known.
func (w *Workflow) ErrorOf(t *RaiseTask) *ErrorDefinition {
	if t.Use.Data != nil {
		return w.Use.Errors[t.Use.Text()]
	}
	return t.Error
}

// ErrorDefinition describes an error to raise. Type, Title, Detail and Instance may be ${ } expressions.
type ErrorDefinition struct {
	Pointer  Pointer
	Type     string
	Status   any // whole number, or a ${ } expression that yields one
	Title    string
	Detail   string
	Instance string
}

// ErrorDefinitions returns the errors that a document defines, under use and where they are raised.
func (w *Workflow) ErrorDefinitions() (all []*ErrorDefinition) {
	(&walker{onError: func(e *ErrorDefinition) { all = append(all, e) }}).workflow(w, nil)
	return all
}

// ErrorFilter selects errors by equality of each member that is set.
type ErrorFilter struct {
	Pointer  Pointer
	Type     string
	Status   *int
	Title    *string
	Detail   *string
	Instance *string
}

// RetryPolicy says when and how often to try again.
type RetryPolicy struct {
	Pointer         Pointer
	When            Expression
	ExceptWhen      Expression
	Delay           *Duration
	Backoff         string // constant, linear or exponential; empty if absent: constant if there is a delay
	AttemptCount    *int   // limit.attempt.count: retries, the first try excluded; nil is unlimited
	AttemptDuration *Duration
	LimitDuration   *Duration
	JitterFrom      *Duration
	JitterTo        *Duration
}

// EventStrategy says which events to consume. Exactly one of All, Any, One is present.
type EventStrategy struct {
	Pointer    Pointer
	All        []*EventFilter
	Any        []*EventFilter
	One        *EventFilter
	Mode       string // all, any or one
	Until      Expression
	UntilEvent *EventStrategy
}

// EventFilter matches events by attribute and correlates them.
type EventFilter struct {
	Pointer   Pointer
	With      Value
	Correlate map[string]Correlation
}

// Correlation ties a value of an event to a value of the instance.
type Correlation struct {
	From   Expression // or the bare name of an attribute
	Expect Expression // or a literal
}

// Iterator handles consumed events or messages one by one.
type Iterator struct {
	Pointer Pointer
	Item    string // default item
	At      string // default index
	Do      TaskList
	Output  *Output
	Export  *Export
}
