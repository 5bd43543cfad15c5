package control

import (
	"slices"
	"sync"
)

// feed contains the events of a run that were read from the store. All followers of the run read them here.
type feed struct {
	stop func() // ends the reader, and waits for its end

	followers int // guarded by followers.mu

	mu      sync.Mutex
	events  []FollowedEvent // the last events
	bytes   int
	dropped bool          // earlier events were dropped
	changed chan struct{} // closed when something changes
	stored  bool          // the events that the store had at the first look were read, if they can be read
	ended   bool
	err     error
}

// Limits of the last events of a run that are kept for its followers. A later follower reads the earlier events from the store.
const (
	maxFollowed      = 4096
	maxFollowedBytes = 4 << 20
)

func (f *feed) add(events []FollowedEvent) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, e := range events {
		f.bytes += len(e.Data)
	}
	f.events = append(f.events, events...)
	if len(f.events) > maxFollowed || f.bytes > maxFollowedBytes {
		half := len(f.events) / 2
		f.events, f.dropped, f.bytes = slices.Clone(f.events[half:]), true, 0 // followers that hold the old slice keep it
		for _, e := range f.events {
			f.bytes += len(e.Data)
		}
	}
	f.wake()
}

// readStored notes that the events that the store had at the first look were read.
func (f *feed) readStored() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.stored = true
	f.wake()
}

// known reports whether it is certain that a run can be followed. Until then, changed signals the time to ask again.
func (f *feed) known() (known bool, changed <-chan struct{}, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.stored || f.ended || f.dropped, f.changed, f.err
}

func (f *feed) end(err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.ended, f.err = true, err
	f.wake()
}

func (f *feed) wake() {
	close(f.changed)
	f.changed = make(chan struct{})
}

// since returns the events after a position; gap is true if some of them were dropped. Without any events, changed signals new ones.
func (f *feed) since(after EventPosition) (events []FollowedEvent, gap bool, changed <-chan struct{}, ended bool, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	n, _ := slices.BinarySearchFunc(f.events, after, func(e FollowedEvent, after EventPosition) int {
		if e.at.after(after) {
			return 1
		}
		return -1
	})
	return f.events[n:len(f.events):len(f.events)], n == 0 && f.dropped, f.changed, f.ended, f.err
}
