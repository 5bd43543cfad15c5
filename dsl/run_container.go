package dsl

import "gopkg.in/yaml.v3"

// KindRunContainer is the kind of RunContainer.
const KindRunContainer Kind = "run_container"

// RunContainer runs a container.
type RunContainer struct {
	TaskBase
	RunBase
	Process
	Image        Value // text, or an expression
	Container    Value // text: the name of the container
	Command      Value // text
	Ports        map[string]any
	Volumes      map[string]any
	PullPolicy   string // ifNotPresent (default), always or never
	Cleanup      string // never (default), always or eventually
	CleanupAfter *Duration
}

// Kind returns KindRunContainer.
func (*RunContainer) Kind() Kind { return KindRunContainer }

// Traits returns the traits of a process.
func (t *RunContainer) Traits() Traits {
	traits := t.processTraits("container")
	if t.Cleanup == "never" {
		traits.KeptName = t.Container
	}
	return traits
}

func (t *RunContainer) parts(w *walker) {
	t.Process.parts(w)
	w.value(propertyCode, t.Command)
	w.value(propertyRun, t.Image)
	w.value(propertyRun, t.Container)
	w.durations(t.CleanupAfter)
}

func parseRunContainer(p *parser, r *object, base TaskBase, run RunBase) Task {
	o := p.object(r.value("container"), r.at.Key("container"), "`container`", "image", "name", "command", "ports", "volumes",
		"environment", "stdin", "arguments", "lifetime", "pullPolicy")
	o.require("image")
	c := &RunContainer{
		TaskBase: base, RunBase: run, Process: o.process(), Image: o.textValue("image"), Container: o.textValue("name"),
		Command: o.textValue("command"), Ports: o.mapping("ports"), Volumes: o.mapping("volumes"),
		PullPolicy: o.enum("pullPolicy", "ifNotPresent", "always", "never"), Cleanup: "never",
	}
	if n := o.value("lifetime"); n != nil {
		p.lifetime(c, n, o.at.Key("lifetime"))
	}
	return c
}

func (p *parser) lifetime(c *RunContainer, n *yaml.Node, at Pointer) {
	o := p.object(n, at, "`lifetime`", "cleanup", "after")
	o.require("cleanup")
	c.Cleanup, c.CleanupAfter = o.enum("cleanup", "never", "always", "eventually"), o.duration("after")
	if c.Cleanup == "eventually" {
		o.require("after")
	} else if cleanup := o.value("cleanup"); c.CleanupAfter != nil && cleanup != nil && cleanup.Value == c.Cleanup {
		o.report("SW124", "after", "`after` goes with `cleanup: eventually` only")
	}
}
