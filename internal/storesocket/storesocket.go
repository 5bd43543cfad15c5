// Package storesocket is the Unix socket beside the file of a store. Only one process at a time holds such a file: on the socket, it answers other
// commands of the same user. Only the owner of the socket may open it.
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

// maxPath is the maximum length of a socket's path on all systems.
const maxPath = 100

// socketOf returns the path of the socket of a store's file, or of a small file that names the socket.
func socketOf(file string) string { return file + ".sock" }

// Listen listens for other commands. The caller holds the file, so that an existing socket comes from a process that is gone.
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
		err = writeNote(at, l.Addr().String())
	}
	return &elsewhere{l, at, folder}, err
}

// writeNote writes the file that names the socket. It follows no link.
func writeNote(at, text string) error {
	f, err := os.OpenFile(at, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = f.WriteString(text)
	return errors.Join(err, f.Close())
}

func listen(ctx context.Context, at string) (net.Listener, error) {
	before := syscall.Umask(0o177) // no other user may open it at any moment
	defer syscall.Umask(before)
	return new(net.ListenConfig).Listen(ctx, "unix", at)
}

// elsewhere is a listener whose socket is in another folder.
type elsewhere struct {
	net.Listener
	note, folder string
}

// Close ends the listening, and removes the file that names the socket.
func (e *elsewhere) Close() error {
	var err error
	if e.Listener != nil {
		err = e.Listener.Close()
	}
	return errors.Join(err, os.Remove(e.note), os.RemoveAll(e.folder))
}

// ErrNobody reports that no process listens beside a file.
var ErrNobody = errors.New("nobody listens beside the file")

// ForeignError reports that the socket beside a file belongs to another user.
type ForeignError struct {
	Socket string
	User   uint32 // the id of its owner
}

func (e *ForeignError) Error() string {
	return fmt.Sprintf("the socket %s belongs to the user %d, who owns neither the store nor this process: whoever answers there is not the holder of the store; remove it", e.Socket, e.User)
}

// checkOwner refuses a socket, or a file that names it, unless it belongs to the owner of the store or to the user of this process.
func checkOwner(file, at string) error {
	owner, known := userOf(at)
	of, there := userOf(file)
	if !known || owner == uint32(os.Geteuid()) || there && owner == of {
		return nil
	}
	return &ForeignError{at, owner}
}

// userOf returns the owner of a file, and for a link the owner of the link.
func userOf(path string) (uint32, bool) {
	info, err := os.Lstat(path)
	if err != nil {
		return 0, false
	}
	s, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return 0, false
	}
	return s.Uid, true
}

// Dial connects to the process that holds the file. A socket of another user is a *ForeignError. ErrNobody means that no process listens: no process
// holds the file, or its holder does not answer others.
func Dial(ctx context.Context, file string) (net.Conn, error) {
	at := socketOf(file)
	info, err := os.Lstat(at)
	if err == nil && info.Mode().IsRegular() {
		var text []byte
		text, err = os.ReadFile(at)
		at = string(bytes.TrimSpace(text))
	}
	if err == nil {
		err = errors.Join(checkOwner(file, socketOf(file)), checkOwner(file, at))
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

// nobody returns ErrNobody for errors that mean that no process listens.
func nobody(err error) error {
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ECONNREFUSED) || errors.Is(err, syscall.ENOTDIR) {
		return ErrNobody
	}
	return err
}
