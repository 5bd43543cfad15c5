package dsl

import (
	"gopkg.in/yaml.v3"

	"github.com/swrun/swrun/dsl/source"
)

// TaskEngine is what a task asks of the engine that hosts it, under metadata.swrun: the DSL has no word for it, and
// other engines ignore it.
type TaskEngine struct {
	// AtMostOnce: the effect of the task must not be repeated when it is not known whether it happened (delivery: at-most-once).
	AtMostOnce bool
	// ParentClose says what happens to a child workflow when its parent ends first: cancel (also if empty), terminate or
	// abandon.
	ParentClose string
}

// WorkflowEngine is what a document asks of the engine, under metadata.swrun of the document.
type WorkflowEngine struct {
	RunTimeout *Duration // of one run; the document's timeout is for the whole execution
}

// The values of TaskEngine.ParentClose.
const (
	ParentCloseCancel    = "cancel"
	ParentCloseTerminate = "terminate"
	ParentCloseAbandon   = "abandon"
)

// engine returns the object metadata.swrun, or nil.
func (o *object) engine(what string, allowed ...string) *object {
	metadata := o.value("metadata")
	if metadata == nil || metadata.Kind != yaml.MappingNode {
		return nil
	}
	_, n := source.Child(metadata, "swrun")
	if n == nil {
		return nil
	}
	return o.p.object(n, o.at.Key("metadata").Key("swrun"), what, allowed...)
}

func (o *object) taskEngine() (e TaskEngine) {
	if options := o.engine("`swrun` in a task's metadata", "delivery", "parentClose"); options != nil {
		e.AtMostOnce = options.enum("delivery", "at-least-once", "at-most-once") == "at-most-once"
		e.ParentClose = options.enum("parentClose", ParentCloseCancel, ParentCloseTerminate, ParentCloseAbandon)
	}
	return e
}

func (o *object) workflowEngine() (e WorkflowEngine) {
	if options := o.engine("`swrun` in the document's metadata", "runTimeout"); options != nil {
		e.RunTimeout = options.duration("runTimeout")
	}
	return e
}
