package progress

import (
	"github.com/swrun/swrun/internal/cloudevent"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/swrun/swrun/dsl"
	"github.com/swrun/swrun/expr"
	"github.com/swrun/swrun/internal/api"
	"github.com/swrun/swrun/interpreter"
	"github.com/swrun/swrun/runtime/execution"
)

// lifecycle writes the specification's lifecycle events, and the events that the workflow emits, as CloudEvents, one JSON object per line (semantics
// section 16). It replaces the output by a URI if the run is kept in a store, and omits it otherwise.
type lifecycle struct {
	w       io.Writer
	run     Run
	secrets Redactor
}

// LifecycleTypes returns all types of lifecycle events of the specification, without the common prefix io.serverlessworkflow. and the common suffix
// .v1.
func LifecycleTypes() []string {
	return []string{
		"workflow.started", "workflow.suspended", "workflow.resumed", "workflow.correlation-started", "workflow.correlation-completed",
		"workflow.cancelled", "workflow.faulted", "workflow.completed", "workflow.status-changed",
		"task.created", "task.started", "task.suspended", "task.resumed", "task.retried", "task.cancelled", "task.faulted", "task.completed", "task.status-changed",
	}
}

func (l *lifecycle) observe(r interpreter.HistoryEvent) {
	for _, event := range Lifecycle(l.run, r) {
		l.write(event.Event)
	}
}

// LifecycleEvent is one of the events of a record of history.
type LifecycleEvent struct {
	Name  string         // of its type, such as task.faulted; Emitted for an event that the workflow emits
	ID    string         // the id of the CloudEvent, except for an event that the workflow emits: its run may give several events the same id
	Event map[string]any // a CloudEvent
	Place int            // among the events of the record; see PlaceOf
}

// The suffixes of ids distinguish the events of a record.
const (
	placeCreated = "c"
	placeMain    = ""
	placeListens = "l"
	placeStatus  = "s"
	// PlaceEmitted is the suffix of an event that the run emits.
	PlaceEmitted = "e"
)

// Emitted is the name of events that workflows emit, of any type.
const Emitted = "emitted"

// PlaceOf returns the place of an event among the events of its record, by the last letter of its id; ok is false for an unknown letter.
func PlaceOf(letter string) (place int, ok bool) {
	place = slices.Index([]string{placeCreated, placeMain, placeListens, placeStatus, PlaceEmitted}, letter)
	return place, place >= 0
}

// Lifecycle returns the lifecycle events of a record of a run's history, or the emitted event, limited to the types that the run selects.
func Lifecycle(run Run, r interpreter.HistoryEvent) []LifecycleEvent {
	n := narrator{run: run}
	if r.Kind == "" {
		n.workflow(r)
	} else {
		n.task(r)
	}
	return n.events
}

// narrator builds the events of one record.
type narrator struct {
	run    Run
	events []LifecycleEvent
}

func (n *narrator) workflow(r interpreter.HistoryEvent) {
	verb := strings.TrimPrefix(string(r.Type), "workflow.")
	data := map[string]any{"name": n.qualifiedName(), verb + "At": api.Time(r.At)}
	status := verb
	switch r.Type {
	case interpreter.WorkflowStarted:
		d := n.run.Workflow.Document
		data["definition"] = map[string]any{"namespace": d.Namespace, "name": d.Name, "version": d.Version}
		status = "running"
	case interpreter.WorkflowResumed:
		status = "running"
	case interpreter.WorkflowFaulted:
		data["error"] = api.Error(r.Error)
	case interpreter.WorkflowCompleted:
		if n.run.Output != "" {
			data["outputUri"] = n.run.Output
		}
	case interpreter.WorkflowCancelled, interpreter.WorkflowSuspended:
	default:
		return
	}
	n.emit("workflow."+verb, r, placeMain, data)
	n.changed("workflow", r, map[string]any{"name": n.qualifiedName()}, status)
}

