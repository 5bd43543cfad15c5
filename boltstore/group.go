package boltstore

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
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
	file   *os.File
	path   string
	failed func(error) // is called with the error that prevents writing or reading the file

	damage atomic.Pointer[DamagedError] // after which the file is not touched any more
	broken chan struct{}                // closed when there is damage
	closed atomic.Bool

	unwritten atomic.Pointer[unwritten] // the last write that failed, until one as large succeeds
	wrote     atomic.Int64              // when a write succeeded last, in Unix nanoseconds
	last      atomic.Int64              // the last transaction that was written; 0 for none yet
	size      atomic.Int64              // of the file, as it was seen last

	mu      sync.Mutex
	waiting []*update
	writing bool       // by a goroutine that ends when nothing waits
	idle    *sync.Cond // of mu: the writer ended
	closing bool       // no more updates are taken

	// Only the goroutine that writes uses these.
	full  *WriteError // why the last write failed, if the disk was full
	needs int64       // bytes that must be free before the next write
	again time.Time   // when it is tried again
}

// unwritten is a failed write, with the number of bytes that it needed on the disk.
type unwritten struct{ needs int64 }

// update is one transaction that waits to be written.
type update struct {
	f    func(kvstore.Tx) error
	done chan error
}

// newGroup returns the group of a file that is not open yet.
func newGroup(path string, failed func(error)) *group {
	g := &group{path: path, failed: failed, broken: make(chan struct{})}
	g.idle = sync.NewCond(&g.mu)
	return g
}

// call is one call of bbolt.
type call struct {
	mu        sync.Mutex
	abandoned bool
}

// enter runs the caller's function in a transaction, unless the caller gave up.
func (c *call) enter(f func() error) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.abandoned {
		return errAbandoned
	}
	return f()
}

// abandon waits until nothing of the caller's runs, and keeps it from running later.
func (c *call) abandon() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.abandoned = true
}

var errAbandoned = errors.New("the caller gave up")

// guarded runs f, which reads the mapped file. Damage there becomes an error instead of the end of the process. A panic may leave bbolt's
// locks taken, and calls that wait for them never return: these calls are abandoned, with their goroutines.
func (g *group) guarded(f func(*call) error) error {
	if d := g.damage.Load(); d != nil {
		return d
	}
	if g.closed.Load() {
		return &ClosedError{g.path}
	}
	c, done := &call{}, make(chan error, 1)
	go func() { done <- g.recovered(func() error { return f(c) }) }()
	select {
	case err := <-done:
		return err
	case <-g.broken:
		c.abandon()
		return g.damage.Load()
	}
}

// recovered runs f, and returns a panic as damage.
func (g *group) recovered(f func() error) (err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if r := recover(); r != nil {
			err = g.damaged(r)
		}
	}()
	if err = f(); errors.Is(err, berrors.ErrDatabaseNotOpen) { // it was closed concurrently
		return &ClosedError{g.path}
	}
	return err
}

// damaged records damage that was found by a panic. The file is not used anymore.
func (g *group) damaged(found any) error {
	d := &DamagedError{Path: g.path, Detail: fmt.Sprint(found)}
	if _, fault := found.(runtime.Error); fault { // of the memory into which the file is mapped
		d.Detail = "pages of it are missing or overwritten, or its disk cannot be read"
	}
	if !g.damage.CompareAndSwap(nil, d) {
		return g.damage.Load()
	}
	g.failed(d) // before any caller receives the error
	close(g.broken)
	return d
}

// follows panics if a transaction does not follow the last one written by this process: another program has overwritten the file with
// another copy. The state of bbolt in memory, above all the list of free pages, is wrong for that copy.
func (g *group) follows(last, id int64) {
	if last > 0 && id != last+1 {
		panic(fmt.Sprintf("another copy was written over it: transaction %d is followed by %d", last, id))
	}
}

// isWhole panics if the file has become shorter: bbolt never makes it shorter, and the next write would make it longer again, with nothing in between.
func (g *group) isWhole(tx *bbolt.Tx) {
	own, err := g.file.Stat()
	if err != nil {
		return // it is closed
	}
	if needs := max(tx.Size(), g.size.Load()); own.Size() < needs {
		panic(fmt.Sprintf("it is cut short: %d bytes of %d are there", own.Size(), needs))
	}
	g.size.Store(own.Size())
}

func (g *group) View(f func(kvstore.Tx) error) error {
	return g.guarded(func(c *call) error {
		last := g.last.Load()
		return g.db.View(func(tx *bbolt.Tx) error {
			if int64(tx.ID()) < last {
				g.follows(last, int64(tx.ID()))
			}
			return c.enter(func() error { return f(&transaction{b: tx.Bucket(bucket())}) })
		})
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

// drain refuses further updates, and waits until the accepted ones are written.
func (g *group) drain() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.closing = true
	for g.writing {
		g.idle.Wait()
	}
}

// write writes the waiting updates until there are no more.
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
	if err := g.writable(); err != nil {
		return err
	}
	var inside error
	var tx *bbolt.Tx
	err := g.guarded(func(c *call) error {
		t, err := g.db.Begin(true)
		if err != nil {
			return err
		}
		g.follows(g.last.Load(), int64(t.ID()))
		g.isWhole(t)
		err = c.enter(func() error {
			tx = t
			inside = f(&transaction{b: t.Bucket(bucket())})
			return inside
		})
		if err != nil {
			_ = t.Rollback() // it only fails for a transaction that ended
			return err
		}
		return t.Commit()
	})
	if g.damage.Load() != nil || inside != nil || tx == nil {
		return err
	}
	stats := tx.Stats()
	if err == nil {
		g.last.Store(int64(tx.ID()))
		g.succeeded(stats.GetPageAlloc())
		return nil
	}
	g.full, g.needs, g.again = &WriteError{Path: g.path, Err: err}, max(leastRoom, 2*stats.GetPageAlloc()), time.Now().Add(tryAgain)
	g.unwritten.Store(&unwritten{g.needs})
	g.failed(g.full)
	return g.full
}

// writable returns why nothing is to be written now.
func (g *group) writable() error {
	if err := g.inPlace(); err != nil {
		g.failed(err)
		return err
	}
	return g.room()
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

// room refuses to write until a disk that was full has enough room for the failed write. Otherwise small writes would still succeed, for
// example the claim of a run whose results then cannot be stored.
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
	defer os.Remove(file.Name()) // if it cannot be removed, it is small
	_, err = file.Write(make([]byte, needs))
	return errors.Join(err, file.Close())
}

// isFull reports whether a disk is full, or a limit of the process (ulimit -f) is reached.
func isFull(err error) bool { return isOneOf(err, syscall.ENOSPC, syscall.EDQUOT, syscall.EFBIG) }

// isOneOf reports whether an error is one of some errors of the system. bbolt returns some errors as text only.
func isOneOf(err error, errnos ...syscall.Errno) bool {
	for _, one := range errnos {
		if err != nil && (errors.Is(err, one) || strings.Contains(err.Error(), one.Error())) {
			return true
		}
	}
	return false
}
