package store

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"time"

	"github.com/swrun/swrun/internal/form"
)

// RegistryEntry is an entry of the registry whose value is JSON of a Go type. The zero value of the type stands for no entry.
type RegistryEntry[T any] struct {
	Kind RegistryKind
	Key  string
	// For returns the lifetime of a stored value; 0 for unlimited. A nil For means unlimited as well.
	For func(*T) time.Duration
	// Replaced has Change replace an entry that cannot be read, and is told the reason. A nil Replaced has Change refuse such an entry.
	Replaced func(error)
}

// Form returns the form in which this build writes the values of a kind. A change of the contents of a kind requires the next number.
func (k RegistryKind) Form() form.Form {
	switch k {
	case RegistrySettings:
		return 2 // 1 had no events
	default:
		return 1
	}
}

// EncodeEntry returns a value as the registry keeps it: the number of its form, a space, and JSON.
func EncodeEntry(kind RegistryKind, value any) ([]byte, error) {
	data, err := json.Marshal(value)
	if err != nil {
		return nil, fmt.Errorf("write an entry of %s: %w", kind, err)
	}
	return append(append(strconv.AppendInt(nil, int64(kind.Form()), 10), ' '), data...), nil
}

// CheckEntry reports why the value of an entry cannot be read: refused as Newer if a newer build has written it, and as Corrupt otherwise.
func CheckEntry(kind RegistryKind, r Registered) error {
	_, err := entryData(kind, r)
	return err
}

// entryData returns the JSON of an entry's value.
func entryData(kind RegistryKind, r Registered) ([]byte, error) {
	if r.Damaged != nil {
		return nil, r.Damaged
	}
	number, data, _ := bytes.Cut(r.Value, []byte{' '})
	is, err := form.Parse(string(number))
	if err == nil {
		err = form.Check("its value", is, kind.Form())
	}
	if err != nil {
		return nil, RefuseUnreadable(kind.EntryName(r.Key), err, time.Time{})
	}
	return data, nil
}

// DecodeEntry reads the value of an entry of a kind. A value that cannot be read is refused as in CheckEntry.
func DecodeEntry[T any](kind RegistryKind, r Registered) (value T, err error) {
	data, err := entryData(kind, r)
	if err != nil {
		return value, err
	}
	if err := json.Unmarshal(data, &value); err != nil {
		return value, RefuseUnreadable(kind.EntryName(r.Key), err, time.Time{})
	}
	return value, nil
}

// ValueError refuses an entry that can be decoded, and has a value that nobody can set. The commands that set the value replace it.
type ValueError struct{ error }

// Unwrap returns the refusal.
func (e *ValueError) Unwrap() error { return e.error }

// RefuseValue returns the refusal of the value of an entry, for a reason; nil without one.
func RefuseValue(kind RegistryKind, r Registered, why error) error {
	if why == nil {
		return nil
	}
	return &ValueError{RefuseUnreadable(kind.EntryName(r.Key), why, time.Time{})}
}

// Load returns the value, and its version; 0 if there is no entry.
func (e RegistryEntry[T]) Load(ctx context.Context, r Registry) (value T, version int64, err error) {
	found, err := r.Registered(ctx, e.Kind, e.Key)
	if RefusedAs(err) == NoSuch {
		return value, 0, nil
	}
	if err != nil {
		return value, 0, err
	}
	value, err = DecodeEntry[T](e.Kind, found)
	return value, found.Version, err
}

// maxEntryChanges is how often a change is tried while others change the same entry.
const maxEntryChanges = 100

// Change applies change to the value and returns the new value. If change returns an error, nothing is changed and the error is returned. A
// value for which isEmpty returns true is deleted.
func (e RegistryEntry[T]) Change(ctx context.Context, r Registry, change func(*T) error, isEmpty func(*T) bool) (value T, err error) {
	for range maxEntryChanges {
		var version int64
		var lost error
		if value, version, lost, err = e.loadToChange(ctx, r); err != nil {
			return value, err
		}
		if err := change(&value); err != nil {
			return value, err
		}
		if isEmpty(&value) {
			err = r.Unregister(ctx, e.Kind, e.Key, version)
		} else {
			err = e.put(ctx, r, &value, version)
		}
		if err == nil && lost != nil {
			e.Replaced(lost)
		}
		if RefusedAs(err) != Conflict {
			return value, err
		}
	}
	return value, err
}

// loadToChange is Load for Change. If an unreadable entry is replaced, lost is the reason why it cannot be read, and the value is empty.
func (e RegistryEntry[T]) loadToChange(ctx context.Context, r Registry) (value T, version int64, lost, err error) {
	value, version, err = e.Load(ctx, r)
	if !IsUnreadable(err) || e.Replaced == nil {
		return value, version, nil, err
	}
	if version == 0 { // nothing but the key is known
		version = AnyVersion
	}
	return *new(T), version, err, nil
}

// Overwrite stores an entry in the place of any entry of the same key, even of a damaged one. If a newer swrun has written the stored entry, its
// value stays, and only its version and its end change. The version of the registration is ignored.
func Overwrite(ctx context.Context, r Registry, to Registration) (done Registered, err error) {
	for range maxEntryChanges {
		found, err := r.Registered(ctx, to.Kind, to.Key)
		if err == nil {
			err = CheckEntry(to.Kind, found)
		}
		one := to
		switch one.Version = found.Version; RefusedAs(err) {
		case Newer:
			one.Value = found.Value
		case Corrupt:
			one.Version = AnyVersion
		case NoSuch:
		default:
			if err != nil {
				return done, err
			}
		}
		if done, err = r.Register(ctx, one); RefusedAs(err) != Conflict {
			return done, err
		}
	}
	return done, Refuse(Conflict, time.Time{}, "%s", to.Kind.EntryName(to.Key))
}

// ReplaceableError is about an entry that a command can replace although it cannot be read.
type ReplaceableError struct {
	error
	Command string // of swrun, without a store
	About   string // the rest of the sentence about the command
}

// Unwrap returns the refusal.
func (e *ReplaceableError) Unwrap() error { return e.error }

// Help returns the remedy, with the flags that the command needs to use the same store.
func (e *ReplaceableError) Help(target string) string {
	help := e.Command + target + " " + e.About
	if RefusedAs(e.error) == Newer {
		help = "use the version that has written it, or lose its values: " + help
	}
	return help
}

// Replaceable adds a command to the refusal of an entry that cannot be read. It returns other errors unchanged.
func Replaceable(err error, command, about string) error {
	if !IsUnreadable(err) {
		return err
	}
	return &ReplaceableError{err, command, about}
}

func (e RegistryEntry[T]) put(ctx context.Context, r Registry, value *T, version int64) error {
	data, err := EncodeEntry(e.Kind, value)
	if err != nil {
		return err
	}
	to := Registration{Kind: e.Kind, Key: e.Key, Value: data, Version: version}
	if e.For != nil {
		to.For = e.For(value)
	}
	_, err = r.Register(ctx, to)
	return err
}
