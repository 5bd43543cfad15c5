package conformance

import (
	"slices"

	"github.com/swrun/swrun/interpreter"
)

// performWorkflow starts a child.
func (d *driver) performWorkflow(f effectInFlight) {
	d.t.Helper()
	request, invalid := interpreter.ReadChildRequest(f.effect.Request.Body)
	if invalid != nil {
		d.t.Fatal(invalid)
	}
	p, unknown := d.c.workflows(d.outside)(request.Namespace, request.Name, request.Version)
	if unknown != nil {
		d.step(f.run, interpreter.Finished{Effect: f.effect.ID, Error: unknown})
		return
	}
	var parent *effectInFlight
	if !f.effect.Detached {
		parent = &f
	}
	child := d.start(p, interpreter.ChildID(f.run.state.Namespace, f.run.state.ID, f.effect.Request.Path), parent)
	if parent != nil {
		f.child = child
		d.inFlight = append(d.inFlight, f)
	} else if request.EndsWithParent() {
		child.beside = &f
	}
	d.step(child, interpreter.Start{Input: request.Input.V, Depth: f.run.state.Depth + 1})
}

// dropBeside ends a child that ends with its parent although no task waits for it, and reports whether the effect has started such a child.
func (d *driver) dropBeside(i *caseRun, id interpreter.EffectID) bool {
	at := slices.IndexFunc(d.live, func(c *caseRun) bool { return c.beside != nil && c.beside.run == i && c.beside.effect.ID == id })
	if at < 0 {
		return false
	}
	child := d.live[at]
	child.beside = nil
	d.step(child, interpreter.Cancel{Reason: i.state.ClosingReason()})
	return true
}
