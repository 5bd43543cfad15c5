package worker

import (
	"sync"

	"github.com/swrun/swrun/runtime/store"
)

// unreadable remembers which runs were found that cannot be read, so that each is logged once.
type unreadable struct {
	mu   sync.Mutex
	told map[store.Instance]bool
}

// maxUnreadable bounds how many runs are remembered; what is found after that is logged again.
const maxUnreadable = 10_000

// first reports whether a run is found for the first time.
func (u *unreadable) first(i store.Instance) bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.told[i] {
		return false
	}
	if u.told == nil || len(u.told) >= maxUnreadable {
		u.told = map[store.Instance]bool{}
	}
	u.told[i] = true
	return true
}

// cannotRead logs a run that cannot be read: nothing goes on with it, and none of its deadlines fires here.
func (w *Worker) cannotRead(u store.Unreadable) {
	if w.unreadable.first(u.Instance) {
		w.c.Log.Error("a run cannot be read, and this worker does not go on with it", "run", u.Instance.String(), "error", u.Err)
	}
}
