package boltstore

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"go.etcd.io/bbolt"
	berrors "go.etcd.io/bbolt/errors"

	"github.com/swrun/swrun/errors"
	"github.com/swrun/swrun/runtime/kvstore"
)

// group is a kvstore.Database in which the updates that come while one is being written share the next fsync.
type group struct {
	db     *bbolt.DB
	path   string
	failed func(error) // is called with what keeps the file from being written or read

	damage atomic.Pointer[DamagedError] // after which the file is not touched any more
	closed atomic.Bool

	unwritten atomic.Pointer[unwritten] // the last write that failed, until one as large succeeds
	wrote     atomic.Int64              // when a write succeeded last, in Unix nanoseconds

	mu      sync.Mutex
	waiting []*update
	writing bool       // by a goroutine that ends when nothing waits
	idle    *sync.Cond // of mu: it has ended
	closing bool       // no more updates are taken

	// Only the goroutine that writes uses these.
	full  *WriteError // why the last write failed, if the disk was full
	needs int64       // bytes that must be free before the next write
	again time.Time   // when it is tried again
}

// unwritten is a write that failed. It says how many bytes of the disk were needed.
type unwritten struct{ needs int64 }

// update is one transaction that waits to be written.
type update struct {
	f    func(kvstore.Tx) error
	done chan error
}

// newGroup returns the group of a file that is not open yet.
func newGroup(path string, failed func(error)) *group {
	g := &group{path: path, failed: failed}
	g.idle = sync.NewCond(&g.mu)
	return g
}

// guarded runs f, which reads the mapped file. What is damaged there is an error and not the end of the process.
func (g *group) guarded(f func() error) (err error) {
	if d := g.damage.Load(); d != nil {
		return d
	}
	if g.closed.Load() {
		return &ClosedError{g.path}
	}
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if r := recover(); r != nil {
			d := &DamagedError{Path: g.path, Detail: fmt.Sprint(r)}
			g.damage.Store(d)
			g.failed(d)
			err = d
		}
	}()
	if err = f(); errors.Is(err, berrors.ErrDatabaseNotOpen) { // it was closed meanwhile
		return &ClosedError{g.path}
	}
	return err
}

func (g *group) View(f func(kvstore.Tx) error) error {
	return g.guarded(func() error {
		return g.db.View(func(tx *bbolt.Tx) error { return f(&transaction{b: tx.Bucket(bucket())}) })
	})
}

func (g *group) Update(f func(kvstore.Tx) error) error {
	u := &update{f: f, done: make(chan error, 1)}
	g.mu.Lock()
	if g.closing {
		g.mu.Unlock()
		return &ClosedError{g.path}
	}
	g.waiting = append(g.waiting, u)
	lead := !g.writing
	g.writing = true
	g.mu.Unlock()
	if lead {
		go g.write()
	}
	return <-u.done
}

// drain refuses further updates, and waits until those that were taken have been written.
func (g *group) drain() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.closing = true
	for g.writing {
		g.idle.Wait()
	}
}

// write writes what waits until nothing does.
func (g *group) write() {
	for {
		g.mu.Lock()
		all := g.waiting
		g.waiting = nil
		g.writing = len(all) > 0
		if !g.writing {
			g.idle.Broadcast()
		}
		g.mu.Unlock()
		if len(all) == 0 {
			return
		}
		g.updateAll(all)
	}
}

// updateAll writes updates in one transaction, or each in its own if one of them fails.
func (g *group) updateAll(all []*update) {
	err := g.transact(func(t *transaction) error {
		for _, u := range all {
			if err := u.run(t); err != nil {
				return err
			}
		}
		return nil
	})
	for _, u := range all {
		if err != nil && len(all) > 1 {
			u.done <- g.transact(u.run)
		} else {
			u.done <- err
		}
	}
}

func (u *update) run(t *transaction) error { return errors.Join(u.f(t), t.failed) }

// transact runs f in a transaction that is written then.
func (g *group) transact(f func(*transaction) error) error {
	if err := g.room(); err != nil {
		return err
	}
	var inside error
	var tx *bbolt.Tx
	err := g.guarded(func() error {
		return g.db.Update(func(t *bbolt.Tx) error {
			tx = t
			inside = f(&transaction{b: t.Bucket(bucket())})
			return inside
		})
	})
	if inside != nil || tx == nil || g.damage.Load() != nil {
		return err
	}
	stats := tx.Stats()
	if err == nil {
		g.succeeded(stats.GetPageAlloc())
		return nil
	}
	g.full, g.needs, g.again = &WriteError{Path: g.path, Err: err}, max(leastRoom, 2*stats.GetPageAlloc()), time.Now().Add(tryAgain)
	g.unwritten.Store(&unwritten{g.needs})
	g.failed(g.full)
	return g.full
}

// succeeded notes a write of some bytes.
func (g *group) succeeded(bytes int64) {
	g.wrote.Store(time.Now().UnixNano())
	if failure := g.unwritten.Load(); failure != nil && bytes >= failure.needs/2 {
		g.unwritten.Store(nil)
	}
}

const (
	tryAgain  = 500 * time.Millisecond // after a write that has failed
	leastRoom = 64 << 10               // bytes that a full disk must have before it is written to again
)

// room refuses to write until a disk that was full has room for what had none. Otherwise what is small would still be
// written: that a run was taken, for example, whose results then cannot be.
func (g *group) room() error {
	if g.full == nil {
		return nil
	}
	if time.Now().Before(g.again) {
		return g.full
	}
	if err := tryRoom(g.path, g.needs); isFull(err) {
		g.again = time.Now().Add(tryAgain)
		return g.full
	}
	g.full = nil
	return nil
}

// tryRoom writes as many bytes as are needed beside the file.
func tryRoom(path string, needs int64) error {
	file, err := os.CreateTemp(filepath.Dir(path), ".swrun-room-")
	if err != nil {
		return err
	}
	defer os.Remove(file.Name()) // what cannot be removed is small
	_, err = file.Write(make([]byte, needs))
	return errors.Join(err, file.Close())
}

// isFull reports whether a disk is full, or a limit of the process (ulimit -f) is reached. bbolt returns some errors as text only.
func isFull(err error) bool {
	for _, full := range []error{syscall.ENOSPC, syscall.EDQUOT, syscall.EFBIG} {
		if err != nil && (errors.Is(err, full) || strings.Contains(err.Error(), full.Error())) {
			return true
		}
	}
	return false
}
