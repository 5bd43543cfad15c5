package control

import (
	"slices"
	"sync"
)

// feed is the events of a run, as far as they have been read: all who follow it take them from here.
type feed struct {
	stop func() // ends the reader, and waits for that

	followers int // guarded by followers.mu

	mu      sync.Mutex
	events  []FollowedEvent // the last ones
	bytes   int
	dropped bool          // there were others before them
	changed chan struct{} // closed when there is something new
	stored  bool          // what the store had at the first look was read, as far as it can be
	ended   bool
	err     error
}

// The last events of a run that are kept for those who follow it. Who comes later reads the others from the store.
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
		f.events, f.dropped, f.bytes = slices.Clone(f.events[half:]), true, 0 // those who have the old ones keep them
		for _, e := range f.events {
			f.bytes += len(e.Data)
		}
	}
	f.wake()
}

// readStored says that what the store had at the first look was read.
func (f *feed) readStored() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.stored = true
	f.wake()
}

// known reports whether it is known that a run can be followed. Until it is, changed tells when to ask again.
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

// since returns the events after a position; gap says that some of them are not kept any more. Without any, changed tells when there are.
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
