package boltstore_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/swrun/swrun/boltstore"
	"github.com/swrun/swrun/errors"
	"github.com/swrun/swrun/runtime/store"
)

// TestFileThatIsNotInItsPlace: writes that would be lost when the process ends are refused, stored data can still be read, and writes are
// accepted again when the file is back.
func TestFileThatIsNotInItsPlace(t *testing.T) {
	type place struct{ folder, file string }
	move := func(from, to string) func() error { return func() error { return os.Rename(from, to) } }
	for name, of := range map[string]func(p place) (cause, heal func() error){
		"file renamed": func(p place) (cause, heal func() error) {
			return move(p.file, p.file+".old"), move(p.file+".old", p.file)
		},
		"folder renamed": func(p place) (cause, heal func() error) {
			return move(p.folder, p.folder+".old"), move(p.folder+".old", p.folder)
		},
		"file removed":   func(p place) (cause, heal func() error) { return func() error { return os.Remove(p.file) }, nil },
		"folder removed": func(p place) (cause, heal func() error) { return func() error { return os.RemoveAll(p.folder) }, nil },
		"another file": func(p place) (cause, heal func() error) {
			return func() error {
				return errors.Join(os.Rename(p.file, p.file+".old"), os.WriteFile(p.file, []byte("x"), 0o600))
			}, move(p.file+".old", p.file)
		},
		"a copy of itself": func(p place) (cause, heal func() error) {
			return func() error {
				data, err := os.ReadFile(p.file)
				return errors.Join(err, os.Rename(p.file, p.file+".old"), os.WriteFile(p.file, data, 0o600))
			}, move(p.file+".old", p.file)
		},
		"a folder in its place": func(p place) (cause, heal func() error) {
			return func() error { return errors.Join(os.Rename(p.file, p.file+".old"), os.Mkdir(p.file, 0o700)) },
				func() error { return errors.Join(os.Remove(p.file), os.Rename(p.file+".old", p.file)) }
		},
		"a link to nothing": func(p place) (cause, heal func() error) {
			return func() error { return errors.Join(os.Rename(p.file, p.file+".old"), os.Symlink("nothing", p.file)) },
				func() error { return errors.Join(os.Remove(p.file), os.Rename(p.file+".old", p.file)) }
		},
		"a file in place of its folder": func(p place) (cause, heal func() error) {
			return func() error {
					return errors.Join(os.Rename(p.folder, p.folder+".old"), os.WriteFile(p.folder, nil, 0o600))
				},
				func() error { return errors.Join(os.Remove(p.folder), os.Rename(p.folder+".old", p.folder)) }
		},
	} {
		t.Run(name, func(t *testing.T) {
			p := place{folder: filepath.Join(t.TempDir(), "runs")}
			p.file = filepath.Join(p.folder, "store.db")
			var told error
			s, err := boltstore.Open(t.Context(), p.file, boltstore.Config{Partitions: 1, Failed: func(err error) { told = err }})
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close() // the content of the file changed
			start := func(id string) error {
				_, err := s.Start(t.Context(), store.Start{Instance: store.Instance{Namespace: "test", ID: id}, Invocation: []byte("{}")})
				return err
			}
			must := func(err error) {
				t.Helper()
				if err != nil {
					t.Fatal(err)
				}
			}
			must(start("before"))
			cause, heal := of(p)
			must(cause())
			var gone *boltstore.GoneError
			if err := start("lost"); !errors.As(err, &gone) || !errors.As(told, &gone) {
				t.Errorf("a start is answered with %v; told was %v", err, told)
			}
			if all := s.Examine(t.Context()); len(all) != 1 || all[0].Reason != store.Gone || all[0].Refuses != store.RefusesWrites {
				t.Errorf("examined: %+v", all)
			}
			if _, err := s.Load(t.Context(), store.Instance{Namespace: "test", ID: "before"}); err != nil {
				t.Errorf("what was stored before: %v", err)
			}
			if heal == nil {
				return
			}
			must(heal())
			must(start("after"))
			if all := s.Examine(t.Context()); len(all) != 0 {
				t.Errorf("examined once it is back: %+v", all)
			}
			must(s.Close())
			s, err = boltstore.Open(t.Context(), p.file, boltstore.Config{Partitions: 1})
			must(err)
			defer s.Close() // it was only read
			for _, id := range []string{"before", "after"} {
				if _, err := s.Load(t.Context(), store.Instance{Namespace: "test", ID: id}); err != nil {
					t.Error(err)
				}
			}
			if _, err := s.Load(t.Context(), store.Instance{Namespace: "test", ID: "lost"}); store.RefusedAs(err) != store.NoSuch {
				t.Errorf("the start that was refused: %v", err)
			}
		})
	}
}
