// Package function keeps the deployed functions: the default catalog of a store, for all namespaces. Each is an entry of the store's
// registry, with its files. An entry never changes. Removing it does not affect workflows that were deployed with it.
package function

import (
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/swrun/swrun/errors"
	"github.com/swrun/swrun/limits"
	"github.com/swrun/swrun/runtime/definition"
)

// File is the name of the file that contains a function. The others are files that it refers to.
const File = "function.yaml"

// Files are the files of a function, by their names below its folder.
type Files map[string][]byte

// MaxSize is how many bytes all files of a function may have, with their names: written as JSON they are an entry of the registry.
const MaxSize = 700 << 10

// Size returns how many bytes the files have, with their names.
func (f Files) Size() (size int) {
	for name, data := range f {
		size += len(name) + len(data)
	}
	return size
}

// Check returns an *errors.Error if the files are too large to be kept.
func (f Files) Check() error {
	if size := f.Size(); size > MaxSize {
		fault := errors.Limitf("the function and the files that it refers to have %d bytes, and at most %d are allowed", size, MaxSize)
		return limits.Annotate(fault, "function", size, MaxSize)
	}
	return nil
}

// Digest identifies the files by their names and content.
func (f Files) Digest() string {
	sum := sha256.New()
	for _, name := range slices.Sorted(maps.Keys(f)) {
		fmt.Fprintf(sum, "%d:%s%d:", len(name), name, len(f[name]))
		sum.Write(f[name])
	}
	return base64.RawURLEncoding.EncodeToString(sum.Sum(nil)[:16])
}

// Deployed is the information about a deployed function.
type Deployed struct {
	Name, Version string
	Digest        string // of its files
	Size          int    // of its files
	At            time.Time
	By            string
	Damaged       error // why its entry cannot be read; nothing else is known then
}

// String returns name:version.
func (d *Deployed) String() string { return d.Name + ":" + d.Version }

// DamagedError is a function that is deployed, and whose entry cannot be read.
type DamagedError struct {
	Function string // name:version
	Err      error
}

func (e *DamagedError) Error() string {
	return fmt.Sprintf("the function %s is damaged in the store: %s", e.Function, e.Err)
}

// Unwrap returns why.
func (e *DamagedError) Unwrap() error { return e.Err }

// UnavailableError is a function that the store could not be asked for: it may be there.
type UnavailableError struct {
	Function string // name:version
	Err      error
}

func (e *UnavailableError) Error() string {
	return fmt.Sprintf("ask for the function %s: %s", e.Function, e.Err)
}

// Unwrap returns why.
func (e *UnavailableError) Unwrap() error { return e.Err }

// sort puts functions in the order of their names, and of each the versions as definition.Later has them.
func sort(all []Deployed) {
	slices.SortFunc(all, func(a, b Deployed) int {
		switch {
		case a.Name != b.Name:
			return strings.Compare(a.Name, b.Name)
		case definition.Later(a.Version, b.Version):
			return -1
		case definition.Later(b.Version, a.Version):
			return 1
		}
		return strings.Compare(a.Version, b.Version)
	})
}
