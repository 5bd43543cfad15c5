package main

import (
	"os"
	"path/filepath"
	"testing"
)

func TestReplaceFileKeepsPermissionsAndLinks(t *testing.T) {
	file := mustWriteFile(t, "a.yaml", "old")
	link := filepath.Join(t.TempDir(), "link.yaml")
	if err := os.Chmod(file, 0o640); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(file, link); err != nil {
		t.Skip("links cannot be made here:", err)
	}
	if err := replaceFile(link, []byte("new")); err != nil {
		t.Fatal(err)
	}
	info, err := os.Lstat(link)
	if err != nil || info.Mode()&os.ModeSymlink == 0 {
		t.Errorf("the link is gone: %v %v", info, err)
	}
	text, err := os.ReadFile(file)
	if err != nil || string(text) != "new" {
		t.Errorf("got %q, %v", text, err)
	}
	if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o640 {
		t.Errorf("got %v, %v, want the permissions 0640", info.Mode(), err)
	}
	if left, _ := filepath.Glob(filepath.Join(filepath.Dir(file), ".swrun-*")); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}
