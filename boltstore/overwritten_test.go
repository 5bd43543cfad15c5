package boltstore_test

import (
	"bytes"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/swrun/swrun/boltstore"
	"github.com/swrun/swrun/errors"
	"github.com/swrun/swrun/internal/pacetest"
	"github.com/swrun/swrun/runtime/store"
)

const olderCopy = "an older copy"

// TestDamagedWhileOpen: damage to the file while it is open, with many concurrent readers and writers, is reported to each of them. All
// calls return, and the store can be closed.
func TestDamagedWhileOpen(t *testing.T) {
	for name, change := range map[string]func(f *os.File, whole []byte, older []byte) error{
		"header overwritten": func(f *os.File, _, _ []byte) error { _, err := f.WriteAt(make([]byte, 2*4096), 0); return err },
		"all overwritten":    func(f *os.File, whole, _ []byte) error { _, err := f.WriteAt(make([]byte, len(whole)), 0); return err },
		"pages overwritten": func(f *os.File, whole, _ []byte) error {
			_, err := f.WriteAt(bytes.Repeat([]byte{0xff}, len(whole)-2*4096), 2*4096)
			return err
		},
		"cut short": func(f *os.File, _, _ []byte) error { return f.Truncate(3 * 4096) },
		"emptied":   func(f *os.File, _, _ []byte) error { return f.Truncate(0) },
		// Before other reads and writes: otherwise a concurrent write would become a part of it, and the damage would not be noticed.
		olderCopy: func(f *os.File, _, older []byte) error { _, err := f.WriteAt(older, 0); return err },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "store.db")
			s, err := boltstore.Open(t.Context(), path, boltstore.Config{Partitions: 2})
			if err != nil {
				t.Fatal(err)
			}
			write := func() error {
				_, err := s.Register(t.Context(), store.Registration{Kind: store.RegistryTokens, Key: "t", Value: []byte("v"), Version: store.AnyVersion})
				return err
			}
			refused := func() error { // which is undone
				if err := s.Unregister(t.Context(), store.RegistryTokens, "none", 7); store.RefusedAs(err) == "" {
					return err
				}
				return nil
			}
			read := func() error { _, err := s.Poll(t.Context(), 0, 1, false); return err }
			older, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if err := write(); err != nil {
				t.Fatal(err)
			}
			whole, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			f, err := os.OpenFile(path, os.O_RDWR, 0)
			if err != nil {
				t.Fatal(err)
			}
			defer f.Close() // the written data is present
			harm := func() {
				if err := change(f, whole, older); err != nil {
					t.Error(err)
				}
			}
			if name == olderCopy {
				harm()
			}
			var all sync.WaitGroup
			told, late := make(chan error, 16), time.Now().Add(pacetest.Patience)
			for n := range cap(told) {
				all.Go(func() {
					var err error
					for err == nil && time.Now().Before(late) {
						switch n % 3 {
						case 0:
							err = read()
						case 1:
							err = write()
						case 2:
							err = refused()
						}
					}
					told <- err
				})
			}
			if name != olderCopy {
				harm()
			}
			all.Wait()
			for range cap(told) {
				if err := <-told; !errors.As(err, new(*boltstore.DamagedError)) {
					t.Errorf("somebody is told %v", err)
				}
			}
			if all := s.Examine(t.Context()); len(all) == 0 || all[0].Reason != store.Damaged || all[0].Refuses != store.RefusesAll {
				t.Errorf("examined: %+v", all)
			}
			_ = s.Close() // the content of the file changed
		})
	}
}
