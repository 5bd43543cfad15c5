package swrun

import (
	"context"
	"fmt"
	"io/fs"
	"log/slog"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/swrun/swrun/boltstore"
	"github.com/swrun/swrun/errors"
	"github.com/swrun/swrun/memstore"
	"github.com/swrun/swrun/redisstore"
	"github.com/swrun/swrun/runtime/presence"
	"github.com/swrun/swrun/runtime/store"
)

// StoreConfig configures OpenStore. The zero value is useful.
type StoreConfig struct {
	// Require is the minimum durability of a Redis; OpenStore refuses a Redis that may lose more. Default redisstore.DurabilityMemory.
	Require redisstore.Durability
	// Existing refuses a missing file (fs.ErrNotExist); otherwise the file is created.
	Existing bool
	// ReadOnly opens a Redis that accepts no writes, such as a replica, for readers only. Operations that write fail.
	ReadOnly bool
	// Log reports that a Redis does not answer (ERROR), and that it answers again (INFO); default: no log. The Redis client writes lines of its own to
	// standard error: redis.SetLogger of github.com/redis/go-redis/v9 changes that for the whole program.
	Log *slog.Logger
	Now func() time.Time // the clock of stores in memory and in a file; default time.Now
}

// Store is an opened store of runs. Close releases it.
type Store struct {
	store.Store
	url    string
	local  bool
	places storePlaces // of a Redis; nil for none
	failed chan error
	close  func() error

	mu      sync.Mutex
	working int // number of engines that work on a store that only this process uses
}

// OpenStore opens the store that a URL names:
//
//	redis://HOST:PORT    a Redis, also rediss://, redis+cluster:// and rediss+cluster://: any number of processes share it
//	file:PATH            a file, which is made with its folders, and which one process at a time has
//	memory:              nothing is kept
//
// A *StoreURLError is a URL that names no store. A *boltstore.HeldError means that another process holds the file, and a *boltstore.DamagedError that
// the file is damaged.
func OpenStore(ctx context.Context, at string, c StoreConfig) (*Store, error) {
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	scheme, rest, ok := strings.Cut(at, ":")
	if !ok {
		return nil, &StoreURLError{at, "is not a store: it must be a URL", "for example redis://localhost:6379 or file:runs.db"}
	}
	switch scheme {
	case "redis", "rediss", "redis+cluster", "rediss+cluster":
		return openRedis(ctx, at, c)
	case "file":
		return openFile(ctx, at, c)
	case "memory":
		if rest != "" {
			return nil, &StoreURLError{at, "is not a store: one in memory has no name", "memory: is all there is to write"}
		}
		s := memstore.New(memstore.Config{Partitions: 1, Now: c.Now})
		return &Store{Store: s, url: at, local: true, close: func() error { return nil }}, nil
	}
	return nil, &StoreURLError{at, "is not a kind of store", "stores: redis://, rediss://, redis+cluster://, file:PATH, memory:"}
}

// StoreURLError is a URL that names no store.
type StoreURLError struct {
	URL    string
	Detail string // the fault of the URL
	Help   string
}

func (e *StoreURLError) Error() string {
	return fmt.Sprintf("%q %s (%s)", errors.MaskURL(e.URL), e.Detail, e.Help)
}

// slowStore is the time of opening a store after which the delay is logged.
const slowStore = 700 * time.Millisecond

func openRedis(ctx context.Context, at string, c StoreConfig) (*Store, error) {
	slow := time.AfterFunc(slowStore, func() {
		c.Log.Error("the store does not answer yet; it is waited for", "store", errors.MaskURL(at))
	})
	defer slow.Stop()
	s, err := redisstore.Open(ctx, at, redisstore.Config{Require: c.Require, ReadOnly: c.ReadOnly, Log: c.Log})
	if err != nil {
		return nil, err
	}
	return &Store{Store: s, url: at, places: s, close: s.Close}, nil
}

func openFile(ctx context.Context, at string, c StoreConfig) (*Store, error) {
	path, err := filePath(at)
	if err != nil {
		return nil, err
	}
	if c.Existing {
		if _, err := os.Stat(path); err != nil {
			return nil, err
		}
	}
	if folder := filepath.Dir(path); filepath.Base(folder) == ProjectFolder {
		if err := makeProjectFolder(folder); err != nil {
			return nil, err
		}
	}
	failed := make(chan error, 1)
	s, err := boltstore.Open(ctx, path, boltstore.Config{Now: c.Now, Failed: func(err error) { tellFailure(failed, err) }})
	if err != nil {
		return nil, err
	}
	return &Store{Store: s, url: at, local: true, failed: failed, close: s.Close}, nil
}

