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

// startServer starts this program as a server, and returns its address.
func (b *benchmark) startServer() (address string, stop func(), err error) {
	self, err := os.Executable()
	if err != nil {
		return "", nil, err
	}
	c := exec.Command(self, "bench", "http")
	c.Env, c.Stderr = append(os.Environ(), ServerVariable+"=1"), b.Stderr
	life, err := c.StdinPipe() // closing it ends the server, even if this process is killed
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
	stop = func() { life.Close(); _ = c.Wait() } // the server ends with its input
	if address, err = bufio.NewReader(output).ReadString('\n'); err != nil {
		stop()
		return "", nil, fmt.Errorf("the server of the measurement does not begin: %w", err)
	}
	return strings.TrimSpace(address), stop, nil
}

// Serve is the main function of a program that was started with ServerVariable: it prints its address, and answers every request until its input
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
	_, _ = io.Copy(io.Discard, in) // waits for the end of the input
	server.Close()
	if err := <-served; !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}
