package progress

import (
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/swrun/swrun/expr"
	"github.com/swrun/swrun/internal/api"
	"github.com/swrun/swrun/interpreter"
	"github.com/swrun/swrun/runtime/execution"
)

// lifecycle shows the specification's lifecycle events as CloudEvents, one JSON object per line (semantics section
// 16). The completed events have neither output nor outputUri: a run in memory keeps no output to point at.
type lifecycle struct {
	w       io.Writer
	run     Run
	secrets Redactor
}

const lifecycleType = "io.serverlessworkflow."

func (l *lifecycle) observe(r interpreter.HistoryEvent) {
	for _, event := range Lifecycle(l.run, r) {
		l.publish(event)
	}
}

// Lifecycle returns the lifecycle events that a record of a run's history tells of, as CloudEvents.
func Lifecycle(run Run, r interpreter.HistoryEvent) []map[string]any {
	n := narrator{run: run}
	if r.Kind == "" {
		n.workflow(r)
	} else {
		n.task(r)
	}
	return n.events
}

// narrator makes the events of one record.
type narrator struct {
	run    Run
	events []map[string]any
}

func (n *narrator) workflow(r interpreter.HistoryEvent) {
	verb := strings.TrimPrefix(string(r.Type), "workflow.")
	data := map[string]any{"name": n.qualifiedName(), verb + "At": api.Time(r.At)}
	switch r.Type {
	case interpreter.WorkflowStarted:
		d := n.run.Workflow.Document
		data["definition"] = map[string]any{"namespace": d.Namespace, "name": d.Name, "version": d.Version}
	case interpreter.WorkflowFaulted:
		data["error"] = api.Error(r.Error)
	case interpreter.WorkflowCompleted, interpreter.WorkflowCancelled:
	default:
		return
	}
	n.emit("workflow."+verb, r, "", data)
}

func (n *narrator) task(r interpreter.HistoryEvent) {
	switch r.Type {
	case interpreter.TaskStarted:
		n.taskEvent(r, "created", "c", nil)
		if strings.Contains(string(r.Path), "!") {
			n.taskEvent(r, "retried", "", nil)
		} else {
			n.taskEvent(r, "started", "", nil)
		}
	case interpreter.TaskCompleted:
		n.taskEvent(r, "completed", "", nil)
	case interpreter.TaskCancelled:
		n.taskEvent(r, "cancelled", "", nil)
	case interpreter.TaskFaulted:
		n.taskEvent(r, "faulted", "", api.Error(r.Error))
	}
}

func (n *narrator) taskEvent(r interpreter.HistoryEvent, verb, suffix string, fault any) {
	data := map[string]any{"workflow": n.qualifiedName(), "task": string(r.Pointer), verb + "At": api.Time(r.At)}
	if fault != nil {
		data["error"] = fault
	}
	n.emit("task."+verb, r, suffix, data)
}

// emit adds one event; suffix distinguishes the events of one record.
func (n *narrator) emit(name string, r interpreter.HistoryEvent, suffix string, data map[string]any) {
	d := n.run.Workflow.Document
	event := map[string]any{
		"specversion": "1.0", "type": lifecycleType + name + ".v1", "id": n.run.ID + "-" + strconv.Itoa(r.Seq) + suffix,
		"source":  "/" + d.Namespace + "/" + d.Name + "/" + d.Version,
		"subject": n.qualifiedName(), "time": api.Time(r.At), "datacontenttype": "application/json", "data": data,
	}
	n.events = append(n.events, event)
}

// publish writes an event as it is: the workflow's own ones stand between those about it.
func (l *lifecycle) publish(event map[string]any) {
	line, err := expr.Encode(l.secrets.Value(event))
	if err != nil {
		return // an error's extensions are the only part that could not be written, and errorValue has cleaned them
	}
	l.w.Write(append(line, '\n')) // a stream that is gone is no reason to stop the run
}

func (n *narrator) qualifiedName() string {
	d := n.run.Workflow.Document
	return d.Name + "-" + n.run.ID + "." + d.Namespace
}

func (l *lifecycle) tick(time.Time)              {}
func (l *lifecycle) end(execution.Outcome, bool) {}
