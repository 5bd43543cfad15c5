// Package client starts runs of deployed workflows, awaits, commands, lists and describes them, through a store alone. The
// commands and the library use it. It never runs anything: workers do.
package client

import (
	"context"
	"crypto/rand"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/oklog/ulid/v2"

	"github.com/swrun/swrun/errors"
	"github.com/swrun/swrun/internal/shorten"
	"github.com/swrun/swrun/interpreter"
	"github.com/swrun/swrun/limits"
	"github.com/swrun/swrun/runtime/definition"
	"github.com/swrun/swrun/runtime/execution"
	"github.com/swrun/swrun/runtime/inbox"
	"github.com/swrun/swrun/runtime/presence"
	"github.com/swrun/swrun/runtime/settings"
	"github.com/swrun/swrun/runtime/store"
)

// Config configures a client. Store is required.
type Config struct {
	Store   store.Store
	Compile definition.Compile // needed for Describe, for starts whose timeouts count from when they are accepted, and to refuse inputs at a start
	Nonce   func() string      // default random; ids of commands
	Now     func() time.Time   // default time.Now; only differences of it count
	// Workers returns the workers that are there; nil if that is not known.
	Workers func(ctx context.Context) ([]presence.Worker, error)
	// Deploying is called before a definition is deployed, and its error prevents the deployment; nil for nothing to do then.
	Deploying func(ctx context.Context, d definition.Definition) error
	// Deployed is called when a definition was deployed; nil for nothing to do then.
	Deployed func(ctx context.Context, d definition.Definition) error
	// Limits are the limits of a start.
	Limits limits.Set
	// ErrorAliases map types of errors to the types under which runs are listed.
	ErrorAliases errors.Aliases
}

// Client starts runs and asks about them.
type Client struct {
	store    store.Store
	nonce    func() string
	workers  func(ctx context.Context) ([]presence.Worker, error)
	limits   limits.Set
	aliases  errors.Aliases
	compile  definition.Compile // nil if no definition can be compiled
	programs *definition.Programs
	// deploying and deployed are called before and after a deployment.
	deploying, deployed func(ctx context.Context, d definition.Definition) error

	settings *settings.Cache
}

