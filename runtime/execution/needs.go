package execution

import (
	"github.com/swrun/swrun/interpreter"
	"github.com/swrun/swrun/runtime/store"
)

// Needs: what the owner cannot perform is left to another one, that has what it needs. The run is given back as soon as there is nothing else
// to do for it, and says what it needs: until its time comes, only those who have that take it.

// needOf returns what an effect needs.
func needOf(e interpreter.Effect) store.Need {
	if len(e.Needs) == 0 {
		return ""
	}
	return store.NewNeed(e.Needs...)
}

// lacks reports whether the owner is to leave an effect to another one. What nobody waits for is forgotten once its step is stored, and so is
// performed here in any case.
func (x *Execution) lacks(e interpreter.Effect) bool {
	return len(e.Needs) > 0 && !e.Detached && x.Has != nil && !x.Has(needOf(e))
}

// leave stores an effect as not begun, for another owner.
func (x *Execution) leave(e interpreter.Effect) {
	x.state.DeferEffect(e.ID)
	x.lacking = append(x.lacking, e)
}

// needs returns what the run needs that is given back.
func (x *Execution) needs() store.Needs {
	var all []store.Need
	for _, e := range x.lacking {
		all = append(all, needOf(e))
	}
	return store.NewNeeds(all)
}
