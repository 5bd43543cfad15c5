package worker

import (
	"slices"
	"sync"

	"github.com/swrun/swrun/runtime/store"
)

// shares bound how many slots of a worker the runs of one namespace have at a time, so that one with many long tasks leaves room to the others.
type shares struct {
	each int // slots of a namespace; 0 for any number

	mu sync.Mutex
	of map[string]*share
}

// share is the share of one namespace. It is kept while runs hold it, wait for it, or may need it.
type share struct {
	namespace string
	slots     chan struct{}
	users     int // guarded by shares.mu
}

// join returns the share of a namespace for one more who uses it; nil if there is no bound.
func (s *shares) join(namespace string) *share {
	if s.each == 0 {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	one := s.of[namespace]
	if one == nil {
		if s.of == nil {
			s.of = map[string]*share{}
		}
		one = &share{namespace: namespace, slots: make(chan struct{}, s.each)}
		s.of[namespace] = one
	}
	one.users++
	return one
}

// leave forgets a share with the last who uses it.
func (s *shares) leave(one *share) {
	if one == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if one.users--; one.users == 0 {
		delete(s.of, one.namespace)
	}
}

// tryAcquire takes a slot of the share if one is free now; there always is where there is no bound.
func (s *share) tryAcquire() bool {
	if s == nil {
		return true
	}
	select {
	case s.slots <- struct{}{}:
		return true
	default:
		return false
	}
}

func (s *share) release() {
	if s != nil {
		<-s.slots
	}
}

// reserve takes a slot of their namespaces for runs that are about to be claimed. It omits runs without a slot, and reports whether there
// were such runs.
func (s *shares) reserve(c *claimable) (leftOut bool) {
	if s.each == 0 {
		return false
	}
	c.shares = map[store.Instance]*share{}
	c.runs = slices.DeleteFunc(c.runs, func(i store.Instance) bool {
		if c.shares[i] != nil { // it is there twice: for two things that it waits for
			return false
		}
		one := s.join(i.Namespace)
		if !one.tryAcquire() {
			s.leave(one)
			leftOut = true
			return true
		}
		c.shares[i] = one
		return false
	})
	return leftOut
}

// takeShare gives an executor the slot of its namespace that its run was claimed with, or else lets it wait for one.
func (x *executor) takeShare(of *claimable) {
	if x.share = of.shares[x.instance]; x.share != nil {
		x.shared = true
		delete(of.shares, x.instance)
		return
	}
	x.share = x.partition.w.shares.join(x.instance.Namespace)
}

// hasShare reports whether the executor has a slot of its namespace, which it takes if one is free now.
func (x *executor) hasShare() bool {
	x.shared = x.shared || x.share.tryAcquire()
	return x.shared
}

// leaveShare gives the slot of the namespace back.
func (x *executor) leaveShare() {
	if x.shared {
		x.shared = false
		x.share.release()
	}
}
