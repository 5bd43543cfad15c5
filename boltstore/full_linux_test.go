package boltstore_test

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/swrun/swrun/boltstore"
	"github.com/swrun/swrun/errors"
	"github.com/swrun/swrun/internal/disktest"
	"github.com/swrun/swrun/runtime/store"
)

// TestFullDisk: a full disk refuses writes, with the reason, and nothing is half written. When it has room again, the store continues.
func TestFullDisk(t *testing.T) {
	disk := disktest.Over(t, t.TempDir(), "2m")
	told := 0
	path := filepath.Join(disk.Folder, "store.db")
	s := mustOpen(t, path, boltstore.Config{Partitions: 1, Failed: func(error) { told++ }})
	start := func(n int) error {
		_, err := s.Start(t.Context(), store.Start{Instance: store.Instance{Namespace: "test", ID: fmt.Sprint("r", n)}, Invocation: bytes.Repeat([]byte("i"), 50_000)})
		return err
	}
	stored, refused := 0, error(nil)
	for ; refused == nil && stored < 1000; stored++ {
		refused = start(stored)
	}
	stored--
	var unwritten *boltstore.WriteError
	if !errors.As(refused, &unwritten) || !strings.Contains(refused.Error(), syscall.ENOSPC.Error()) || told == 0 {
		t.Fatalf("after %d: %v, told %d times", stored, refused, told)
	}
	// Small writes are refused too: a claimed run must be able to store its results.
	if _, err := s.Claim(t.Context(), store.Claim{Instances: []store.Instance{{Namespace: "test", ID: "r0"}}, Worker: "w", Nonce: "n", Lease: time.Hour}); !errors.As(err, &unwritten) {
		t.Errorf("claimed: %v", err)
	}
	if st, err := s.Statistics(t.Context(), 0); err != nil || st.Ready != int64(stored) {
		t.Errorf("%d were stored, and %+v are there: %v", stored, st, err)
	}
	disk.Resize("64m")
	for errors.As(start(stored), &unwritten) { // until it is tried again
	}
	if st, err := s.Statistics(t.Context(), 0); err != nil || st.Ready != int64(stored)+1 {
		t.Errorf("with room again there are %+v, %v", st, err)
	}
}

// TestFullDiskAtFirst: a file that cannot be made leaves nothing behind that looks like a damaged one.
func TestFullDiskAtFirst(t *testing.T) {
	disk := disktest.Over(t, t.TempDir(), "12k")
	path := filepath.Join(disk.Folder, "store.db")
	if _, err := boltstore.Open(t.Context(), path, boltstore.Config{}); err == nil || !strings.Contains(err.Error(), syscall.ENOSPC.Error()) {
		t.Fatal(err)
	}
	disk.Resize("8m")
	mustOpen(t, path, boltstore.Config{})
}

// TestFileTooLarge: a file that may not grow (ulimit -f) is a full disk, also at first. The limit is one of the whole process,
// so that the test has a process of its own.
func TestFileTooLarge(t *testing.T) {
	const variable = "SWRUN_TEST_FILE_SIZE"
	if os.Getenv(variable) == "" {
		own := exec.Command(os.Args[0], "-test.run=^TestFileTooLarge$", "-test.v")
		own.Env = append(os.Environ(), variable+"=limited")
		if out, err := own.CombinedOutput(); err != nil || !strings.Contains(string(out), "--- PASS: TestFileTooLarge") {
			t.Errorf("%v\n%s", err, out)
		}
		return
	}
	var before syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_FSIZE, &before); err != nil {
		t.Fatal(err)
	}
	allow := func(most uint64) {
		if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &syscall.Rlimit{Cur: most, Max: before.Max}); err != nil {
			t.Fatal(err)
		}
	}
	defer allow(before.Cur)
	path := filepath.Join(t.TempDir(), "store.db")
	allow(8 << 10)
	if _, err := boltstore.Open(t.Context(), path, boltstore.Config{}); err == nil || !strings.Contains(err.Error(), syscall.EFBIG.Error()) {
		t.Fatal(err)
	}
	allow(before.Cur)
	s := mustOpen(t, path, boltstore.Config{Partitions: 1})
	allow(8 << 10)
	var unwritten *boltstore.WriteError
	_, err := s.Start(t.Context(), store.Start{Instance: store.Instance{Namespace: "test", ID: "r"}, Invocation: bytes.Repeat([]byte("i"), 100_000)})
	if !errors.As(err, &unwritten) {
		t.Error(err)
	}
}
