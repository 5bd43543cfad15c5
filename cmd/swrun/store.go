package main

import (
	"context"
	"fmt"
	"io/fs"
	"log/slog"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"
	"unicode"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/logging"
	"github.com/spf13/cobra"

	"github.com/swrun/swrun/boltstore"
	"github.com/swrun/swrun/errors"
	"github.com/swrun/swrun/memstore"
	"github.com/swrun/swrun/redisstore"
	"github.com/swrun/swrun/runtime/client"
	"github.com/swrun/swrun/runtime/store"
)

// This file finds and opens the store that instances live in.

// storeFlags say which store is meant, and how safe it has to be.
type storeFlags struct {
	url     string
	require string
	log     *slog.Logger // nil tells people on standard error
	looks   bool         // it is only looked at, so that no file is made
	works   bool         // whatever is in it is run
}

const storeUsage = "where instances live: redis://, rediss:// or redis+cluster://HOST:PORT, file:PATH, memory: (also SWRUN_STORE)"

func (f *storeFlags) add(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.url, "store", "", storeUsage)
	cmd.Flags().StringVar(&f.require, "require-durability", "memory", "refuse a Redis that may lose more: memory, everysec or fsync")
	completeValues(cmd, "require-durability", durabilities())
}

func durabilities() []string {
	return []string{string(redisstore.DurabilityMemory), string(redisstore.DurabilityEverysec), string(redisstore.DurabilityFsync)}
}

// embeddedStore is where instances live unless told otherwise, below the project's folder.
const (
	embeddedFolder = ".swrun"
	embeddedStore  = embeddedFolder + "/store.db"
)

// location returns the URL of the store, for every verb in the same way: the flag, SWRUN_STORE, or the embedded store of
// the project around the working folder. The second result tells which of them it was.
func (f *storeFlags) location(p *program) (at, because string) {
	if f.url != "" {
		return f.url, "named by --store"
	}
	if fromEnv, ok := p.env("SWRUN_STORE"); ok && fromEnv != "" {
		return fromEnv, "named by SWRUN_STORE"
	}
	folder, mark := projectFolder()
	because = "the working folder is in no project"
	if mark != "" {
		because = "the nearest folder with a " + mark + " is " + folder
	}
	return "file:" + filepath.Join(folder, embeddedStore), because
}

// projectFolder returns the nearest folder, from the working folder upward, that is the root of a project, and what marks
// it as one. If there is none, it is the working folder.
func projectFolder() (folder, mark string) {
	working, err := filepath.Abs(".")
	if err != nil {
		return ".", ""
	}
	for at := working; ; at = filepath.Dir(at) {
		for _, mark := range []string{embeddedFolder, "swrun.yaml", ".git"} {
			if _, err := os.Stat(filepath.Join(at, mark)); err == nil {
				return at, mark
			}
		}
		if at == filepath.Dir(at) {
			return working, ""
		}
	}
}

// makeEmbedded makes the folder of an embedded store that is not there yet. It keeps itself out of git: nobody means to
// commit runs.
func makeEmbedded(folder string) error {
	if _, err := os.Stat(folder); !errors.Is(err, fs.ErrNotExist) {
		return nil // opening the store tells what is wrong with it
	}
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(folder, ".gitignore"), []byte("*\n"), 0o600)
}

// openedStore is a store that has to be closed.
type openedStore struct {
	store.Store
	url     string
	local   bool       // no other process works on it
	missing bool       // it is an empty one in the place of a file that is not there yet
	failed  chan error // gets what keeps a local file from being read or written; nil for other stores
	closed  func() error
}

// String names the store for people, without a password.
func (s *openedStore) String() string { return errors.MaskURL(s.url) }

// lost returns when a local file cannot be relied on any more, or ctx has ended. A disk that is full may have room again.
func (s *openedStore) lost(ctx context.Context) error {
	for {
		select {
		case <-ctx.Done():
			return nil
		case err := <-s.failed:
			var damaged *boltstore.DamagedError
			if errors.As(err, &damaged) {
				return err
			}
		}
	}
}

