package boltstore

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"syscall"
	"time"

	"go.etcd.io/bbolt"

	"github.com/swrun/swrun/errors"
	"github.com/swrun/swrun/runtime/kvstore"
	"github.com/swrun/swrun/runtime/store"
)

const (
	// probeKey is written to find out whether the file can be written to.
	probeKey = "probe"
	// provenFor is how long a write proves that the file can be written to: an idle file is written to no more often.
	provenFor = time.Minute
)

// Examine implements store.Examiner. The disk must have as much room beside the file as the last failed write needed, and the file must
// take a write, unless it took one within provenFor.
func (s *Store) Examine(ctx context.Context) []store.Ailment {
	return store.ExamineWithin(ctx, store.Ailment{
		What: fmt.Sprintf("the file of the store %s is not written in time", s.group.path), Fix: "find the cause of the disk's load, or check whether it is a network drive that does not answer",
	}, s.examine)
}

func (s *Store) examine() (all []store.Ailment) {
	if err := s.cut(); err != nil {
		return append(all, ailment(err))
	}
	if err := s.group.prove(); err != nil {
		all = append(all, ailment(err))
	}
	return all
}

// cut returns a *DamagedError if the file has become shorter than its pages need.
func (s *Store) cut() error {
	return s.group.guarded(func(*call) error {
		return s.group.db.View(func(tx *bbolt.Tx) error {
			s.group.isWhole(tx)
			return nil
		})
	})
}

// inPlace returns a *GoneError if the path of the file leads to none, or to another one: its folder may have been renamed, too.
func (g *group) inPlace() error {
	own, err := g.file.Stat()
	if err != nil {
		return nil // it is closed
	}
	switch there, err := os.Stat(g.path); {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ENOTDIR):
		return &GoneError{g.path, "removed"}
	case err == nil && !os.SameFile(own, there):
		return &GoneError{g.path, "replaced"}
	}
	return nil // the file may be there and only its folder be closed to this process: nothing is lost
}

// prove returns why the file cannot be written to.
func (g *group) prove() error {
	if err := g.inPlace(); err != nil {
		return err
	}
	failure := g.unwritten.Load()
	needs := int64(leastRoom)
	if failure != nil {
		needs = failure.needs
	}
	if err := tryRoom(g.path, needs); isFull(err) || isOneOf(err, syscall.EROFS, syscall.EIO) {
		return &WriteError{Path: g.path, Err: err}
	}
	if failure == nil && time.Since(time.Unix(0, g.wrote.Load())) < provenFor {
		return g.guarded(func(*call) error { return nil })
	}
	value := make([]byte, 1)
	if failure != nil {
		value = make([]byte, needs/2)
	}
	return g.Update(func(tx kvstore.Tx) error {
		tx.Put(probeKey, value)
		return nil
	})
}

// Diagnose implements store.Diagnoser.
func (s *Store) Diagnose(err error) (a store.Ailment, known bool) {
	if errors.As(err, new(*GoneError)) || errors.As(err, new(*DamagedError)) || errors.As(err, new(*ClosedError)) || errors.As(err, new(*WriteError)) {
		return ailment(err), true
	}
	return a, false
}

// Remedy returns what to do about an error of a file that damage, its disk or an attribute of it causes; "" if it is another one.
func Remedy(err error) string {
	if a := ailment(err); a.Reason != store.Unwritable || errors.As(err, new(*WriteError)) {
		return a.Fix
	}
	return ""
}

// ailment returns the ailment that an error of the file means for users of the store.
func ailment(err error) store.Ailment {
	a := store.Ailment{Reason: store.Unwritable, Refuses: store.RefusesWrites, What: err.Error(), Fix: "check the disk"}
	switch {
	case errors.As(err, new(*DamagedError)):
		a.Reason, a.Refuses, a.Fix = store.Damaged, store.RefusesAll, "put a copy of the file back, or move it away: nothing is written to it any more"
	case errors.As(err, new(*GoneError)):
		a.Reason, a.Fix = store.Gone, "put the file back to where it was: runs then continue automatically. If it is gone for good, export the important runs (swrun export) before this process ends"
	case errors.As(err, new(*ClosedError)):
		a.Reason, a.Refuses, a.Fix = store.Gone, store.RefusesAll, "start the process again"
	case isFull(err):
		a.Reason, a.Fix = store.DiskFull, "make room on the disk, or raise the limit of the process (ulimit -f): earlier writes are kept, and runs then continue automatically"
	case isOneOf(err, syscall.EROFS):
		a.Reason, a.Fix = store.ReadOnly, "mount the file system so that it can be written to; if it became read-only unexpectedly, the disk has an error: see dmesg"
	case isOneOf(err, syscall.EPERM):
		a.Reason, a.Fix = store.ReadOnly, "let the file be written to: lsattr shows whether it was made immutable"
	}
	return a
}
