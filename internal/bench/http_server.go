package bench

import (
	"bufio"

	"github.com/swrun/swrun/errors"

	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strings"
)

// startServer starts this program as a server, and returns where it listens.
func (b *benchmark) startServer() (address string, stop func(), err error) {
	self, err := os.Executable()
	if err != nil {
		return "", nil, err
	}
	c := exec.Command(self, "bench", "http")
	c.Env, c.Stderr = append(os.Environ(), ServerVariable+"=1"), b.Stderr
	life, err := c.StdinPipe() // the server ends when it is closed, however this process ends
	if err != nil {
		return "", nil, err
	}
	output, err := c.StdoutPipe()
	if err != nil {
		return "", nil, err
	}
	if err := c.Start(); err != nil {
		return "", nil, err
	}
	stop = func() { life.Close(); _ = c.Wait() } // it ends when its input does
	if address, err = bufio.NewReader(output).ReadString('\n'); err != nil {
		stop()
		return "", nil, fmt.Errorf("the server of the measurement does not begin: %w", err)
	}
	return strings.TrimSpace(address), stop, nil
}

// Serve is what a program does that was started with ServerVariable: it says where it listens, and answers every request until its input
// ends.
func Serve(in io.Reader, out io.Writer) error {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"ok":true}`)
	})}
	served := make(chan error, 1)
	go func() { served <- server.Serve(l) }()
	fmt.Fprintln(out, l.Addr())
	_, _ = io.Copy(io.Discard, in) // its end is what is waited for
	server.Close()
	if err := <-served; !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}
