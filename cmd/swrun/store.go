package main

import (
	"cmp"
	"context"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"unicode"

	"github.com/redis/go-redis/v9"
	"github.com/spf13/cobra"

	"github.com/swrun/swrun"
	"github.com/swrun/swrun/boltstore"
	"github.com/swrun/swrun/errors"
	"github.com/swrun/swrun/internal/terminal"
	"github.com/swrun/swrun/redisstore"
	"github.com/swrun/swrun/runtime/client"
	"github.com/swrun/swrun/runtime/function"
	"github.com/swrun/swrun/runtime/store"
)

// This file finds and opens the store of runs.

// storeFlags select the store, and its required durability.
type storeFlags struct {
	url     string
	require string
	log     *slog.Logger // nil writes to standard error, for people
	looks   bool         // it is only read, so that no file is created
	reads   bool         // nothing is changed, so that a Redis need not accept writes
	alone   bool         // no other command needs its content: it may be in memory
}

const (
	storeForms = "redis://, rediss:// or redis+cluster://HOST:PORT, file:PATH"
	storeUsage = "URL of the store: " + storeForms + "; for run and bench memory: (also SWRUN_STORE)"
)

func (f *storeFlags) add(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.url, "store", "", storeUsage)
	cmd.Flags().StringVar(&f.require, "require-durability", "memory", "durability that a Redis must have: memory, everysec or fsync")
	completeValues(cmd, "require-durability", durabilities())
}

func durabilities() []string {
	return []string{string(redisstore.DurabilityMemory), string(redisstore.DurabilityEverysec), string(redisstore.DurabilityFsync)}
}

// embeddedStore is the default place of runs, below the project's folder.
const embeddedStore = swrun.ProjectFolder + "/store.db"

// location returns the URL of the store, for every verb in the same way: the flag, SWRUN_STORE, or the embedded store of the project around the
// working folder. The second result names the source.
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

// projectFolder returns the nearest folder, from the working folder upward, that is the root of a project, and the entry that marks it. Without a
// project, it is the working folder.
func projectFolder() (folder, mark string) {
	working, err := filepath.Abs(".")
	if err != nil {
		return ".", ""
	}
	for at := working; ; at = filepath.Dir(at) {
		for _, mark := range []string{swrun.ProjectFolder, "swrun.yaml", ".git"} {
			if _, err := os.Stat(filepath.Join(at, mark)); err == nil {
				return at, mark
			}
		}
		if at == filepath.Dir(at) {
			return working, ""
		}
	}
}

// storeFlag returns the flag that another command needs to find the same store: empty, unless --store was given.
func (f *storeFlags) storeFlag() string {
	if f.url == "" {
		return ""
	}
	return " --store " + terminal.ShellWord(errors.MaskURL(f.url))
}

// openedStore is a store that must be closed.
type openedStore struct {
	*swrun.Store
	url     string
	missing string // the embedded store that does not exist yet; this store is empty in its place
}

// String names the store for people, without a password.
func (s *openedStore) String() string {
	if s.missing != "" {
		return s.missing
	}
	return s.Store.String()
}

// isHeld reports whether an error means that another process holds the file of a store.
func isHeld(err error) bool { _, held := heldBy(err); return held }

// heldBy returns the process that holds the file of a store, if the error means that there is one.
func heldBy(err error) (process string, held bool) {
	var e *boltstore.HeldError
	if !errors.As(err, &e) {
		return "", false
	}
	return e.By, true
}

// openUnlessHeld is open, except for a file that another process holds: that is a *boltstore.HeldError.
func (f *storeFlags) openUnlessHeld(ctx context.Context, p *program) (*openedStore, error) {
	if err := oneOf("--require-durability", f.require, durabilities()...); err != nil {
		return nil, err
	}
	if f.log == nil {
		f.log = slog.New(storeLog{p})
	}
	at, because := f.location(p)
	if at == "memory:" && !f.alone {
		return nil, usagef("name a persistent store, file:runs.db or redis://localhost:6379; a store in memory is for swrun run and bench", "%q, %s, is gone when the command ends", at, because)
	}
	s, err := swrun.OpenStore(ctx, at, swrun.StoreConfig{Require: redisstore.Durability(f.require), Existing: f.looks, ReadOnly: f.reads, Log: f.log, Now: p.now})
	var wrong *swrun.StoreURLError
	var missing *fs.PathError
	switch {
	case errors.As(err, &wrong):
		return nil, usagef(wrong.Help, "%q, %s, %s", errors.MaskURL(at), because, wrong.Detail)
	case f.looks && errors.As(err, &missing) && errors.Is(err, fs.ErrNotExist):
		return f.nothing(ctx, p, missing.Path)
	case isHeld(err):
		return nil, err
	case err != nil:
		return nil, storeError(err)
	}
	return &openedStore{Store: s, url: at}, nil
}

// nothing returns the result for a missing file: an empty store for the embedded store, and an error for any other.
func (f *storeFlags) nothing(ctx context.Context, p *program, path string) (*openedStore, error) {
	if fromEnv, _ := p.env("SWRUN_STORE"); f.url != "" || fromEnv != "" {
		return nil, &exitError{code: exitStore, message: "there is no store " + path, hint: "swrun deploy, run, worker and serve make one"}
	}
	s, err := swrun.OpenStore(ctx, "memory:", swrun.StoreConfig{Now: p.now})
	return &openedStore{Store: s, missing: "file:" + path}, err
}

