package execution

import (
	"github.com/swrun/swrun/errors"
	"github.com/swrun/swrun/interpreter"
	"github.com/swrun/swrun/runtime/store"
)

// noteTrouble keeps the error of a step that ended the run or caused a retry of a task.
func (x *Execution) noteTrouble(history []interpreter.HistoryEvent) {
	var innermost interpreter.HistoryEvent // the first task that has failed with the present error
	for _, e := range history {
		switch e.Type {
		case interpreter.TaskFaulted:
			if innermost.Error == nil || !sameError(innermost.Error, e.Error) {
				innermost = e
			}
		case interpreter.RetryScheduled, interpreter.EffectRetried, interpreter.WorkflowFaulted:
			if e.Error != nil && (innermost.Error == nil || !sameError(innermost.Error, e.Error)) {
				innermost = e
			}
			if err := innermost.Error; err != nil {
				x.batch.trouble = store.NewTrouble(err.Type, string(innermost.Pointer), err.Reached().Host, e.At)
			}
		}
	}
}

func sameError(a, b *errors.Error) bool {
	return a.Type == b.Type && a.Instance == b.Instance && a.Detail == b.Detail
}

// trouble returns the current trouble of the run.
func (x *Execution) trouble(retrying bool) store.Trouble {
	switch {
	case x.state.Status == interpreter.StatusFaulted, retrying:
		if x.batch.trouble == (store.Trouble{}) {
			return x.stored.Trouble
		}
		return x.batch.trouble
	}
	return store.Trouble{}
}
