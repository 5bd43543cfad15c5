package worker

import (
	"sync"

	"github.com/swrun/swrun/runtime/store"
)

// unreadable remembers keys of unreadable data, for example runs, so that each is logged once.
type unreadable[K comparable] struct {
	mu   sync.Mutex
	told map[K]bool
}

// maxUnreadable limits the number of remembered keys; later findings are logged again.
const maxUnreadable = 10_000

// first reports whether a key is found for the first time.
func (u *unreadable[K]) first(i K) bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.told[i] {
		return false
	}
	if u.told == nil || len(u.told) >= maxUnreadable {
		u.told = map[K]bool{}
	}
	u.told[i] = true
	return true
}

// cannotRead logs a run that cannot be read. It does not continue, and its deadlines do not fire here.
func (w *Worker) cannotRead(u store.Unreadable) {
	if w.unreadable.first(u.Instance) {
		w.c.Log.Error("a run cannot be read, and this worker does not go on with it", "run", u.Instance.String(), "error", u.Err)
	}
}