// doctorHint returns the remedy for a store that answers with an error.
func doctorHint(target string) string { return "swrun doctor" + target + " checks the store" }

// unreadableHint returns the remedy for unreadable data in a store.
func unreadableHint(target string) string {
	return "swrun doctor" + target + " lists the entries that cannot be read, and their remedies"
}

// storeError adds the exit code and a hint to an error of a store.
func storeError(err error) error {
	var held *boltstore.HeldError
	var damaged *boltstore.DamagedError
	var unmeant *redisstore.URLError
	remedy := cmp.Or(boltstore.Remedy(err), redisstore.Remedy(err))
	switch {
	case errors.As(err, &unmeant):
		return usagef("for example redis://localhost:6379", "%s", err)
	case errors.As(err, &damaged):
		return &exitError{code: exitStore, message: err.Error(), hint: "put a copy of the file back, or move it away: nothing was changed in it"}
	case errors.As(err, new(*boltstore.GoneError)):
		return &exitError{code: exitStore, message: err.Error(), hint: "put the file back to where it was, and repeat the command"}
	case errors.As(err, &held):
		return &exitError{code: exitStore, message: err.Error(), hint: heldHint}
	case remedy != "":
		return &exitError{code: exitStore, message: err.Error(), hint: remedy}
	case errors.Is(err, fs.ErrPermission):
		return &exitError{code: exitStore, message: err.Error(), hint: "you must be allowed to read and write the file and its folder; --store names another file"}
	case errors.Is(err, syscall.ENOTDIR):
		return &exitError{code: exitStore, message: err.Error(), hint: "remove the file at the path of the folder, or name another file with --store"}
	}
	return &exitError{code: exitStore, message: err.Error(), hint: doctorHint(""), commands: doctorHint}
}

// flagOf returns the flag of an option.
func flagOf(o *client.OptionError) string {
	switch o.Field {
	case "labels":
		return "--label"
	case "seq":
		return "--task"
	}
	return "--" + kebab(o.Field)
}

// refusalError adds an exit code to a refusal of a store.
func refusalError(err error) error {
	if remote := serverError(err); remote != nil {
		return remote
	}
	switch store.RefusedAs(err) {
	case "":
		var option *client.OptionError
		if errors.As(err, &option) {
			return usagef("", "%s: %s", flagOf(option), option.Detail)
		}
		if unfit := new(client.UnfitInputError); errors.As(err, &unfit) {
			return &exitError{code: exitInput, message: unfit.Error()}
		}
		if errors.As(err, new(*client.QuarantinedError)) {
			return &exitError{code: exitConflict, message: err.Error(), hint: quarantinedHint(""), commands: quarantinedHint}
		}
		return lostStore(err)
	case store.NoSuch:
		return &exitError{code: exitNotFound, message: err.Error()}
	case store.Corrupt, store.Newer:
		var helped interface{ Help(target string) string } // a *store.ReplaceableError or a *store.ListError
		if errors.As(err, &helped) {
			return &exitError{code: exitStore, message: err.Error(), hint: helped.Help(""), commands: helped.Help}
		}
		return &exitError{code: exitStore, message: err.Error(), hint: unreadableHint(""), commands: unreadableHint}
	case store.Conflict, store.Closed, store.TimedOut:
		var continued *client.ContinuedError
		if errors.As(err, &continued) {
			return &exitError{code: exitConflict, message: err.Error(), hint: commandHint(continued.Help())}
		}
		var unfailed *client.NotFailedError
		if errors.As(err, &unfailed) {
			return &exitError{code: exitConflict, message: err.Error(), hint: unfailed.Help()}
		}
		return &exitError{code: exitConflict, message: err.Error()}
	}
	return &exitError{code: exitStore, message: err.Error()}
}

// lostStore adds the exit code to an error of a store itself, as opposed to an error of a request.
func lostStore(err error) error {
	var damaged *boltstore.DamagedError
	var server redis.Error
	var unavailable *function.UnavailableError
	if errors.As(err, &damaged) || errors.As(err, new(*boltstore.GoneError)) || errors.As(err, new(*boltstore.WriteError)) || errors.As(err, &server) || redisstore.Remedy(err) != "" || errors.As(err, &unavailable) {
		return storeError(err)
	}
	return err
}

// kebab writes a name as flags are written: onDuplicate is on-duplicate.
func kebab(name string) string {
	var b strings.Builder
	for i, r := range name {
		if unicode.IsUpper(r) && i > 0 {
			b.WriteByte('-')
		}
		b.WriteRune(unicode.ToLower(r))
	}
	return b.String()
}

// with opens the store for do. A file that another process holds is a *boltstore.HeldError.
func (f *storeFlags) with(ctx context.Context, p *program, do func(*openedStore) error) (err error) {
	s, err := f.openUnlessHeld(ctx, p)
	if err != nil {
		return err
	}
	defer func() {
		if closing := s.Close(); err == nil && closing != nil {
			err = fmt.Errorf("close the store: %w", closing)
		}
	}()
	return do(s)
}

// interruptibly lets do use a deployment until a signal arrives. Its refusals become exit codes.
func (p *program) interruptibly(do func(context.Context) error) error {
	ctx, interrupted, stop := p.interruptible()
	defer stop()
	err := refusalError(do(p.attributed(ctx)))
	if signal := interrupted(); signal != nil && err != nil {
		return quietExit(signalExit(signal))
	}
	return err
}