// tellFailure keeps an error for the worker of the store. One error is enough, but damage takes precedence over all others: it ends the work.
func tellFailure(failed chan error, err error) {
	for {
		select {
		case failed <- err:
			return
		default:
		}
		if !isDamage(err) {
			return
		}
		select {
		case <-failed:
		default:
		}
	}
}

// StoreFile returns the file of a store, if its URL names a file.
func StoreFile(at string) (path string, ok bool) {
	if !strings.HasPrefix(at, "file:") {
		return "", false
	}
	path, err := filePath(at)
	return path, err == nil
}

// filePath returns the path of the file that a file: URL names.
func filePath(at string) (string, error) {
	path := strings.TrimPrefix(at, "file:")
	if u, err := url.Parse(at); err == nil {
		switch {
		case u.Host != "":
			return "", &StoreURLError{at, "names the host " + u.Host, "write file:runs.db for a file of this folder, file:///runs.db for one of the root"}
		case u.RawQuery != "" || u.Fragment != "":
			return "", &StoreURLError{at, "has options, and a file has none", "for example file:runs.db"}
		case u.Path != "":
			path = u.Path
		}
	}
	if strings.TrimSpace(path) == "" {
		return "", &StoreURLError{at, "names no file", "for example file:runs.db"}
	}
	return path, nil
}

// ProjectFolder is the name of the folder of a project that contains its store. The folder contains a .gitignore, so that runs are not committed.
const ProjectFolder = ".swrun"

// makeProjectFolder makes such a folder, if it does not exist.
func makeProjectFolder(folder string) error {
	if _, err := os.Stat(folder); !errors.Is(err, fs.ErrNotExist) {
		return nil // opening the store returns the fault
	}
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(folder, ".gitignore"), []byte("*\n"), 0o600)
}

// String returns the URL, without a password.
func (s *Store) String() string { return errors.MaskURL(s.url) }

// URL returns the URL as it was given.
func (s *Store) URL() string { return s.url }

// Local reports whether only this process uses the store, so that no other process can work on its runs.
func (s *Store) Local() bool { return s.local }

// Workers returns the present workers of the store: each Engine that works is one. For a store that only this process uses, these are engines of this
// process.
func (s *Store) Workers(ctx context.Context) ([]presence.Worker, error) {
	return presence.Workers(ctx, s.Store)
}

// Close closes the store.
func (s *Store) Close() error { return s.close() }

// failure waits for an error of a file that ends the work, and returns it; nil after ctx ended.
func (s *Store) failure(ctx context.Context, ends func(error) bool) error {
	for {
		select {
		case <-ctx.Done():
			return nil
		case err := <-s.failed:
			if ends(err) {
				return err
			}
		}
	}
}

// isDamage reports whether the error of a store is permanent. A full disk, for example, may have space again.
func isDamage(err error) bool { return errors.As(err, new(*boltstore.DamagedError)) }

// takeOver frees the runs that a killed process held: only one process at a time uses such a store, so that no other process can hold them. While
// another engine of this process works, there is nothing else to free. Call release when the work is over.
func (s *Store) takeOver(ctx context.Context, log *slog.Logger) (release func(), err error) {
	if !s.local {
		return func() {}, nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.working == 0 {
		if err := s.adoptAll(ctx, log); err != nil {
			return nil, err
		}
	}
	s.working++
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.working--
	}, nil
}

// maxRepairs is the maximum number of repairs that are logged individually when the work on a store begins.
const maxRepairs = 100

// adoptAll frees the runs that a killed process held, and logs the repairs.
func (s *Store) adoptAll(ctx context.Context, log *slog.Logger) error {
	repairs := 0
	defer func() {
		if repairs > maxRepairs {
			log.Error("more indexes had to be repaired", "repairs", repairs-maxRepairs)
		}
	}()
	for p := range s.Layout().Partitions {
		for cursor := ""; ; {
			done, err := s.Scrub(ctx, store.Scrub{Partition: p, Cursor: cursor, N: 1000, Adopt: true})
			if err != nil {
				return err
			}
			for _, what := range done.Repaired {
				if repairs++; repairs <= maxRepairs {
					log.Error("an index had to be repaired", "partition", p, "what", what)
				}
			}
			if cursor = done.Cursor; cursor == "" {
				break
			}
		}
	}
	return nil
}
