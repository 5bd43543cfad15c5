package conformance

import (
	"github.com/google/go-cmp/cmp"

	"github.com/swrun/swrun/interpreter"
	"github.com/swrun/swrun/runtime/execution"
	"github.com/swrun/swrun/runtime/store"
)

// ending returns the outcome of the case, according to the store.
func (d *durable) ending() ending {
	d.t.Helper()
	outcome, done, err := d.client.Outcome(d.t.Context(), d.root)
	d.must(err)
	if !done {
		d.t.Fatal("the case has not ended")
	}
	var records []interpreter.HistoryEvent
	for _, e := range d.history(d.root) {
		records = append(records, e.Events...)
	}
	return ending{
		status: outcome.Status, output: outcome.Output, fault: outcome.Fault, elapsed: outcome.EndedAt.Sub(outcome.StartedAt),
		records: records, events: once(d.outside.events),
	}
}

// once omits events that were published again.
func once(events []any) (all []any) {
	seen := map[any]bool{}
	for _, e := range events {
		if id := e.(map[string]any)["id"]; !seen[id] {
			seen[id] = true
			all = append(all, e)
		}
	}
	return all
}

func (d *durable) history(i store.Instance) (all []interpreter.HistoryStep) {
	d.t.Helper()
	for {
		stored, err := d.bench.store.History(d.t.Context(), i, len(all), 50)
		d.must(err)
		if len(stored) == 0 {
			return all
		}
		for _, s := range stored {
			e, err := interpreter.DecodeHistoryStep(s.Data, func(ref string) ([]byte, error) {
				return d.bench.store.Payload(d.t.Context(), i, ref)
			})
			d.must(err)
			all = append(all, e)
		}
	}
}

// verifyStore checks the invariants of every run: records without gaps, one end, and a history that folds to the state (I1, I2 of docs/engine.md).
func (d *durable) verifyStore() {
	d.t.Helper()
	for p := range d.bench.store.Layout().Partitions {
		page, err := d.bench.store.List(d.t.Context(), p, "", 1000)
		d.must(err)
		for _, item := range page.Items {
			d.verifyInstance(item.Instance)
		}
	}
}

func (d *durable) verifyInstance(i store.Instance) {
	d.t.Helper()
	l, err := d.bench.store.Load(d.t.Context(), i)
	d.must(err)
	info, err := execution.ParseInvocation(l.Invocation)
	d.must(err)
	entries := d.history(i)
	ends, seq := 0, 0
	finished := map[interpreter.EffectID]int{}
	for _, e := range entries {
		for _, r := range e.Events {
			if seq++; r.Seq != seq {
				d.t.Errorf("%s: record %d has the number %d", i, seq, r.Seq)
			}
			switch r.Type {
			case interpreter.WorkflowCompleted, interpreter.WorkflowFaulted, interpreter.WorkflowCancelled:
				ends++
			case interpreter.EffectFinished:
				if finished[r.Effect]++; finished[r.Effect] > 1 {
					d.t.Errorf("%s: effect %d finished twice", i, r.Effect)
				}
			}
		}
	}
	if ends != 1 || int64(seq) != l.Lifecycle.Records || int64(len(entries)) != l.Lifecycle.Entries {
		d.t.Errorf("%s: %d ends, %d records and %d entries; the store counts %+v", i, ends, seq, len(entries), l.Lifecycle)
	}
	program := d.program(info.Definition)
	first := d.program(info.First().Definition)
	past := interpreter.Past{Program: first, New: info.NewState(i), Start: info.Start(first, l.Lifecycle), Steps: entries}
	for _, e := range entries {
		if m, migrated := e.Migration(); migrated {
			past.Migrated = append(past.Migrated, d.program(m.Of.Definition))
		}
	}
	folded, err := interpreter.Replay(past)
	d.must(err)
	stored, err := interpreter.Restore(program, info.NewState(i), info.Input.V, l.State)
	d.must(err)
	stored.NumberFrom(int(l.Lifecycle.Records))
	if diff := cmp.Diff(mustJSON(d.t, stored), mustJSON(d.t, folded)); diff != "" {
		d.t.Errorf("%s: the history does not make the state (-want +got):\n%s", i, diff)
	}
}
