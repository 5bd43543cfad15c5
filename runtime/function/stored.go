package function

import (
	"context"
	"fmt"
	"io/fs"
	"strings"
	"time"

	"github.com/swrun/swrun/errors"
	"github.com/swrun/swrun/runtime/definition"
	"github.com/swrun/swrun/runtime/store"
)

// Functions are the deployed functions of a store. It is safe for concurrent use.
type Functions struct {
	registry store.Registry
	now      func() time.Time
}

// New returns the functions that a registry keeps; now is the clock of this process.
func New(r store.Registry, now func() time.Time) *Functions { return &Functions{r, now} }

// stored is a function as the registry keeps it, under name:version.
type stored struct {
	Files  Files     `json:"files"`
	Digest string    `json:"digest"` // proves that the files are complete
	At     time.Time `json:"at"`
	By     string    `json:"by,omitempty"`
}

// maxDeployments is how often a function that is removed concurrently is stored again.
const maxDeployments = 100

// Deploy stores a function, name:version, permanently; again reports that the same function was deployed before. A different one is refused
// as a store.Conflict, and one that is too large is an *errors.Error. Of several concurrent deployments, one succeeds.
func (f *Functions) Deploy(ctx context.Context, named string, files Files, by string) (d Deployed, again bool, err error) {
	if err := files.Check(); err != nil {
		return d, false, err
	}
	s := stored{Files: files, Digest: files.Digest(), At: f.now().UTC().Truncate(time.Millisecond), By: by}
	value, err := store.EncodeEntry(store.RegistryFunctions, s)
	if err != nil {
		return d, false, fmt.Errorf("write a function: %w", err)
	}
	for range maxDeployments {
		_, err = f.registry.Register(ctx, store.Registration{Kind: store.RegistryFunctions, Key: named, Value: value})
		if store.RefusedAs(err) != store.Conflict {
			return s.deployed(named), false, err
		}
		there, _, read := f.Of(ctx, named)
		switch {
		case store.RefusedAs(read) == store.NoSuch:
			continue
		case read != nil:
			return d, false, read
		case there.Digest == s.Digest:
			return there, true, nil
		}
		return d, false, &store.Refusal{Code: store.Conflict, Detail: "the function " + named, Reason: "is deployed already, as another one: give it a new version"}
	}
	return d, false, err
}

// Of returns a deployed function. A missing one is refused as store.NoSuch, and a damaged one is a *DamagedError.
func (f *Functions) Of(ctx context.Context, named string) (d Deployed, files Files, err error) {
	r, err := f.entry(ctx, named)
	if err != nil {
		return d, nil, err
	}
	s, err := read(r)
	return s.deployed(named), s.Files, err
}

// entry returns the entry of a function.
func (f *Functions) entry(ctx context.Context, named string) (store.Registered, error) {
	r, err := f.registry.Registered(ctx, store.RegistryFunctions, named)
	switch store.RefusedAs(err) {
	case store.NoSuch, store.Limit, store.Invalid: // the latter two are of names that nothing can have
		return r, &store.Refusal{Code: store.NoSuch, Detail: "function " + named}
	case store.Corrupt:
		return r, &DamagedError{named, err}
	}
	if err != nil {
		err = &UnavailableError{named, err}
	}
	return r, err
}

// Load returns the files of a deployed function, for loading a document. The error of a function that is not deployed wraps fs.ErrNotExist.
func (f *Functions) Load(ctx context.Context, named string) (map[string][]byte, error) {
	_, files, err := f.Of(ctx, named)
	if store.RefusedAs(err) == store.NoSuch {
		err = fmt.Errorf("%w: %w", err, fs.ErrNotExist)
	}
	return files, err
}

// maxRead is how many functions are read at a time: each may have MaxSize bytes.
const maxRead = 32

// All returns the deployed functions by name, the highest version first.
func (f *Functions) All(ctx context.Context) (all []Deployed, err error) {
	for list := (store.RegistryList{Kind: store.RegistryFunctions, N: maxRead}); ; {
		some, err := f.registry.ListRegistered(ctx, list)
		if err != nil {
			return nil, err
		}
		for _, r := range some {
			s, err := read(r)
			d := s.deployed(r.Key)
			d.Damaged = err
			all = append(all, d)
		}
		if len(some) < maxRead {
			sort(all)
			return all, nil
		}
		list.After = some[len(some)-1].Key
	}
}

// Remove deletes a function, so that no workflow can be deployed with it. A missing function is refused as store.NoSuch, and a
// function that a newer swrun has written as store.Newer.
func (f *Functions) Remove(ctx context.Context, named string) error {
	if err := definition.GrantedIn(ctx).CheckAll(); err != nil {
		return err
	}
	r, err := f.entry(ctx, named)
	if err == nil {
		if unreadable := store.CheckEntry(store.RegistryFunctions, r); store.RefusedAs(unreadable) == store.Newer {
			return unreadable
		}
	}
	if errors.As(err, new(*DamagedError)) {
		r.Version, err = store.AnyVersion, nil
	}
	if err != nil {
		return err
	}
	return f.registry.Unregister(ctx, store.RegistryFunctions, named, r.Version)
}

// read parses an entry; a damaged entry is a *DamagedError.
func read(r store.Registered) (stored, error) {
	s, err := store.DecodeEntry[stored](store.RegistryFunctions, r)
	switch {
	case err != nil:
		return stored{}, &DamagedError{r.Key, err}
	case s.Digest != s.Files.Digest() || s.Files[File] == nil:
		return stored{}, &DamagedError{r.Key, errors.New("its files differ from the deployed ones")}
	}
	return s, nil
}

// CheckEntry reports why an entry of the functions cannot be read.
func CheckEntry(r store.Registered) error {
	_, err := read(r)
	return err
}

func (s *stored) deployed(named string) Deployed {
	d := Deployed{Digest: s.Digest, Size: s.Files.Size(), At: s.At, By: s.By}
	d.Name, d.Version, _ = strings.Cut(named, ":")
	return d
}
