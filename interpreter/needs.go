package interpreter

import (
	"cmp"
	"slices"
	"strings"

	"github.com/swrun/swrun/dsl"
	"github.com/swrun/swrun/errors"
)

// This file says what whoever performs an effect must have, beside what every owner of a run has. Each such thing is a text: what it is, and
// its name if there are several.

// NeedProcesses is the permission to run shell commands and scripts.
const NeedProcesses = "processes"

// NeedContainers is the permission to run containers.
const NeedContainers = "containers"

// NeedFiles is the permission to read files of the worker's machine as external resources.
const NeedFiles = "files"

const needVolume = "volume:"

const needQueue, needCall, needScript, needSecret, needNetwork = "queue:", "call:", "script:", "secret:", "network:"

// needReserved comes before all others in the order of texts: stores pass over what is reserved in one go.
const needReserved = "by:"

// NeedReserved is to work on a run for which the effect is reserved, as namespace/id.
func NeedReserved(run string) string { return needReserved + run }

// NeededReserved returns the run, as namespace/id, that a worker must work on; ok is false for another need. It is empty for any such run.
func NeededReserved(need string) (run string, ok bool) { return strings.CutPrefix(need, needReserved) }

// NeedQueue is to take the tasks of a queue; the default queue needs nothing.
func NeedQueue(queue string) string { return needQueue + queue }

// NeedCall is a performer of a call of that name.
func NeedCall(name string) string { return needCall + name }

// NeedScript is what runs scripts of a language.
func NeedScript(language string) string { return needScript + language }

// NeedSecret is the value of a secret.
func NeedSecret(name string) string { return needSecret + name }

// NeedNetwork is the permission to call an address: an IP address and a port, or a name and a port where names are not looked up.
func NeedNetwork(address string) string { return needNetwork + address }

// NeedVolume is the permission to give a container a folder of the machine, or a volume of its engine.
func NeedVolume(source string) string { return needVolume + source }

// NeededVolume returns the folder or volume that containers must be allowed to have; ok is false for another need.
func NeededVolume(need string) (source string, ok bool) { return strings.CutPrefix(need, needVolume) }

// VolumeWithin reports whether who may have a folder, or a volume, may have another one too. / is everything.
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

// NeedError is what a performer returns that lacks something which others may have: nothing has happened, and the effect may be left to them.
// Where it is not, the error is that of the task.
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

// Needs notes that whoever performs the effects of the task needs something.
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

// Needs returns what is needed to perform all effects of the program.
func (p *Program) Needs() []string { return slices.Clone(p.needs) }

// needs returns what is needed to perform the effect of a task.
func (m *machine) needs(f *taskFrame) []string {
	if f.node.kind.Route != RoutePerform {
		return nil
	}
	if queue := m.queue(f); queue != dsl.DefaultQueue {
		return append(slices.Clone(f.node.needs), NeedQueue(queue))
	}
	return f.node.needs
}

// Detaches notes that the task asks for an effect that nobody waits for (Detach).
func (b *Builder) Detaches() { b.node.detaches = true }

// LeaveDetached has a task that asks for an effect which nobody waits for wait for another driver, if leave returns what that must have. Once
// such a task has ended, nothing of the state leads to its effect any more, so that it could not be left to anybody.
func (s *State) LeaveDetached(leave func(needs []string) []string) { s.leaveDetached = leave }

// holdsBack leaves a task to a driver that has what it needs before it does anything.
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
	// With another driver the step would have gone on: it does not repeat itself.
	m.result.Lacks, m.result.Withheld = append(m.result.Lacks, lacks), true
	f.Queued, m.held = true, append(m.held, f)
	f.changed()
	return true
}

// queue returns the task queue of a task: its own, that of the nearest task around it that names one, or that of the document. The queue of a
// task that calls a function goes before those of the function.
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

// taskAround returns the task that a task belongs to; nil for one of the workflow itself.
func (m *machine) taskAround(f *taskFrame) *taskFrame {
	for around := m.s.frame(f.Parent); around != nil; around = m.s.frame(around.common().Parent) {
		if t, ok := around.(*taskFrame); ok {
			return t
		}
	}
	return nil
}
