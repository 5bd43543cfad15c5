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
	if r.Kind == "" {
		l.workflow(r)
	} else {
		l.task(r)
	}
}

func (l *lifecycle) workflow(r interpreter.HistoryEvent) {
	verb := strings.TrimPrefix(string(r.Type), "workflow.")
	data := map[string]any{"name": l.qualifiedName(), verb + "At": api.Time(r.At)}
	switch r.Type {
	case interpreter.WorkflowStarted:
		d := l.run.Workflow.Document
		data["definition"] = map[string]any{"namespace": d.Namespace, "name": d.Name, "version": d.Version}
	case interpreter.WorkflowFaulted:
		data["error"] = api.Error(r.Error)
	case interpreter.WorkflowCompleted, interpreter.WorkflowCancelled:
	default:
		return
	}
	l.emit("workflow."+verb, r, "", data)
}

func (l *lifecycle) task(r interpreter.HistoryEvent) {
	switch r.Type {
	case interpreter.TaskStarted:
		l.taskEvent(r, "created", "c", nil)
		if strings.Contains(string(r.Path), "!") {
			l.taskEvent(r, "retried", "", nil)
		} else {
			l.taskEvent(r, "started", "", nil)
		}
	case interpreter.TaskCompleted:
		l.taskEvent(r, "completed", "", nil)
	case interpreter.TaskCancelled:
		l.taskEvent(r, "cancelled", "", nil)
	case interpreter.TaskFaulted:
		l.taskEvent(r, "faulted", "", api.Error(r.Error))
	}
}

func (l *lifecycle) taskEvent(r interpreter.HistoryEvent, verb, suffix string, fault any) {
	data := map[string]any{"workflow": l.qualifiedName(), "task": string(r.Pointer), verb + "At": api.Time(r.At)}
	if fault != nil {
		data["error"] = fault
	}
	l.emit("task."+verb, r, suffix, data)
}

// emit writes one event; suffix distinguishes the events of one record.
func (l *lifecycle) emit(name string, r interpreter.HistoryEvent, suffix string, data map[string]any) {
	d := l.run.Workflow.Document
	event := map[string]any{
		"specversion": "1.0", "type": lifecycleType + name + ".v1", "id": l.run.ID + "-" + strconv.Itoa(r.Seq) + suffix,
		"source":  "/" + d.Namespace + "/" + d.Name + "/" + d.Version,
		"subject": l.qualifiedName(), "time": api.Time(r.At), "datacontenttype": "application/json", "data": data,
	}
	l.publish(event)
}

// publish writes an event as it is: the workflow's own ones stand between those about it.
func (l *lifecycle) publish(event map[string]any) {
	line, err := expr.Encode(l.secrets.Value(event))
	if err != nil {
		return // an error's extensions are the only part that could not be written, and errorValue has cleaned them
	}
	l.w.Write(append(line, '\n')) // a stream that is gone is no reason to stop the run
}

func (l *lifecycle) qualifiedName() string {
	d := l.run.Workflow.Document
	return d.Name + "-" + l.run.ID + "." + d.Namespace
}

func (l *lifecycle) tick(time.Time)              {}
func (l *lifecycle) end(execution.Outcome, bool) {}
