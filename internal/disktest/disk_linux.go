// Package disktest mounts small disks for tests: disks that become full or read-only while a file on them is open. Only Linux can do that, and only
// where the test may mount: a test is skipped elsewhere, and says why.
package disktest

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// Disk is mounted over a folder until its test ends.
type Disk struct {
	Folder string

	t testing.TB
}

// Over mounts a disk in memory over a folder. Its size is for example "6m".
func Over(t testing.TB, folder, size string) *Disk {
	t.Helper()
	if err := syscall.Mount("tmpfs", folder, "tmpfs", 0, "size="+size); err != nil {
		t.Skip("a disk of its own cannot be made: ", err)
	}
	return kept(t, folder)
}

// kept unmounts a disk when its test ends.
func kept(t testing.TB, folder string) *Disk {
	t.Cleanup(func() { syscall.Unmount(folder, syscall.MNT_DETACH) }) // what still uses it keeps it until then
	return &Disk{folder, t}
}

// Resize gives a disk of Over another size.
func (d *Disk) Resize(size string) {
	d.t.Helper()
	if err := syscall.Mount("tmpfs", d.Folder, "tmpfs", syscall.MS_REMOUNT, "size="+size); err != nil {
		d.t.Fatal(err)
	}
}

// Fill leaves no room on the disk.
func (d *Disk) Fill() {
	os.WriteFile(d.filler(), make([]byte, 8<<20), 0o600) // it ends with the error that is wanted
}

// Free undoes Fill.
func (d *Disk) Free() { os.Remove(d.filler()) }

func (d *Disk) filler() string { return filepath.Join(d.Folder, "filler") }

// Breaking mounts a disk of 16 MB over a folder. The kernel makes it read-only at its first error: no remount does that to a disk with a file that is
// open for writing. A disk like that is never well again.
func Breaking(t testing.TB, folder string) *Disk {
	t.Helper()
	image := filepath.Join(t.TempDir(), "disk")
	if err := os.WriteFile(image, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(image, 16<<20); err != nil {
		t.Fatal(err)
	}
	for _, command := range [][]string{
		{"mkfs.ext4", "-q", "-F", "-O", "^has_journal", image}, // without a journal it needs little room
		{"mount", "-o", "loop,errors=remount-ro", image, folder},
	} {
		if out, err := exec.Command(command[0], command[1:]...).CombinedOutput(); err != nil {
			t.Skipf("a disk that breaks cannot be made (it needs root, a loop device, and the packages e2fsprogs and mount): %s: %v\n%s", command[0], err, out)
		}
	}
	return kept(t, folder)
}

// Break makes the disk fail: from now on the kernel lets nobody write to it.
func (d *Disk) Break() {
	d.t.Helper()
	var is syscall.Stat_t
	if err := syscall.Stat(d.Folder, &is); err != nil {
		d.t.Fatal(err)
	}
	device, err := os.Readlink(fmt.Sprintf("/sys/dev/block/%d:%d", unix.Major(is.Dev), unix.Minor(is.Dev)))
	if err != nil {
		d.t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join("/sys/fs/ext4", filepath.Base(device), "trigger_fs_error"), []byte("a test"), 0o200); err != nil {
		d.t.Fatal(err)
	}
}

// Lock makes a file immutable until Unlock, or until the test ends: also root may not write to it then.
func Lock(t testing.TB, path string) {
	t.Helper()
	if err := change(path, "+i"); err != nil {
		t.Skip("a file cannot be made immutable here: ", err)
	}
	t.Cleanup(func() { change(path, "-i") }) // so that it can be removed
}

// Unlock undoes Lock.
func Unlock(t testing.TB, path string) {
	t.Helper()
	if err := change(path, "-i"); err != nil {
		t.Fatal(err)
	}
}

func change(path, attribute string) error {
	if out, err := exec.Command("chattr", attribute, path).CombinedOutput(); err != nil {
		return fmt.Errorf("chattr: %w: %s", err, out)
	}
	return nil
}
