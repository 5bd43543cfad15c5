package boltstore_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/swrun/swrun/boltstore"
)

// TestOwnerFollowsNoLink: the file that names the holder of a store is not written through a foreign link in its place.
func TestOwnerFollowsNoLink(t *testing.T) {
	folder := t.TempDir()
	file, victim := filepath.Join(folder, "store.db"), filepath.Join(folder, "victim")
	if err := os.WriteFile(victim, []byte("precious"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(victim, file+".owner"); err != nil {
		t.Fatal(err)
	}
	s, err := boltstore.Open(t.Context(), file, boltstore.Config{})
	if err != nil {
		t.Fatal(err)
	}
	info, err := os.Lstat(file + ".owner")
	if text, _ := os.ReadFile(victim); string(text) != "precious" || err != nil || !info.Mode().IsRegular() {
		t.Errorf("the file behind the link is %q, the note is %v, %v", text, info, err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
}
