package interpreter

import (
	"cmp"
	"slices"
	"strings"

	"github.com/swrun/swrun/dsl"
	"github.com/swrun/swrun/errors"
)

// This file defines the needs of effects: the requirements on a performer beside the requirements on every owner of a run. Each need is a text that
// consists of its type, and its name if there are several needs of that type.

// NeedProcesses is the permission to run shell commands and scripts.
const NeedProcesses = "processes"

// NeedContainers is the permission to run containers.
const NeedContainers = "containers"

// NeedFiles is the permission to read files of the worker's machine as external resources.
const NeedFiles = "files"

const needVolume = "volume:"

const needQueue, needCall, needScript, needSecret, needNetwork = "queue:", "call:", "script:", "secret:", "network:"

// needReserved is before all others in the order of texts, so that stores skip reserved effects together.
const needReserved = "by:"

// NeedReserved is to work on a run for which the effect is reserved, as namespace/id.
func NeedReserved(run string) string { return needReserved + run }

// NeededReserved returns the run, as namespace/id, that a worker must work on; ok is false for another need. It is empty for any such run.
func NeededReserved(need string) (run string, ok bool) { return strings.CutPrefix(need, needReserved) }

// NeedQueue is to take the tasks of a queue; the default queue needs nothing.
func NeedQueue(queue string) string { return needQueue + queue }

// NeedCall is a performer of a call of that name.
func NeedCall(name string) string { return needCall + name }

// NeedScript is the interpreter for scripts of a language.
func NeedScript(language string) string { return needScript + language }

// NeedSecret is the value of a secret.
func NeedSecret(name string) string { return needSecret + name }

// NeedNetwork is the permission to call an address: an IP address and a port, or a name and a port where names are not looked up.
func NeedNetwork(address string) string { return needNetwork + address }

// NeedVolume is the permission to give a container a folder of the machine, or a volume of its engine.
func NeedVolume(source string) string { return needVolume + source }

// NeededVolume returns the folder or volume that containers must be allowed to have; ok is false for another need.
func NeededVolume(need string) (source string, ok bool) { return strings.CutPrefix(need, needVolume) }

// VolumeWithin reports whether the permission for one folder or volume covers another one. / covers everything.
func VolumeWithin(granted, source string) bool {
	return granted == "/" || source == granted || strings.HasPrefix(granted, "/") && strings.HasPrefix(source, strings.TrimSuffix(granted, "/")+"/")
}

// NeededScript returns the language that must run; ok is false for another need.
func NeededScript(need string) (language string, ok bool) { return strings.CutPrefix(need, needScript) }

// NeededSecret returns the secret that must be there; ok is false for another need.
func NeededSecret(need string) (name string, ok bool) { return strings.CutPrefix(need, needSecret) }

// NeededNetwork returns the address that must be allowed; ok is false for another need.
func NeededNetwork(need string) (address string, ok bool) {
	return strings.CutPrefix(need, needNetwork)
}

// NeedError is the error of a performer that lacks a resource which other performers may have. Nothing has happened, and the effect may be left to
// other drivers. If it is not left to them, the error is the error of the task.
type NeedError struct {
	Need string
	Err  *errors.Error
}

func (e *NeedError) Error() string { return e.Err.Error() }

// Unwrap returns the error of the task.
func (e *NeedError) Unwrap() error { return e.Err }

// NeededQueue returns the queue that must be taken; ok is false for another need.
func NeededQueue(need string) (queue string, ok bool) { return strings.CutPrefix(need, needQueue) }

// NeededCall returns the call that must be performed; ok is false for another need.
func NeededCall(need string) (call string, ok bool) { return strings.CutPrefix(need, needCall) }

// Needs notes a requirement on the performers of the task's effects.
func (b *Builder) Needs(need string) {
	if !slices.Contains(b.node.needs, need) {
		b.node.needs = append(b.node.needs, need)
	}
	if p := b.c.program; !slices.Contains(p.needs, need) {
		p.needs = append(p.needs, need)
	}
}

// needsQueue notes a task queue that the document names.
func (p *Program) needsQueue(queue string) {
	if queue == "" {
		return
	}
	p.namesQueue = true
	if need := NeedQueue(queue); queue != dsl.DefaultQueue && !slices.Contains(p.needs, need) {
		p.needs = append(p.needs, need)
	}
}

// Needs returns the requirements for performing all effects of the program.
func (p *Program) Needs() []string { return slices.Clone(p.needs) }

// needs returns the requirements for performing the effect of a task.
func (m *machine) needs(f *taskFrame) []string {
	if f.node.kind.Route != RoutePerform {
		return nil
	}
	if queue := m.queue(f); queue != dsl.DefaultQueue {
		return append(slices.Clone(f.node.needs), NeedQueue(queue))
	}
	return f.node.needs
}

// Detaches notes that the task requests an effect that no task waits for (Detach).
func (b *Builder) Detaches() { b.node.detaches = true }

// LeaveDetached defers a task that requests a detached effect (Detach) to another driver, if leave returns missing needs. After the end of such a
// task the state no longer refers to its effect, so that the effect could not be left to another driver.
func (s *State) LeaveDetached(leave func(needs []string) []string) { s.leaveDetached = leave }

// holdsBack leaves a task to a driver that meets its needs before the task does anything.
func (m *machine) holdsBack(f *taskFrame) bool {
	var lacks []string
	if f.node.detaches && m.s.leaveDetached != nil {
		lacks = m.s.leaveDetached(m.needs(f))
	}
	if lacks == nil {
		lacks = m.missingSecrets(f.node)
	}
	if lacks == nil {
		return false
	}
	// With another driver the step would have continued. It cannot be repeated from its history.
	m.result.Lacks, m.result.Withheld = append(m.result.Lacks, lacks), true
	f.Queued, m.held = true, append(m.held, f)
	f.changed()
	return true
}

// queue returns the task queue of a task: its own queue, the queue of the nearest task around it that names one, or the queue of the document. The
// queue of a task that calls a function takes precedence over the queues in the function.
func (m *machine) queue(f *taskFrame) (queue string) {
	if !m.p.namesQueue {
		return dsl.DefaultQueue
	}
	for f != nil {
		calls := f.node.task.Traits().Function != ""
		if own := f.node.task.Base().Engine.Queue; own != "" && (queue == "" || calls) {
			queue = own
		}
		f = m.taskAround(f)
	}
	return cmp.Or(queue, m.p.Workflow.Document.Engine.Queue, dsl.DefaultQueue)
}

// Queue returns the task queue of the task.
func (s *Scope) Queue() string { return s.m.queue(s.frame) }

// Queue returns the task queue of an effect that a performer performs.
func (e *Effect) Queue() string {
	for _, need := range e.Needs {
		if queue, ok := NeededQueue(need); ok {
			return queue
		}
	}
	return dsl.DefaultQueue
}

// taskAround returns the task that contains a task; nil for a task of the workflow itself.
func (m *machine) taskAround(f *taskFrame) *taskFrame {
	for around := m.s.frame(f.Parent); around != nil; around = m.s.frame(around.common().Parent) {
		if t, ok := around.(*taskFrame); ok {
			return t
		}
	}
	return nil
}
