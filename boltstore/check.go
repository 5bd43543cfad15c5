package boltstore

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"time"

	"github.com/swrun/swrun/errors"
)

// check determines whether a file can be opened, before anything is written to it. fresh is true if it does not exist.
func check(ctx context.Context, path string, wait time.Duration) (fresh bool, err error) {
	info, err := filled(ctx, path, wait)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return true, nil
	case err != nil:
		return false, fmt.Errorf("open the store: %w", err)
	case !info.Mode().IsRegular():
		return false, fmt.Errorf("open the store %s: it is not a file", path)
	case info.Size() == 0:
		return false, &DamagedError{Path: path, Detail: "it is empty; if there has never been anything in it, remove it"}
	}
	g := newGroup(path, func(error) {})
	return false, g.guarded(func(*call) error { return g.check(wait) })
}

// filled returns the information about a file. An empty file may be about to be filled by the process that created it.
func filled(ctx context.Context, path string, wait time.Duration) (fs.FileInfo, error) {
	for until := time.Now().Add(wait); ; {
		info, err := os.Stat(path)
		if err != nil || info.Size() > 0 || !info.Mode().IsRegular() || time.Now().After(until) {
			return info, err
		}
		select {
		case <-ctx.Done():
			return info, context.Cause(ctx)
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// check follows the pages of a file that no process writes to during the check.
func (g *group) check(wait time.Duration) error {
	db, file, err := openFile(g.path, wait, true)
	if file != nil {
		defer file.Close() // as db does, unless its close is blocked; the file was only read
	}
	var held *HeldError
	switch {
	case errors.As(err, &held), errors.Is(err, fs.ErrPermission):
		return err
	case err != nil:
		return &DamagedError{Path: g.path, Detail: err.Error()}
	}
	defer db.Close() // the same
	info, err := file.Stat()
	if err != nil {
		return err
	}
	if err := checkPages(file, info.Size(), int64(db.Info().PageSize)); err != nil {
		return &DamagedError{Path: g.path, Detail: err.Error()}
	}
	return nil
}
