// Package storesocket is the Unix socket beside the file of a store. Only one process at a time has such a file: it answers there what other
// commands of the same user ask. Who may open the socket is who owns it.
package storesocket

import (
	"bytes"
	"context"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"syscall"

	"github.com/swrun/swrun/errors"
)

// maxPath is how long the path of a socket may be everywhere.
const maxPath = 100

// socketOf returns where the socket of a store's file is, or a small file that says where it is.
func socketOf(file string) string { return file + ".sock" }

// Listen listens for other commands. The caller has the file, so that a socket which is there was left by a process that is gone.
func Listen(ctx context.Context, file string) (net.Listener, error) {
	at := socketOf(file)
	if err := os.Remove(at); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("remove the socket that is left: %w", err)
	}
	if len(at) <= maxPath {
		return listen(ctx, at)
	}
	folder, err := os.MkdirTemp("", "swrun-")
	if err != nil {
		return nil, err
	}
	l, err := listen(ctx, filepath.Join(folder, "socket"))
	if err == nil {
		err = os.WriteFile(at, []byte(l.Addr().String()), 0o600)
	}
	return &elsewhere{l, at, folder}, err
}

func listen(ctx context.Context, at string) (net.Listener, error) {
	before := syscall.Umask(0o177) // nobody else may open it, not even for a moment
	defer syscall.Umask(before)
	return new(net.ListenConfig).Listen(ctx, "unix", at)
}

// elsewhere is a listener whose socket is not beside the file.
type elsewhere struct {
	net.Listener
	note, folder string
}

// Close ends the listening, and removes what says where the socket was.
func (e *elsewhere) Close() error {
	var err error
	if e.Listener != nil {
		err = e.Listener.Close()
	}
	return errors.Join(err, os.Remove(e.note), os.RemoveAll(e.folder))
}

// ErrNobody says that nobody listens beside a file.
var ErrNobody = errors.New("nobody listens beside the file")

// Dial connects to whoever has the file. ErrNobody says that nobody listens: nobody has it, or somebody does without answering others.
func Dial(ctx context.Context, file string) (net.Conn, error) {
	at := socketOf(file)
	info, err := os.Lstat(at)
	if err == nil && info.Mode().IsRegular() {
		var text []byte
		text, err = os.ReadFile(at)
		at = string(bytes.TrimSpace(text))
	}
	if err != nil {
		return nil, nobody(err)
	}
	c, err := new(net.Dialer).DialContext(ctx, "unix", at)
	if err != nil {
		return nil, nobody(err)
	}
	return c, nil
}

// nobody tells errors that mean that nobody listens from others.
func nobody(err error) error {
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ECONNREFUSED) || errors.Is(err, syscall.ENOTDIR) {
		return ErrNobody
	}
	return err
}
