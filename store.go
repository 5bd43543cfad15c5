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

// StoreConfig says how a store is opened. The zero value is useful.
type StoreConfig struct {
	// Require refuses a Redis that may lose more than this; default redisstore.DurabilityMemory.
	Require redisstore.Durability
	// Existing refuses a file that is not there (fs.ErrNotExist); otherwise it is made.
	Existing bool
	// ReadOnly opens a Redis that takes no writes, such as a replica, for those who only read. What would write fails.
	ReadOnly bool
	// Log says that a Redis does not answer (ERROR), and that it answers again (INFO); default discards. The Redis client writes lines of its own to standard error:
	// redis.SetLogger of github.com/redis/go-redis/v9 changes that for the whole program.
	Log *slog.Logger
	Now func() time.Time // the clock of stores in memory and in a file; default time.Now
}

// Store is where runs live. Close lets go of it.
type Store struct {
	store.Store
	url    string
	local  bool
	places storePlaces // of a Redis; nil for none
	failed chan error
	close  func() error

	mu      sync.Mutex
	working int // engines that work on a store which only this process has
}

// OpenStore opens the store that a URL names:
//
//	redis://HOST:PORT    a Redis, also rediss://, redis+cluster:// and rediss+cluster://: any number of processes share it
//	file:PATH            a file, which is made with its folders, and which one process at a time has
//	memory:              nothing is kept
//
// A *StoreURLError is a URL that names none; a *boltstore.HeldError says that another process has the file, and a
// *boltstore.DamagedError that it is not what a store has written.
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
	Detail string // what is wrong with it
	Help   string
}

func (e *StoreURLError) Error() string {
	return fmt.Sprintf("%q %s (%s)", errors.MaskURL(e.URL), e.Detail, e.Help)
}

// slowStore is how long a store may take to be opened before that is logged.
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

// tellFailure keeps an error for who works on the store. One is enough, but damage comes before all others: it ends the work.
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

// StoreFile returns the file that the URL of a store names, if it names one.
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

// ProjectFolder is what the folder of a project is called that keeps its store. It keeps itself out of git: nobody means to commit
// runs.
const ProjectFolder = ".swrun"

// makeProjectFolder makes such a folder, if it is not there yet.
func makeProjectFolder(folder string) error {
	if _, err := os.Stat(folder); !errors.Is(err, fs.ErrNotExist) {
		return nil // opening the store returns what is wrong with it
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

// Local reports whether only this process has the store, so that nobody else can work on its runs.
func (s *Store) Local() bool { return s.local }

// Workers returns the workers of the store that are there now: each Engine that works is one. For a store that only this process has,
// these are engines of this process.
func (s *Store) Workers(ctx context.Context) ([]presence.Worker, error) {
	return presence.Workers(ctx, s.Store)
}

// Close lets go of the store.
func (s *Store) Close() error { return s.close() }

// failure returns what keeps a file from being read or written, if it is to end the work on it; nil once ctx has ended.
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

// isDamage reports whether an error is that of a store which will not be well again; a disk that is full may have room again.
func isDamage(err error) bool { return errors.As(err, new(*boltstore.DamagedError)) }

// takeOver frees what a process has held that was killed: only one process at a time has such a store, so that nobody else can
// hold anything. As long as another engine of this process works, there is nothing to free but what that one holds. Call release when the work
// is over.
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

// maxRepairs bounds how many repairs are logged one by one when the work on a store begins.
const maxRepairs = 100

// adoptAll frees what a process has held that was killed, and logs what had to be repaired.
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
