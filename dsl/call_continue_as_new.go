package dsl

// KindCallContinueAsNew is the kind of CallContinueAsNew.
const KindCallContinueAsNew Kind = "call_continue_as_new"

// CallContinueAsNew ends a run and begins the next one of the same execution, with another input and an empty history.
type CallContinueAsNew struct {
	TaskBase
	Input   Value  // of the next run; the task's transformed input if it is absent
	Version string // of the workflow in the next run: a semantic version or latest; empty for the definition of this run
}

// Kind returns KindCallContinueAsNew.
func (*CallContinueAsNew) Kind() Kind { return KindCallContinueAsNew }

// Traits: the call neither sends nor receives anything.
func (t *CallContinueAsNew) Traits() Traits {
	return Traits{Group: "call", Instant: true, NextVersion: t.Version}
}

func (t *CallContinueAsNew) parts(w *walker) { w.value(propertyCall, t.Input) }

func (*CallContinueAsNew) mayComplete(*checker) bool { return false }

func parseCallContinueAsNew(_ *parser, o *object, base TaskBase) Task {
	o.allow("input", "version")
	return &CallContinueAsNew{TaskBase: base, Input: o.dataValue("input"), Version: o.versionOrLatest("version")}
}