// Close lets go of the store.
func (s *openedStore) Close() error { return s.closed() }

// open opens the store; what is in the way ends the command with its own exit code.
func (f *storeFlags) open(ctx context.Context, p *program) (*openedStore, error) {
	if err := oneOf("--require-durability", f.require, durabilities()...); err != nil {
		return nil, err
	}
	at, because := f.location(p)
	scheme, rest, ok := strings.Cut(at, ":")
	if !ok {
		return nil, usagef("for example redis://localhost:6379 or file:runs.db", "%q, %s, is no store: it must be a URL", errors.MaskURL(at), because)
	}
	switch scheme {
	case "redis", "rediss", "redis+cluster", "rediss+cluster":
		logging.Disable() // the client library would write to standard error what is retried anyway
		if f.log == nil {
			f.log = slog.New(storeLog{p})
		}
		slow := time.AfterFunc(slowStore, func() {
			f.log.Warn(fmt.Sprintf("the store %s does not answer yet; it is waited for", errors.MaskURL(at)))
		})
		s, err := redisstore.Open(ctx, at, redisstore.Config{Require: redisstore.Durability(f.require), Log: f.log, Works: f.works})
		slow.Stop()
		if err != nil {
			return nil, storeError(err)
		}
		return &openedStore{Store: s, url: at, closed: s.Close}, nil
	case "file":
		path := rest
		if u, err := url.Parse(at); err == nil && u.Path != "" {
			path = u.Path
		}
		if strings.TrimSpace(path) == "" {
			return nil, usagef("for example --store file:runs.db", "the store %q, %s, names no file", at, because)
		}
		if _, err := os.Stat(path); f.looks && errors.Is(err, fs.ErrNotExist) {
			return f.nothing(p, at, path)
		}
		if filepath.Base(filepath.Dir(path)) == embeddedFolder {
			if err := makeEmbedded(filepath.Dir(path)); err != nil {
				return nil, storeError(err)
			}
		}
		failed := make(chan error, 1)
		s, err := boltstore.Open(ctx, path, boltstore.Config{Now: p.now, Failed: func(err error) {
			select {
			case failed <- err:
			default: // one is enough
			}
		}})
		if err != nil {
			return nil, storeError(err)
		}
		return &openedStore{Store: s, url: at, local: true, failed: failed, closed: s.Close}, nil
	case "memory":
		if rest != "" {
			return nil, usagef("memory: is all there is to write", "%q is no store: one in memory has no name", at)
		}
		return &openedStore{Store: memstore.New(memstore.Config{Partitions: 1, Now: p.now}), url: at, local: true, closed: func() error { return nil }}, nil
	}
	return nil, usagef("stores: redis://, rediss://, redis+cluster://, file:PATH, memory:", "%q is no kind of store (%s)", scheme, because)
}

// nothing is what is found in a file that is not there: nothing yet in the embedded store, and a mistake elsewhere.
func (f *storeFlags) nothing(p *program, at, path string) (*openedStore, error) {
	if fromEnv, _ := p.env("SWRUN_STORE"); f.url != "" || fromEnv != "" {
		return nil, &exitError{code: exitStore, message: "there is no store " + path, hint: "swrun deploy, run, worker and serve make one"}
	}
	return &openedStore{Store: memstore.New(memstore.Config{Partitions: 1, Now: p.now}), url: at, local: true, missing: true, closed: func() error { return nil }}, nil
}

// doctorHint is what to do about a store of which no more is known than its error.
const doctorHint = "swrun doctor tells what a store needs"

