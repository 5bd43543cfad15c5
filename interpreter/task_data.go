package interpreter

import (
	"context"

	"github.com/swrun/swrun/errors"
)

// The data of a task is not stored. It is computed again from the history of its run.

// TaskData is the data of an occurrence of a task, as far as the task has come. Secrets are hidden in it. Unknown data is nil.
type TaskData struct {
	Input         *any // after input.from
	RawOutput     *any // before output.as
	ContextBefore *any // $context as the task saw it when it began
	ContextAfter  *any // the same, when it had completed
}

// TaskData computes the data of the occurrence of a task that began with the record seq. The error explains why a part of the data is not known.
func (r Past) TaskData(ctx context.Context, seq int) (TaskData, error) {
	o := &observation{seq: seq}
	replay := newReplay(r)
	for _, e := range r.Steps {
		if err := ctx.Err(); err != nil {
			return o.data, context.Cause(ctx)
		}
		if replay.notes(e) {
			continue
		}
		reached := len(e.Events) > 0 && e.Events[len(e.Events)-1].Seq >= seq
		withheld := reached && e.withholds()
		if e.State == nil || reached && !withheld {
			m := &machine{p: replay.p, s: replay.s, observed: o}
			m.repeat(e, r.Start)
			if !e.repeats(m.result.History, false) {
				return o.data, errNotRepeated
			}
		}
		if err := replay.restore(e); err != nil {
			return o.data, err
		}
		if withheld {
			o.look(replay, e)
		}
		if reached && o.endsIn(e) {
			return o.data, o.reason(withheld)
		}
	}
	return o.data, o.reason(false)
}

var (
	errNotRepeated = errors.New("its history does not repeat itself here: maybe the task began in another version of the workflow, or a secret that it reads is missing")
	errWithheld    = errors.New("the history omits the result of a call in between, because it may contain a secret")
)

// observation notes the data of a task while its run is computed again.
type observation struct {
	seq    int // of the record with which the task begins
	frame  FrameID
	path   Path
	data   TaskData
	missed bool // data that came together with the end of a call which cannot be computed again
}

// begins notes the beginning of f, if f is the task.
func (o *observation) begins(m *machine, f *taskFrame) {
	if o == nil || m.s.lastHistory+1 != o.seq {
		return
	}
	o.frame = f.ID
	o.data.ContextBefore = m.shown(*m.context(f))
}

// transforms notes the input of f's body.
func (o *observation) transforms(m *machine, f *taskFrame) {
	if o != nil && f.ID == o.frame {
		o.data.Input = m.shown(f.Input)
	}
}

// produces notes the raw output of f's body.
func (o *observation) produces(m *machine, f *taskFrame, raw any) {
	if o != nil && f.ID == o.frame {
		o.data.RawOutput = m.shown(raw)
	}
}

// exports notes $context after f.
func (o *observation) exports(m *machine, f *taskFrame) {
	if o != nil && f.ID == o.frame {
		o.data.ContextAfter = m.shown(*m.context(f))
	}
}

// shown returns a value in the form of histories.
func (m *machine) shown(v any) *any {
	v = m.s.redact.Value(v)
	return &v
}

// look finds the task in the state after a step that cannot be computed again.
func (o *observation) look(r *replay, e HistoryStep) {
	if o.frame != 0 { // it began before
		return
	}
	began, alone := Path(""), true
	for _, ev := range e.Events {
		if ev.Seq == o.seq {
			began = ev.Path
		}
		alone = alone && (ev.Seq <= o.seq || ev.Type != TaskCompleted) // nothing has changed $context since
	}
	o.missed = true
	m := &machine{p: r.p, s: r.s}
	m.resolveNodes()
	for f := range r.s.tasks() {
		if f.Path != began {
			continue
		}
		o.frame = f.ID
		if alone {
			o.missed, o.data.ContextBefore = false, m.shown(*m.context(f))
		}
		if f.Phase >= PhaseBody {
			o.transforms(m, f)
		}
	}
}

// endsIn reports whether the task ended in a step.
func (o *observation) endsIn(e HistoryStep) bool {
	for _, ev := range e.Events {
		if ev.Seq == o.seq {
			o.path = ev.Path
		}
		ends := ev.Type == TaskCompleted || ev.Type == TaskFaulted || ev.Type == TaskCancelled
		if ends && ev.Seq > o.seq && ev.Path == o.path {
			return true
		}
	}
	return false
}

// reason returns why a part of the data is not known; nil if all parts are known.
func (o *observation) reason(withheld bool) error {
	if o.missed || withheld {
		return errWithheld
	}
	return nil
}
