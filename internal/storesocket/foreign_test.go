package storesocket

import (
	"errors"
	"net"
	"os"
	"path/filepath"
	"testing"
)

// TestForeignSockets: files of another user beside the file of a store are neither used as a socket nor written through.
func TestForeignSockets(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can give files to another user")
	}
	const other = 65534
	file := filepath.Join(t.TempDir(), "store.db")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	l, err := Listen(t.Context(), file)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	dial := func() error {
		c, err := Dial(t.Context(), file)
		if err == nil {
			_ = c.Close()
		}
		return err
	}
	if err := dial(); err != nil {
		t.Errorf("the holder's own socket: %v", err)
	}
	if err := os.Chown(socketOf(file), other, other); err != nil {
		t.Fatal(err)
	}
	var foreign *ForeignError
	if err := dial(); !errors.As(err, &foreign) || foreign.User != other {
		t.Errorf("a socket of another user: %v", err)
	}
	if err := os.Chown(file, other, other); err != nil {
		t.Fatal(err)
	}
	if err := dial(); err != nil {
		t.Errorf("the socket of who owns the store: %v", err)
	}
}

// TestForeignNotes: a file that names the socket counts only if the file and the socket belong to the owner of the store.
func TestForeignNotes(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can give files to another user")
	}
	folder := t.TempDir()
	file, elsewhere := filepath.Join(folder, "store.db"), filepath.Join(folder, "s")
	l, err := net.Listen("unix", elsewhere)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	for name, text := range map[string]string{file: "", socketOf(file): elsewhere} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, of := range []string{socketOf(file), elsewhere} {
		if err := os.Chown(of, 65534, 65534); err != nil {
			t.Fatal(err)
		}
		if _, err := Dial(t.Context(), file); !errors.As(err, new(*ForeignError)) {
			t.Errorf("%s of another user: %v", of, err)
		}
		if err := os.Chown(of, 0, 0); err != nil {
			t.Fatal(err)
		}
	}
}
