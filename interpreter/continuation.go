package interpreter

import (
	"encoding/json"
	"slices"
	"strconv"
	"time"

	"github.com/swrun/swrun/errors"
	"github.com/swrun/swrun/expr"
	"github.com/swrun/swrun/limits"
	"github.com/swrun/swrun/redact"
)

// An execution has one run, or several that follow one another: by a task that continues as new, or because the history of a
// run has become long. Each has a number, a history and a run deadline of its own; the rest is the execution's.

// ContinueAsNew ends the run, and begins the next one of the execution with an input.
func ContinueAsNew(input any) Next { return Next{kind: nextContinue, value: input} }

// DefinitionRequest is the request of an effect of RouteDefinition: which definition a version of the run's own workflow has.
type DefinitionRequest struct {
	Version string `json:"version"` // a semantic version or "latest"
}

// ReadDefinitionRequest decodes the body of such a request.
func ReadDefinitionRequest(body json.RawMessage) (DefinitionRequest, *errors.Error) {
	var r DefinitionRequest
	if err := json.Unmarshal(body, &r); err != nil {
		return r, errors.Runtimef("the request for a definition cannot be decoded: %s", err)
	}
	return r, nil
}

// Successor is the definition that the next run of an execution has.
type Successor struct {
	From, Of Version  // what this run has, and the next one
	Program  *Program // of the next one
}

// findSuccessor takes in the definition that a task has asked for.
func (m *machine) findSuccessor(f *taskFrame, ev *Finished) {
	if f.node.kind.Route != RouteDefinition || ev.Error != nil {
		return
	}
	if m.successor = ev.Successor; m.successor == nil || m.successor.Program == nil {
		ev.Error = errors.Configurationf("the definition of the next run is not known")
		return
	}
	m.result.Withheld = true // whatever comes of it: the history does not hold the program
	ev.Result = map[string]any{"workflow": m.successor.Of.Workflow, "definition": m.successor.Of.Definition}
}

// RollOver begins the next run of the execution where this one stands, because its history has become long. Nothing is started again.
type RollOver struct{}

func (RollOver) event() {}

// RunNumber returns which run of its execution it is, counted from 1.
func (s *State) RunNumber() int { return s.Continued + 1 }

// HistoryEvents returns how many events the history of the run has.
func (s *State) HistoryEvents() int { return s.lastHistory - s.historyBase }

// continueAsNew ends what is in progress, and starts the workflow again with another input.
func (m *machine) continueAsNew(f *taskFrame, input any) {
	if err := m.checkSize(limits.Input, input); err != nil {
		m.fail(f, err)
		return
	}
	if err := m.p.config.Limits.Check(limits.Continuations, m.s.Unwaited+1); err != nil {
		m.fail(f, err)
		return
	}
	if err := m.checkHandover(input); err != nil {
		m.fail(f, err)
		return
	}
	m.cancelChildren(f)
	m.record(f.event(HistoryEvent{Type: TaskCompleted}))
	m.s.remove(f)
	m.cancelAll()
	input = m.handOver(input)
	s := m.s
	s.Input, s.Transformed, s.Context, s.contextChanged, s.Soft = input, nil, map[string]any{}, true, SoftDeadline{}
	s.Unwaited++
	m.beginRun(input)
	s.Soft.arm(m.p.Workflow.Document.Engine.SoftDeadline, m.now)
	m.workflowValue, m.runtimeValue = nil, nil
	m.record(HistoryEvent{Type: WorkflowStarted, Data: input, Deadlines: s.Deadlines})
	m.enterWorkflow(input)
}

// checkHandover reports an input that holds a secret which the definition of the next run does not declare: it would get a reference.
func (m *machine) checkHandover(input any) *errors.Error {
	if m.successor == nil || m.s.redact == nil {
		return nil
	}
	sealed, err := expr.Encode(m.s.redact.Seal(input))
	if err != nil {
		return errors.Runtimef("the input of the next run cannot be written: %s", err)
	}
	if name := redact.Undeclared(sealed, m.successor.Program.Workflow.Use.Secrets); name != "" {
		return errors.Authorizationf("the input of the next run holds the secret %q, which %s does not declare in its use.secrets", name, m.successor.Of.Workflow)
	}
	return nil
}

// handOver goes on with the program of the next run, and returns its input as that program has it.
func (m *machine) handOver(input any) any {
	to := m.successor
	if to == nil || to.From == to.Of {
		return input
	}
	m.record(HistoryEvent{Type: WorkflowMigrated, Data: Migrate{From: to.From, Of: to.Of}.data("")})
	input = m.s.redact.Seal(input)
	m.p, m.s.redact = to.Program, to.Program.redactions()
	return m.s.redact.Open(input)
}

// rollOver begins the next run where this one stands.
func (m *machine) rollOver() {
	if m.s.Status == StatusRunning {
		m.beginRun(nil)
		m.runtimeValue, m.workflowValue = nil, nil
	}
}

// beginRun gives the next run of the execution its number, its history and its deadline. Its step is stored with the whole state,
// so that the run can be computed from its own history.
func (m *machine) beginRun(input any) {
	s := m.s
	s.Deadlines = slices.DeleteFunc(slices.Clone(s.Deadlines), func(d Deadline) bool { return d.Kind == DeadlineRun })
	if s.RunTimeout > 0 {
		s.Deadlines = append(s.Deadlines, Deadline{Kind: DeadlineRun, At: m.now.Add(s.RunTimeout), StartedAt: m.now})
	}
	continued := HistoryEvent{Type: WorkflowContinued, Data: input}
	if input == nil { // no workflow.started follows that would tell them
		continued.Deadlines = s.Deadlines
	}
	m.record(continued)
	s.Continued++
	s.historyBase, s.historyBytes, s.headChanged = s.lastHistory, 0, true
	m.result.Withheld = true
}

// runTimeout returns how long a run may take by its deadlines; 0 for any time.
func runTimeout(all []Deadline) time.Duration {
	for _, d := range all {
		if d.Kind == DeadlineRun {
			return d.At.Sub(d.StartedAt)
		}
	}
	return 0
}

// rootPath is what the paths of a run's tasks begin with: those of the runs of one execution differ, and so do the idempotency
// keys and the children that come from them.
func (s *State) rootPath() Path {
	if s.Continued == 0 {
		return ""
	}
	return Path("#" + strconv.Itoa(s.RunNumber()))
}
