// Package boltstore keeps runs in one local file: the embedded default, durable without a server. One process
// at a time holds the file.
package boltstore

import (
	"bytes"
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"go.etcd.io/bbolt"
	berrors "go.etcd.io/bbolt/errors"

	"github.com/swrun/swrun/errors"
	"github.com/swrun/swrun/runtime/kvstore"
	"github.com/swrun/swrun/runtime/store"
)

// Config configures a store. The zero value is useful.
type Config struct {
	Partitions int              // of a new file; default 4: there is one process only
	Now        func() time.Time // the store's clock; default time.Now
	Wait       time.Duration    // for another process to let go of the file; default 2 s
	Failed     func(error)      // is called when the file cannot be written or read; may be nil
}

const defaultPartitions = 4

// Store is a store.Store in a file.
type Store struct {
	*kvstore.Store
	group *group
	owner string
}

// Open opens the file at path. It creates a missing file, with its folder. A *HeldError reports that another process holds the file, a
// *DamagedError that a store did not write its content.
func Open(ctx context.Context, path string, c Config) (*Store, error) {
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.Wait == 0 {
		c.Wait = 2 * time.Second
	}
	if c.Partitions == 0 {
		c.Partitions = defaultPartitions
	}
	if c.Failed == nil {
		c.Failed = func(error) {}
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, fmt.Errorf("open the store %s: %w", path, err)
	}
	fresh, err := check(ctx, path, c.Wait)
	if err != nil {
		return nil, err
	}
	s := &Store{group: newGroup(path, c.Failed), owner: ownerOf(path)}
	if err := s.group.guarded(func(*call) error { return s.open(c) }); err != nil {
		if fresh && isFull(err) {
			_ = os.Remove(path) // nothing is in it, and the next one would find it damaged
		}
		return nil, err
	}
	return s, nil
}

func ownerOf(path string) string { return path + ".owner" }

// openFile lets bbolt open a file. file is the file, also if bbolt cannot open it.
func openFile(path string, wait time.Duration, readOnly bool) (db *bbolt.DB, file *os.File, err error) {
	db, err = bbolt.Open(path, 0o600, &bbolt.Options{
		Timeout: wait, NoFreelistSync: true, FreelistType: bbolt.FreelistMapType, ReadOnly: readOnly,
		OpenFile: func(name string, flag int, mode os.FileMode) (*os.File, error) {
			var err error
			file, err = os.OpenFile(name, flag, mode)
			return file, err
		},
	})
	if errors.Is(err, berrors.ErrTimeout) {
		who, _ := os.ReadFile(ownerOf(path)) // only for the message
		err = &HeldError{Path: path, By: string(bytes.TrimSpace(who))}
	}
	return db, file, err
}

func (s *Store) open(c Config) (err error) {
	s.group.db, s.group.file, err = openFile(s.group.path, c.Wait, false)
	var held *HeldError
	if errors.As(err, &held) {
		return err
	}
	if err != nil {
		return fmt.Errorf("open the store %s: %w", s.group.path, err)
	}
	if err := s.begin(c); err != nil {
		if damaged := new(kvstore.LayoutError); errors.As(err, &damaged) {
			return errors.Join(&DamagedError{Path: s.group.path, Detail: damaged.Error()}, s.group.db.Close())
		}
		return errors.Join(fmt.Errorf("open the store %s: %w", s.group.path, err), s.group.db.Close())
	}
	return nil
}

// begin creates the basic content of a store, or checks the existing content.
func (s *Store) begin(c Config) error {
	who := fmt.Sprintf("process %d, since %s\n", os.Getpid(), c.Now().UTC().Format(time.RFC3339))
	if err := writeAnew(s.owner, []byte(who)); err != nil {
		return err
	}
	if err := s.group.db.Update(func(tx *bbolt.Tx) error {
		_, err := tx.CreateBucketIfNotExists(bucket())
		return err
	}); err != nil {
		return err
	}
	layout := store.Layout{Deployment: "local", Partitions: c.Partitions, Schema: store.Schema}
	var err error
	s.Store, err = kvstore.Open(s.group, layout, c.Now)
	return err
}

// writeAnew writes a file in place of an existing one. It follows no link: another user may have left a link in a shared folder.
func writeAnew(name string, data []byte) error {
	if err := os.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	return errors.Join(err, f.Close())
}

// Close lets go of the file. Whatever is asked of the store later is a *ClosedError.
func (s *Store) Close() error {
	s.group.drain()
	if s.group.closed.Swap(true) {
		return nil
	}
	if s.group.damage.Load() != nil {
		// After an abandoned call, bbolt may still write for it. This would fail after the file is closed, and bbolt would then follow the
		// damaged pages in a goroutine of its own, which ends the process. So only the lock is released.
		return errors.Join(os.Remove(s.owner), syscall.Flock(int(s.group.file.Fd()), syscall.LOCK_UN))
	}
	return errors.Join(os.Remove(s.owner), s.group.db.Close())
}

func bucket() []byte { return []byte("swrun") }

type transaction struct {
	b      *bbolt.Bucket
	failed error // the first write that failed; the transaction is undone then
}

func (t *transaction) Get(key string) ([]byte, bool) {
	value := t.b.Get([]byte(key))
	return value, value != nil
}

func (t *transaction) Put(key string, value []byte) {
	if err := t.b.Put([]byte(key), append([]byte{}, value...)); err != nil && t.failed == nil {
		t.failed = fmt.Errorf("write %s: %w", key, err)
	}
}

func (t *transaction) Delete(key string) {
	if err := t.b.Delete([]byte(key)); err != nil && t.failed == nil {
		t.failed = fmt.Errorf("delete %s: %w", key, err)
	}
}

func (t *transaction) Scan(prefix, from string, f func(string, []byte) bool) {
	c := t.b.Cursor()
	for key, value := c.Seek([]byte(from)); bytes.HasPrefix(key, []byte(prefix)) && key != nil; key, value = c.Next() {
		if !f(string(key), value) {
			return
		}
	}
}

func (t *transaction) ScanBack(prefix, to string, f func(string, []byte) bool) {
	c := t.b.Cursor()
	before := c.Prev
	if key, _ := c.Seek([]byte(to)); key == nil {
		before = c.Last
	}
	for key, value := before(); bytes.HasPrefix(key, []byte(prefix)) && key != nil; key, value = c.Prev() {
		if !f(string(key), value) {
			return
		}
	}
}
