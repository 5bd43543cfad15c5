package client

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/swrun/swrun/errors"
	"github.com/swrun/swrun/internal/shorten"
	"github.com/swrun/swrun/interpreter"
	"github.com/swrun/swrun/runtime/definition"
	"github.com/swrun/swrun/runtime/execution"
	"github.com/swrun/swrun/runtime/store"
)

// An execution consists of one or more runs in sequence. A store holds the state of the latest run; earlier runs are recorded in the
// history alone.

// LatestRun is how the latest run of an execution is asked for. The others are asked for by their numbers, counted from 1.
const LatestRun = "latest"

// ParseRunNumber reads which run of an execution is meant: 0 stands for the latest one, which an empty text means too.
func ParseRunNumber(text string) (int, error) {
	if text == "" || text == LatestRun {
		return 0, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 || strconv.Itoa(n) != text {
		return 0, &OptionError{Field: "run", Detail: "must be " + LatestRun + ", or the number of a run of the execution, counted from 1, and not " + shorten.Quoted(text)}
	}
	return n, nil
}

// RunNumbers are the numbers of the runs of an execution. A fork begins with the number of the run that it was forked from.
type RunNumbers struct{ First, Latest int }

// Refuse returns the refusal that an execution has no run of a number; nil if it has one.
func (r RunNumbers) Refuse(i store.Instance, number int) error {
	if number >= r.First && number <= r.Latest {
		return nil
	}
	there := fmt.Sprintf("its runs are %d to %d", r.First, r.Latest)
	if r.First == r.Latest {
		there = fmt.Sprintf("its only run is %d", r.Latest)
	}
	return &store.Refusal{Code: store.NoSuch, Detail: "execution " + i.String(), Reason: fmt.Sprintf("has no run %d: %s", number, there)}
}

// Continued is the status of a run of an execution that the next one has followed.
const Continued = "continued"

// EarlierRun is a run of an execution that the next one has followed.
type EarlierRun struct {
	Number  int                 // counted from 1
	Task    bool                // a task has continued the workflow as new; otherwise the history had become long
	Ended   time.Time           // when the next one began
	First   int                 // the first record of its history
	Last    int                 // the last one
	entries [2]int              // of the history that hold them
	now     *Description        // the execution as it is now
	of      interpreter.Version // that it had at its end
}

// EarlierRunError reports that an earlier run of an execution has no end of its own, because it continued as the next run.
type EarlierRunError struct {
	Run    store.Instance
	Number int
	Runs   RunNumbers
}

func (e *EarlierRunError) Error() string {
	return fmt.Sprintf("the run %d of %s has no output: it has continued as the run %d", e.Number, e.Run, e.Number+1)
}

// Help returns the remedy.
func (e *EarlierRunError) Help() string {
	return fmt.Sprintf("ask for the run %d, the latest one of this execution", e.Runs.Latest)
}

// RunNumbers returns the numbers of the runs that an execution has so far.
func (c *Client) RunNumbers(ctx context.Context, i store.Instance) (RunNumbers, error) {
	l, err := c.store.Load(ctx, i)
	if err != nil {
		return RunNumbers{}, err
	}
	info, err := execution.InvocationOf(i, l.Invocation)
	if err != nil {
		return RunNumbers{}, err
	}
	first, err := firstRun(i, info)
	if err != nil || l.State.Head == nil {
		return RunNumbers{first, first}, err
	}
	s, err := info.Restore(nil, i, l.State)
	if err != nil {
		return RunNumbers{}, err
	}
	return RunNumbers{first, s.RunNumber()}, nil
}

// firstRun returns the number of the run with which the history of an execution begins.
func firstRun(i store.Instance, info *execution.Invocation) (int, error) {
	if info.Fork == nil || info.Fork.State.Head == nil {
		return 1, nil
	}
	s, err := info.Restore(nil, i, info.Fork.State)
	if err != nil {
		return 0, err
	}
	return s.RunNumber(), nil
}

// DescribeRun describes one run of an execution; 0 means the latest. The description of an earlier run is limited to the content of the
// history: its time, its workflow, its input, and the deadlines at its end.
func (c *Client) DescribeRun(ctx context.Context, i store.Instance, number int) (*Description, error) {
	d, err := c.Describe(ctx, i)
	if err != nil || number == 0 || number == d.Runs.Latest {
		return d, err
	}
	if err := d.Runs.Refuse(i, number); err != nil {
		return nil, err
	}
	return c.describeEarlier(ctx, d, number)
}

// describeEarlier describes a run that the next one has followed; now is the execution as it is.
func (c *Client) describeEarlier(ctx context.Context, now *Description, number int) (*Description, error) {
	r := &earlierReader{run: &EarlierRun{Number: number, First: 1, now: now}, at: now.Runs.First, input: now.Invocation.Input.V, started: now.Lifecycle.Started}
	first := now.Invocation.First()
	r.next = interpreter.Version{Workflow: first.Workflow.String(), Definition: first.Definition}
	entry := 0
	_, err := c.History(ctx, now.Instance, 0, func(e HistoryEntry) error {
		if r.step(e.HistoryStep, entry) {
			return errFound
		}
		entry++
		return nil
	})
	if !errors.Is(err, errFound) {
		if err == nil {
			err = &store.Refusal{Code: store.Corrupt, Detail: "run " + now.Instance.String(), Reason: fmt.Sprintf("its history does not have the end of the run %d", number)}
		}
		return nil, err
	}
	return c.describeRead(ctx, r)
}

// errFound stops the reading of a history when the target was found.
var errFound = errors.New("it was found")

// earlierReader reads a history up to the end of one run of the execution.
type earlierReader struct {
	run     *EarlierRun
	at      int // the run that the records are of
	input   any
	started time.Time
	next    interpreter.Version // according to the records read so far
	told    interpreter.ToldDeadlines
}

// step reads a step of the history, and reports whether the run ends in it.
func (r *earlierReader) step(e interpreter.HistoryStep, entry int) bool {
	for n, ev := range e.Events {
		follows := interpreter.HistoryStep{Events: e.Events[n+1 : min(n+2, len(e.Events))]}
		switch {
		case ev.Type == interpreter.WorkflowContinued && r.at == r.run.Number:
			r.run.Ended, r.run.Last, r.run.entries[1] = ev.At, ev.Seq, entry
			r.run.Task = follows.Begins(interpreter.WorkflowStarted)
			return true
		case ev.Type == interpreter.WorkflowContinued:
			r.at++
			r.started, r.run.First, r.run.entries[0] = ev.At, ev.Seq+1, entry
		case ev.Type == interpreter.WorkflowStarted && r.at > 1: // the input of the first run was recorded at its start
			r.input = ev.Data
		case ev.Type == interpreter.WorkflowMigrated:
			m, _ := interpreter.HistoryStep{Events: e.Events[n : n+1]}.Migration()
			r.next = m.Of
		}
		if ev.Type != interpreter.WorkflowMigrated || !follows.Begins(interpreter.WorkflowContinued) { // otherwise it is the version of the next run
			r.run.of = r.next
		}
		r.told.Add(ev)
	}
	return false
}

// describeRead describes the run that was read.
func (c *Client) describeRead(ctx context.Context, r *earlierReader) (*Description, error) {
	now, run := r.run.now, r.run
	info, first := *now.Invocation, now.Invocation.First()
	workflow, err := definition.ParseReference(run.of.Workflow)
	if err != nil {
		return nil, fmt.Errorf("read the workflow of the run %d of %s: %w", run.Number, now.Instance, err)
	}
	info.Workflow, info.Definition, info.Began = workflow, run.of.Definition, nil
	if run.of.Definition != first.Definition {
		info.Began = &first
	}
	d := &Description{
		Instance: now.Instance, Invocation: &info, Status: Continued, At: run.Ended, Earlier: run, Runs: now.Runs, RunDeadlines: r.told.Run(),
		Lifecycle: store.Lifecycle{
			Status: interpreter.StatusRunning, Created: now.Lifecycle.Created, Started: r.started, Closed: run.Ended,
			Records: int64(run.Last - run.First + 1), Entries: int64(run.entries[1] + 1),
		},
	}
	if d.Program, err = c.program(ctx, &info); err != nil {
		return nil, err
	}
	d.State = info.NewState(now.Instance)
	d.State.Status, d.State.Input, d.State.Continued, d.State.Deadlines = interpreter.StatusRunning, r.input, run.Number-1, r.told.Run()
	for _, in := range r.told.InForce() {
		d.Deadlines = append(d.Deadlines, d.deadline(in))
	}
	d.Why = fmt.Sprintf("it has continued as the run %d of this execution at %s, %s.", run.Number+1, clockTime(run.Ended), run.cause())
	return d, nil
}

// cause describes the reason for the next run.
func (r *EarlierRun) cause() string {
	if r.Task {
		return "since a task has continued the workflow as new"
	}
	return "since its history had become long"
}

// refuses returns the permissions of an earlier run, which refuse every verb.
func (r *EarlierRun) refuses() []Permission {
	var all []Permission
	for _, verb := range PermissionVerbs() {
		all = append(all, Permission{Verb: verb, Reason: fmt.Sprintf("it has continued as the run %d; commands are for the latest run, %d", r.Number+1, r.now.Runs.Latest)})
	}
	return all
}

// FirstRecord returns the first record in the history of the described execution or earlier run.
func (d *Description) FirstRecord() int {
	if d.Earlier != nil {
		return d.Earlier.First
	}
	return 1
}

// RunNumber returns the number of the run that is described.
func (d *Description) RunNumber() int {
	if d.Earlier != nil {
		return d.Earlier.Number
	}
	return d.Runs.Latest
}