// storeError tells what is wrong with a store, with the exit code for it.
func storeError(err error) error {
	var held *boltstore.HeldError
	var damaged *boltstore.DamagedError
	var unwritten *boltstore.WriteError
	var unmeant *redisstore.URLError
	switch {
	case errors.As(err, &unmeant):
		return usagef("for example redis://localhost:6379", "%s", err)
	case errors.As(err, &damaged):
		return &exitError{code: exitStore, message: err.Error(), hint: "put a copy of the file back, or move it away: nothing was changed in it"}
	case errors.As(err, &unwritten):
		return &exitError{code: exitStore, message: err.Error(), hint: "what was stored before is kept: make room, and give the command again"}
	case errors.As(err, &held):
		return &exitError{code: exitStore, message: err.Error(), hint: "SWRUN_STORE=redis://localhost:6379 names a store that many processes can share"}
	case errors.Is(err, fs.ErrPermission):
		return &exitError{code: exitStore, message: err.Error(), hint: "you must be allowed to read and write the file and its folder; --store names another one"}
	case errors.Is(err, syscall.ENOTDIR):
		return &exitError{code: exitStore, message: err.Error(), hint: "what is in the place of the folder has to go, or --store names another file"}
	}
	return &exitError{code: exitStore, message: err.Error(), hint: doctorHint}
}

// refusalError turns what a store refuses into an exit code.
func refusalError(err error) error {
	switch store.RefusedAs(err) {
	case "":
		var option *client.OptionError
		if errors.As(err, &option) {
			return usagef("", "--%s: %s", kebab(option.Field), option.Detail)
		}
		if errors.As(err, new(*client.QuarantinedError)) {
			return &exitError{code: exitConflict, message: err.Error(), hint: "swrun history tells what it did last, its worker's log why it was lost; swrun retry lets it run again"}
		}
		return lostStore(err)
	case store.NoSuch:
		return &exitError{code: exitNotFound, message: err.Error()}
	case store.Conflict, store.Closed:
		return &exitError{code: exitConflict, message: err.Error()}
	}
	return &exitError{code: exitStore, message: err.Error()}
}

// lostStore gives what is wrong with a store itself, and not with what is asked of it, its exit code.
func lostStore(err error) error {
	var damaged *boltstore.DamagedError
	var unwritten *boltstore.WriteError
	var server redis.Error
	if errors.As(err, &damaged) || errors.As(err, &unwritten) || errors.As(err, &server) {
		return storeError(err)
	}
	return err
}

// kebab writes a name as flags are written: onDuplicate is on-duplicate.
func kebab(name string) string {
	var b strings.Builder
	for _, r := range name {
		if unicode.IsUpper(r) {
			b.WriteByte('-')
		}
		b.WriteRune(unicode.ToLower(r))
	}
	return b.String()
}

// withStore opens the store of the working folder for what do does with it.
func (p *program) withStore(f *storeFlags, do func(context.Context, *openedStore) error) (err error) {
	ctx, interrupted, stop := p.interruptible()
	defer stop()
	s, err := f.open(ctx, p)
	if signal := interrupted(); signal != nil && err != nil {
		return quietExit(signalExit(signal))
	}
	if err != nil {
		return err
	}
	defer func() {
		if closing := s.Close(); err == nil && closing != nil {
			err = fmt.Errorf("close the store: %w", closing)
		}
	}()
	err = refusalError(do(ctx, s))
	if signal := interrupted(); signal != nil && err != nil {
		return quietExit(signalExit(signal))
	}
	return err
}

// takeOver frees what a process has held that ended without a word: only one process at a time has an embedded store,
// so that nobody else can hold anything.
func (s *openedStore) takeOver(ctx context.Context) error {
	if !s.local {
		return nil
	}
	for p := range s.Layout().Partitions {
		for cursor := ""; ; {
			done, err := s.Scrub(ctx, store.Scrub{Partition: p, Cursor: cursor, N: 1000, Adopt: true})
			if err != nil {
				return err
			}
			if cursor = done.Cursor; cursor == "" {
				break
			}
		}
	}
	return nil
}
