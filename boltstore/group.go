package boltstore

import (
	"sync"

	"go.etcd.io/bbolt"

	"github.com/swrun/swrun/errors"
	"github.com/swrun/swrun/runtime/kvstore"
)

// group is a kvstore.Database in which the updates that come while one is being written share the next fsync.
type group struct {
	db *bbolt.DB

	mu      sync.Mutex
	waiting []*update
	writing bool
	writers sync.WaitGroup
}

// update is one transaction that waits to be written.
type update struct {
	f    func(kvstore.Tx) error
	done chan error
}

func (g *group) View(f func(kvstore.Tx) error) error {
	return g.db.View(func(tx *bbolt.Tx) error { return f(&transaction{b: tx.Bucket(bucket())}) })
}

func (g *group) Update(f func(kvstore.Tx) error) error {
	u := &update{f: f, done: make(chan error, 1)}
	g.mu.Lock()
	g.waiting = append(g.waiting, u)
	lead := !g.writing
	g.writing = true
	g.mu.Unlock()
	if lead {
		g.writers.Go(g.write)
	}
	return <-u.done
}

// write writes what waits until nothing does.
func (g *group) write() {
	for {
		g.mu.Lock()
		all := g.waiting
		g.waiting = nil
		g.writing = len(all) > 0
		g.mu.Unlock()
		if len(all) == 0 {
			return
		}
		g.together(all)
	}
}

// together writes updates in one transaction, or each in its own if one of them fails.
func (g *group) together(all []*update) {
	err := g.db.Update(func(tx *bbolt.Tx) error {
		for _, u := range all {
			if err := u.run(tx); err != nil {
				return err
			}
		}
		return nil
	})
	for _, u := range all {
		if err != nil && len(all) > 1 {
			u.done <- g.db.Update(u.run)
		} else {
			u.done <- err
		}
	}
}

func (u *update) run(tx *bbolt.Tx) error {
	t := &transaction{b: tx.Bucket(bucket())}
	return errors.Join(u.f(t), t.failed)
}