func (n *narrator) task(r interpreter.HistoryEvent) {
	switch r.Type {
	case interpreter.TaskStarted:
		n.taskEvent(r, "created", placeCreated, nil)
		if strings.Contains(string(r.Path), "!") {
			n.taskEvent(r, "retried", placeMain, nil)
		} else {
			n.taskEvent(r, "started", placeMain, nil)
		}
		n.listens(r, "started")
		n.taskChanged(r, "running")
	case interpreter.TaskCompleted:
		n.taskEvent(r, "completed", placeMain, nil)
		n.listens(r, "completed")
		n.taskChanged(r, "completed")
	case interpreter.TaskCancelled:
		n.taskEvent(r, "cancelled", placeMain, nil)
		n.taskChanged(r, "cancelled")
	case interpreter.TaskFaulted:
		n.taskEvent(r, "faulted", placeMain, api.Error(r.Error))
		n.taskChanged(r, "faulted")
	case interpreter.TaskSuspended:
		n.taskEvent(r, "suspended", placeMain, nil)
		n.taskChanged(r, "suspended")
	case interpreter.TaskResumed:
		n.taskEvent(r, "resumed", placeMain, nil)
		n.taskChanged(r, "running")
	case interpreter.TaskWaiting:
		n.taskChanged(r, "waiting")
	case interpreter.EffectStarted:
		n.emitted(r)
	}
}

func (n *narrator) taskEvent(r interpreter.HistoryEvent, verb, place string, fault any) {
	data := map[string]any{"workflow": n.qualifiedName(), "task": string(r.Pointer), verb + "At": api.Time(r.At)}
	if fault != nil {
		data["error"] = fault
	}
	n.emit("task."+verb, r, place, data)
}

// emitted adds the event that a task emits, in the form for listeners.
func (n *narrator) emitted(r interpreter.HistoryEvent) {
	if event, ok := r.Data.(map[string]any); ok && r.Route == interpreter.RoutePublish {
		n.add(Emitted, r, PlaceEmitted, event)
	}
}

// listens adds the begin or the end of the workflow's correlation of events, if the task listens.
func (n *narrator) listens(r interpreter.HistoryEvent, verb string) {
	if r.Kind != dsl.KindListen {
		return
	}
	data := map[string]any{"name": n.qualifiedName(), verb + "At": api.Time(r.At)}
	if len(r.Correlated) > 0 {
		keys := map[string]any{}
		for key, value := range r.Correlated {
			keys[key] = value
		}
		data["correlationKeys"] = keys
	}
	n.emit("workflow.correlation-"+verb, r, placeListens, data)
}

func (n *narrator) taskChanged(r interpreter.HistoryEvent, status string) {
	n.changed("task", r, map[string]any{"workflow": n.qualifiedName(), "task": string(r.Pointer)}, status)
}

// changed adds a change of state.
func (n *narrator) changed(what string, r interpreter.HistoryEvent, data map[string]any, status string) {
	data["updatedAt"], data["status"] = api.Time(r.At), status
	n.emit(what+"."+statusChanged, r, placeStatus, data)
}

// emit adds one lifecycle event, if its type is selected; place distinguishes the events of one record.
func (n *narrator) emit(name string, r interpreter.HistoryEvent, place string, data map[string]any) {
	d := n.run.Workflow.Document
	n.add(name, r, place, map[string]any{
		"specversion": "1.0", "type": cloudevent.LifecycleType(name), "id": n.idOf(r, place),
		"source":  "/" + d.Namespace + "/" + d.Name + "/" + d.Version,
		"subject": n.qualifiedName(), "time": api.Time(r.At), "datacontenttype": "application/json", "data": data,
	})
}

func (n *narrator) add(name string, r interpreter.HistoryEvent, place string, event map[string]any) {
	if n.run.Types.Has(name) {
		at, _ := PlaceOf(place)
		n.events = append(n.events, LifecycleEvent{Name: name, ID: n.idOf(r, place), Place: at, Event: event})
	}
}

func (n *narrator) idOf(r interpreter.HistoryEvent, place string) string {
	return n.run.ID + "-" + strconv.Itoa(r.Seq) + place
}

// publish writes nothing: the record of an event writes it, in its place.
func (l *lifecycle) publish(map[string]any) {}

func (l *lifecycle) write(event map[string]any) {
	line, err := expr.Encode(l.secrets.Value(event))
	if err != nil {
		return // only the extensions of an error could be impossible to encode, and errorValue has cleaned them
	}
	l.w.Write(append(line, '\n')) // a broken stream is no reason to stop the run
}

func (n *narrator) qualifiedName() string {
	d := n.run.Workflow.Document
	return d.Name + "-" + n.run.ID + "." + d.Namespace
}

// outlast writes nothing: the work after the end of the run has no events.
func (l *lifecycle) outlast([]string) {}

func (l *lifecycle) tick(time.Time)              {}
func (l *lifecycle) end(execution.Outcome, bool) {}
