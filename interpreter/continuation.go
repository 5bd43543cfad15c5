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

// An execution has one run, or several runs that follow one another because a task continues as new or because the history of a run has become long.
// Each run has its own number, history and run deadline. Everything else belongs to the execution.

// ContinueAsNew ends the run, and begins the next run of the execution with an input.
func ContinueAsNew(input any) Next { return Next{kind: nextContinue, value: input} }

// DefinitionRequest is the request of an effect of RouteDefinition. It asks for the definition of a version of the run's own workflow.
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

// Successor is the definition of the next run of an execution.
type Successor struct {
	From, Of Version  // of this run, and of the next run
	Program  *Program // of the next run
}

// findSuccessor handles the definition that a task has requested.
func (m *machine) findSuccessor(f *taskFrame, ev *Finished) {
	if f.node.kind.Route != RouteDefinition || ev.Error != nil {
		return
	}
	if m.successor = ev.Successor; m.successor == nil || m.successor.Program == nil {
		ev.Error = errors.Configurationf("the definition of the next run is not known")
		return
	}
	m.result.Withheld = true // in every case: the history does not contain the program
	ev.Result = map[string]any{"workflow": m.successor.Of.Workflow, "definition": m.successor.Of.Definition}
}

// RollOver begins the next run of the execution at the present place of this run, because its history has become long. No task starts again.
type RollOver struct{}

func (RollOver) event() {}

// RunNumber returns the number of the run within its execution, counted from 1.
func (s *State) RunNumber() int { return s.Continued + 1 }

// HistoryEvents returns how many events the history of the run has.
func (s *State) HistoryEvents() int { return s.lastHistory - s.historyBase }

// continueAsNew ends all work in progress, and starts the workflow again with another input.
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

// checkHandover reports an input that contains a secret which the definition of the next run does not declare. The next run would get a reference
// instead of the secret.
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

// handOver switches to the program of the next run, and returns the input in the form of that program.
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

// rollOver begins the next run at the present place of this run.
func (m *machine) rollOver() {
	if m.s.Status == StatusRunning {
		m.beginRun(nil)
		m.runtimeValue, m.workflowValue = nil, nil
	}
}

// beginRun gives the next run of the execution its number, its history and its deadline. Its step is stored with the whole state, so that the run can
// be computed from its own history.
func (m *machine) beginRun(input any) {
	s := m.s
	s.Deadlines = slices.DeleteFunc(slices.Clone(s.Deadlines), func(d Deadline) bool { return d.Kind == DeadlineRun })
	if s.RunTimeout > 0 {
		s.Deadlines = append(s.Deadlines, Deadline{Kind: DeadlineRun, At: m.now.Add(s.RunTimeout), StartedAt: m.now})
	}
	continued := HistoryEvent{Type: WorkflowContinued, Data: input}
	if input == nil { // no workflow.started follows that would contain them
		continued.Deadlines = s.Deadlines
	}
	m.record(continued)
	s.Continued++
	s.historyBase, s.historyBytes, s.headChanged = s.lastHistory, 0, true
	m.result.Withheld = true
}

// runTimeout returns the maximum duration of a run by its deadlines; 0 for no maximum.
func runTimeout(all []Deadline) time.Duration {
	for _, d := range all {
		if d.Kind == DeadlineRun {
			return d.At.Sub(d.StartedAt)
		}
	}
	return 0
}

// rootPath is the beginning of the paths of a run's tasks. It differs between the runs of one execution, so that their idempotency keys and children
// differ too.
func (s *State) rootPath() Path {
	if s.Continued == 0 {
		return ""
	}
	return Path("#" + strconv.Itoa(s.RunNumber()))
}
