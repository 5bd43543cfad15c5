// Package boltstore keeps instances in one local file: the embedded default, durable without a server. One process
// at a time holds the file.
package boltstore

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"go.etcd.io/bbolt"

	"github.com/swrun/swrun/errors"
	"github.com/swrun/swrun/runtime"
	"github.com/swrun/swrun/runtime/kvstore"
)

// Config is what a store needs. The zero value is useful.
type Config struct {
	Partitions int              // of a new file; default 4: there is one process only
	Now        func() time.Time // the store's clock; default time.Now
	Wait       time.Duration    // for another process to let go of the file; default 2 s
}

const defaultPartitions = 4

// Store is a runtime.Store in a file.
type Store struct {
	*kvstore.Store
	db    *bbolt.DB
	group *group
	owner string
}

// Open opens the file at path, and makes it, with its folder, if it is not there. A *HeldError says that another process
// has it.
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
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, fmt.Errorf("open the store %s: %w", path, err)
	}
	owner := path + ".owner"
	db, err := bbolt.Open(path, 0o600, &bbolt.Options{Timeout: c.Wait, NoFreelistSync: true, FreelistType: bbolt.FreelistMapType})
	if errors.Is(err, bbolt.ErrTimeout) {
		who, _ := os.ReadFile(owner) // only for the message
		return nil, &HeldError{Path: path, By: string(bytes.TrimSpace(who))}
	}
	if err != nil {
		return nil, fmt.Errorf("open the store %s: %w", path, err)
	}
	s := &Store{db: db, group: &group{db: db}, owner: owner}
	if err := s.open(c); err != nil {
		return nil, errors.Join(fmt.Errorf("open the store %s: %w", path, err), db.Close())
	}
	return s, nil
}

func (s *Store) open(c Config) error {
	who := fmt.Sprintf("process %d, since %s\n", os.Getpid(), c.Now().UTC().Format(time.RFC3339))
	if err := os.WriteFile(s.owner, []byte(who), 0o600); err != nil {
		return err
	}
	if err := s.db.Update(func(tx *bbolt.Tx) error {
		_, err := tx.CreateBucketIfNotExists(bucket())
		return err
	}); err != nil {
		return err
	}
	layout := runtime.Layout{Deployment: "local", Partitions: c.Partitions, Schema: runtime.Schema}
	var err error
	s.Store, err = kvstore.Open(s.group, layout, c.Now)
	return err
}

// Close lets go of the file.
func (s *Store) Close() error {
	s.group.writers.Wait()
	return errors.Join(os.Remove(s.owner), s.db.Close())
}

// HeldError says that another process has a store's file.
type HeldError struct {
	Path string
	By   string // which process, if it told
}

func (e *HeldError) Error() string {
	by := e.By
	if by == "" {
		by = "another process"
	}
	return fmt.Sprintf("the store %s is in use by %s: wait for it to end, or use a store on Redis, which many processes can share", e.Path, by)
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
	key, value := c.Seek([]byte(to))
	if key == nil {
		key, value = c.Last()
	} else {
		key, value = c.Prev()
	}
	for ; bytes.HasPrefix(key, []byte(prefix)) && key != nil; key, value = c.Prev() {
		if !f(string(key), value) {
			return
		}
	}
}