// New returns a client.
func New(c Config) *Client {
	if c.Nonce == nil {
		c.Nonce = rand.Text
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	nothing := func(context.Context, definition.Definition) error { return nil }
	if c.Deploying == nil {
		c.Deploying = nothing
	}
	if c.Deployed == nil {
		c.Deployed = nothing
	}
	return &Client{deploying: c.Deploying, deployed: c.Deployed, store: grantedStore{c.Store}, nonce: c.Nonce, workers: c.Workers, limits: c.Limits, aliases: c.ErrorAliases, compile: c.Compile, programs: definition.NewPrograms(c.Store, c.Compile), settings: settings.NewCache(c.Store, c.Now)}
}

// StartOptions are the options of a start besides workflow and input (promises.md 1 to 15).
type StartOptions struct {
	ID                 string // of the run; a new one if empty
	OnDuplicate        string // effect of an existing run with the same ID: reject (default) or return-existing
	BusinessKey        string
	Labels             map[string]string
	ExecutionTimeout   time.Duration // of the whole execution, at least a second; replaces the document's
	RunTimeout         time.Duration // of one run, at least a second
	Deadline           time.Time     // of the whole execution
	Delay              time.Duration // before it starts
	TimeoutsFromAccept bool          // the timeouts count from now, and not from when a worker takes the run
	// Reserved reserves the effects of the run, and of the runs that it waits for, for workers that work on this run only. Other workers
	// still enforce its deadlines.
	Reserved bool
	// Cause is the first of the runs that have led to this one, if events of theirs have; nil otherwise.
	Cause *store.Instance
}

// The values of OnDuplicate.
const (
	OnDuplicateReject         = "reject"
	OnDuplicateReturnExisting = "return-existing"
	// OnDuplicateReturnActive returns the existing run only while it is in progress. A run that ended is a conflict.
	OnDuplicateReturnActive = "return-existing-active"
)

// DuplicatePolicies returns the values of OnDuplicate.
func DuplicatePolicies() []string {
	return []string{OnDuplicateReject, OnDuplicateReturnExisting, OnDuplicateReturnActive}
}

// ReadDuplicatePolicy returns the value of OnDuplicate that a text means: other systems write ReturnExistingActive or RETURN_EXISTING_ACTIVE. A text
// that means none is returned as it is, and StartOptions.Check reports it.
func ReadDuplicatePolicy(text string) string {
	plain := func(s string) string { return strings.ToLower(strings.NewReplacer("-", "", "_", "").Replace(s)) }
	for _, policy := range DuplicatePolicies() {
		if plain(policy) == plain(text) {
			return policy
		}
	}
	return text
}

// OptionError is a start option that cannot be.
type OptionError struct {
	Field  string // as in the start's JSON: executionTimeout, runTimeout, deadline, delay, onDuplicate, id
	Detail string
	Limit  *errors.Error // if it is larger than it may be: which limit, its value and the maximum
}

func (e *OptionError) Error() string { return e.Field + ": " + e.Detail }

// Unwrap returns the error of the limit, if it is one.
func (e *OptionError) Unwrap() error {
	if e.Limit == nil {
		return nil
	}
	return e.Limit
}

// CheckTimeout reports a timeout that a start cannot ask for.
func CheckTimeout(field string, d time.Duration) error {
	if d < settings.MinTimeout {
		return &OptionError{Field: field, Detail: fmt.Sprintf("must be at least %s, got %s", settings.MinTimeout, d)}
	}
	return nil
}

// Late reports whether the deadline has passed already, and since when.
func (o StartOptions) Late(now time.Time) (by time.Duration, late bool) {
	by = now.Sub(o.Deadline)
	return by, !o.Deadline.IsZero() && by >= 0
}

// Check reports the first option that cannot be.
func (o StartOptions) Check() error {
	for field, d := range map[string]time.Duration{"executionTimeout": o.ExecutionTimeout, "runTimeout": o.RunTimeout} {
		if d == 0 || d == NoTimeout {
			continue
		}
		if err := CheckTimeout(field, d); err != nil {
			return err
		}
	}
	switch {
	case o.Delay < 0:
		return &OptionError{Field: "delay", Detail: fmt.Sprintf("must not be negative, got %s", o.Delay)}
	case o.OnDuplicate != "" && !slices.Contains(DuplicatePolicies(), o.OnDuplicate):
		return &OptionError{Field: "onDuplicate", Detail: fmt.Sprintf("must be %s, got %s", oneOf(DuplicatePolicies()), shorten.Quoted(o.OnDuplicate))}
	}
	return nil
}

// Begun is the answer to a start.
type Begun struct {
	store.Instance
	Again bool // the run was there already
}

// Start starts a run of a workflow that has been deployed.
func (c *Client) Start(ctx context.Context, r definition.Reference, input any, o StartOptions) (store.Instance, error) {
	begun, err := c.Begin(ctx, r, input, o)
	return begun.Instance, err
}

// Begin is Start that also reports whether the run existed already.
func (c *Client) Begin(ctx context.Context, r definition.Reference, input any, o StartOptions) (Begun, error) {
	reference, digest, err := definition.Resolve(ctx, c.store, r)
	if err != nil {
		return Begun{}, err
	}
	return c.begin(ctx, reference, digest, input, o)
}

// StartDefinition starts a run of a definition, whether or not it is deployed under its name. If there is an
// instance with the same id, definition, input and options already, it is returned.
func (c *Client) StartDefinition(ctx context.Context, d definition.Definition, input any, o StartOptions) (store.Instance, error) {
	if err := c.CheckGranted(ctx, d); err != nil {
		return store.Instance{}, err
	}
	reference, err := d.Reference()
	if err != nil {
		return store.Instance{}, err
	}
	digest, err := definition.Put(ctx, c.store, reference.Namespace, d)
	if err != nil {
		return store.Instance{}, err
	}
	begun, err := c.begin(ctx, reference, digest, input, o)
	return begun.Instance, err
}

func (c *Client) begin(ctx context.Context, r definition.Reference, digest string, input any, o StartOptions) (Begun, error) {
	if err := o.check(input, c.limits); err != nil {
		return Begun{}, err
	}
	if o.ID == "" {
		o.ID = newID()
	}
	i := store.Instance{Namespace: r.Namespace, ID: o.ID}
	if err := i.Check(); err != nil {
		return Begun{Instance: i}, NewOptionError("id", err)
	}
	if input == nil {
		input = map[string]any{}
	}
	info := execution.Invocation{
		Workflow: r, Definition: digest, Input: interpreter.Value{V: input}, BusinessKey: o.BusinessKey, Labels: o.Labels,
		ExecutionTimeout: o.ExecutionTimeout, RunTimeout: o.RunTimeout, Deadline: o.Deadline,
		TimeoutsFromAccept: o.TimeoutsFromAccept, TraceParent: TraceParent(ctx), Actor: Actor(ctx), Cause: o.Cause,
	}
	if o.Reserved {
		info.Reserved = &i
	}
	if err := text("actor", limits.Actor, info.Actor, c.limits); err != nil {
		return Begun{Instance: i}, err
	}
	started, err := c.start(ctx, i, info, o)
	returns := o.OnDuplicate == OnDuplicateReturnExisting || o.OnDuplicate == OnDuplicateReturnActive
	if returns && (store.RefusedAs(err) == store.Conflict || err == nil && started.Again) {
		return Begun{i, true}, c.same(ctx, i, r, o.OnDuplicate == OnDuplicateReturnActive)
	}
	if err == nil && started.Again && o.OnDuplicate == OnDuplicateReject {
		err = refused(i, "is there already")
	}
	return Begun{i, started.Again}, err
}

// same refuses a run of another workflow and, if only an active run counts, a run that ended.
func (c *Client) same(ctx context.Context, i store.Instance, r definition.Reference, active bool) error {
	l, err := c.store.Load(ctx, i)
	if err != nil {
		return err
	}
	info, err := execution.InvocationOf(i, l.Invocation)
	if err == nil && (info.Workflow.Namespace != r.Namespace || info.Workflow.Name != r.Name) {
		err = refused(i, "is there already, as one of %s", info.Workflow)
	}
	if err == nil && active && l.Lifecycle.Status.Final() {
		err = refused(i, "is there already, and has ended (%s)", l.Lifecycle.Reason)
	}
	return err
}

// oneOf writes texts as a choice: a, b or c.
func oneOf(all []string) string {
	last := len(all) - 1
	return strings.Join(all[:last], ", ") + " or " + all[last]
}

// newID returns a UUID of version 7 in the form of a ULID, which is shorter: ids sort by when they were made.
func newID() string { return ulid.ULID(uuid.Must(uuid.NewV7())).String() }

func (c *Client) start(ctx context.Context, i store.Instance, info execution.Invocation, o StartOptions) (store.Started, error) {
	var option *OptionError
	if err := c.bounded(ctx, i, &info, o.Delay); errors.As(err, &option) {
		if again, failed := c.again(ctx, i, info); again || failed != nil {
			return store.Started{Again: again}, failed
		}
		return store.Started{}, err
	} else if err != nil {
		return store.Started{}, err
	}
	if err := c.fitsUnlessThere(ctx, i, &info); err != nil {
		return store.Started{}, err
	}
	start, err := info.StartRequest(i, c.limits, c.store.Layout().Partitions)
	if err != nil {
		return store.Started{}, err
	}
	start.Delay, start.Asked = o.Delay, execution.AskedByEvent(o.Cause, c.limits)
	if info.TimeoutsFromAccept {
		if start.Timeout, err = c.shortest(ctx, i, info); err != nil {
			return store.Started{}, err
		}
	}
	started, err := c.store.Start(ctx, start)
	switch {
	case store.RefusedAs(err) == store.Conflict:
		if again, failed := c.again(ctx, i, info); again || failed != nil {
			return store.Started{Again: again}, failed
		}
	case store.RefusedAs(err) == store.TooMany && start.Asked.N > 0:
		return started, execution.AskedTooMuch(start.Asked, started.Asked, "this event")
	}
	return started, err
}

// shortest returns the shortest of the timeouts that count from the acceptance of a run; 0 without such timeouts.
func (c *Client) shortest(ctx context.Context, i store.Instance, info execution.Invocation) (shortest time.Duration, err error) {
	p, err := c.program(ctx, &info)
	if err != nil {
		return 0, err
	}
	work, err := c.store.Poll(ctx, i.Partition(c.store.Layout().Partitions), 1, false)
	if err != nil {
		return 0, err
	}
	start := info.Start(p, store.Lifecycle{Created: work.At, Started: work.At})
	begun, _ := interpreter.StateAtStart(p, info.NewState(i), start) // a timeout with a failing expression is ignored here: the run will report the error
	for _, d := range begun.Deadlines {
		if length := d.At.Sub(d.StartedAt); !d.Fixed && (shortest == 0 || length < shortest) {
			shortest = max(length, time.Millisecond)
		}
	}
	return shortest, nil
}

// Cancel requests the end of a run. Tasks in progress are cancelled, and children are handled as configured.
func (c *Client) Cancel(ctx context.Context, i store.Instance, reason string) error {
	return c.command(ctx, i, store.VerbCancel, inbox.Message{Type: interpreter.EventCancel, Reason: reason})
}

// Terminate ends a run and everything that it has started.
func (c *Client) Terminate(ctx context.Context, i store.Instance, reason string) error {
	return c.command(ctx, i, store.VerbTerminate, inbox.Message{Type: interpreter.EventCancel, Reason: reason, Terminated: true})
}

// Suspend prevents a run's tasks from starting. Deadlines continue to run.
func (c *Client) Suspend(ctx context.Context, i store.Instance, reason string) error {
	return c.command(ctx, i, store.VerbSuspend, inbox.Message{Type: interpreter.EventSuspend, Reason: reason})
}

// Resume lets a suspended run continue.
func (c *Client) Resume(ctx context.Context, i store.Instance, reason string) error {
	return c.command(ctx, i, store.VerbResume, inbox.Message{Type: interpreter.EventResume, Reason: reason})
}

// RetryNow starts the next attempt of waiting tasks immediately. A run without such a task is refused as a Conflict.
func (c *Client) RetryNow(ctx context.Context, i store.Instance, reason string) error {
	d, err := c.Describe(ctx, i)
	if err != nil {
		return err
	}
	if !d.Lifecycle.Status.Final() && !d.awaitsAttempt() {
		return notDelayed(i)
	}
	if err := c.retryActivitiesNow(ctx, i, d.delayedActivities()); err != nil {
		return err
	}
	return c.command(ctx, i, store.VerbRetryNow, inbox.Message{Type: interpreter.EventRetryNow, Reason: reason})
}

// awaitsAttempt reports whether a task of the run waits for its next attempt.
func (d *Description) awaitsAttempt() bool {
	waits := func(o interpreter.OpenTask) bool { return o.Retry }
	return len(d.delayedActivities()) > 0 || slices.ContainsFunc(d.OpenTasks, waits)
}

func notDelayed(i store.Instance) error {
	return refused(i, "does not wait for the next attempt of a task")
}

func (c *Client) command(ctx context.Context, i store.Instance, v store.Verb, m inbox.Message) error {
	if err := i.CheckSize(); err != nil {
		return err
	}
	return c.send(ctx, store.Command{To: i, Verb: v}, m)
}

// send gives a command its id, its actor and its message, and sends it.
func (c *Client) send(ctx context.Context, command store.Command, m inbox.Message) error {
	if err := text("reason", limits.Reason, m.Reason, c.limits); err != nil {
		return err
	}
	m.Actor = Actor(ctx)
	if err := text("actor", limits.Actor, m.Actor, c.limits); err != nil {
		return err
	}
	data, err := m.Encode()
	if err != nil {
		return err
	}
	command.ID, command.Message = c.nonce(), data
	return c.store.Command(ctx, command)
}
