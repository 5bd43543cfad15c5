package enginetest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

// attach takes over the connection: it carries the output and the input of the container.
func (e *Engine) attach(w http.ResponseWriter, r *http.Request) {
	e.mu.Lock()
	defer e.mu.Unlock()
	c := e.find(r.PathValue("name"))
	if c == nil {
		Fail(w, http.StatusNotFound, "No such container")
		return
	}
	connection, buffered, err := http.NewResponseController(w).Hijack()
	if err != nil {
		return
	}
	_, _ = io.WriteString(connection, "HTTP/1.1 101 UPGRADED\r\nContent-Type: application/vnd.docker.multiplexed-stream\r\nConnection: Upgrade\r\nUpgrade: tcp\r\n\r\n")
	c.output = connection
	if !c.Request.OpenStdin {
		return
	}
	read, write, err := os.Pipe()
	if err != nil {
		return
	}
	c.stdin = read
	go func() {
		_, _ = io.Copy(write, buffered) // until the input ends, or has no reader
		_ = write.Close()
		_, _ = io.Copy(io.Discard, buffered) // until the connection is closed
	}()
}

func (e *Engine) start(w http.ResponseWriter, r *http.Request) {
	e.with(w, r, func(c *Container) {
		if err := e.launch(c); err != nil {
			Fail(w, http.StatusBadRequest, "failed to create task for container: "+err.Error())
			return
		}
		w.WriteHeader(http.StatusNoContent)
	})
}

// stream is an output stream of a process, on its way to the log and to the attached client.
type stream struct {
	mu   *sync.Mutex
	log  *bytes.Buffer
	to   net.Conn
	kind byte
}

func (s stream) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.log.Write(Frame(s.kind, p))
	if s.to != nil {
		_, _ = s.to.Write(Frame(s.kind, p)) // the reader may be gone
	}
	return len(p), nil
}

func (e *Engine) launch(c *Container) error {
	path, err := exec.LookPath(c.argv[0])
	if err != nil {
		return err
	}
	command := exec.Command(path, c.argv[1:]...)
	command.Env = append([]string{"PATH=" + os.Getenv("PATH"), "HOSTNAME=" + c.ID}, c.Request.Env...)
	command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	var writing sync.Mutex
	command.Stdout, command.Stderr = stream{&writing, c.log, c.output, 1}, stream{&writing, c.log, c.output, 2}
	if c.stdin != nil {
		command.Stdin = c.stdin
	}
	if err := command.Start(); err != nil {
		return err
	}
	c.command, c.State = command, "running"
	go e.await(c)
	return nil
}

func (e *Engine) await(c *Container) {
	err := c.command.Wait()
	e.mu.Lock()
	defer e.mu.Unlock()
	c.State, c.FinishedAt = "exited", time.Now()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		c.ExitCode = exit.ExitCode()
		if status, ok := exit.Sys().(syscall.WaitStatus); ok && status.Signaled() {
			c.ExitCode = 128 + int(status.Signal())
		}
	}
	if half, ok := c.output.(interface{ CloseWrite() error }); ok {
		_ = half.CloseWrite() // the reader may be gone; the rest of the output is read
	}
	if c.stdin != nil {
		_ = c.stdin.Close() // the same
	}
	close(c.ended)
}

func (e *Engine) wait(w http.ResponseWriter, r *http.Request) {
	var c *Container
	e.with(w, r, func(found *Container) { c = found })
	if c == nil {
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_ = http.NewResponseController(w).Flush() // engines send the headers immediately
	select {
	case <-c.ended:
		e.mu.Lock()
		defer e.mu.Unlock()
		_ = json.NewEncoder(w).Encode(map[string]int{"StatusCode": c.ExitCode}) // the caller may be gone
	case <-r.Context().Done():
	}
}

// logs sends the output of a container that has ended.
func (e *Engine) logs(w http.ResponseWriter, r *http.Request) {
	var c *Container
	if e.with(w, r, func(found *Container) { c = found }); c != nil {
		<-c.ended
		_, _ = w.Write(c.log.Bytes()) // the caller may be gone
	}
}

func (e *Engine) stop(w http.ResponseWriter, r *http.Request) {
	e.mu.Lock()
	c := e.find(r.PathValue("name"))
	e.mu.Unlock()
	if c == nil {
		Fail(w, http.StatusNotFound, "No such container")
		return
	}
	seconds, _ := strconv.Atoi(r.URL.Query().Get("t")) // without the parameter, it is 0
	e.kill(c, time.Duration(seconds)*time.Second)
	w.WriteHeader(http.StatusNoContent)
}

// kill ends a container. As in a real engine, SIGTERM has no effect on a process without a handler; this engine then does not wait.
func (e *Engine) kill(c *Container, after time.Duration) {
	e.mu.Lock()
	runs := c.State == "running"
	e.mu.Unlock()
	if !runs {
		return
	}
	if after > 0 && c.catches(syscall.SIGTERM) {
		_ = c.command.Process.Signal(syscall.SIGTERM) // it may be gone
		select {
		case <-c.ended:
		case <-time.After(after):
		}
	}
	_ = syscall.Kill(-c.command.Process.Pid, syscall.SIGKILL) // the same
	<-c.ended
}

// catches reports whether the process of a container has a handler for a signal.
func (c *Container) catches(s syscall.Signal) bool {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", c.command.Process.Pid))
	if err != nil {
		return false // it is gone
	}
	_, mask, _ := strings.Cut(string(status), "SigCgt:")
	mask, _, _ = strings.Cut(mask, "\n")
	bits, err := strconv.ParseUint(strings.TrimSpace(mask), 16, 64)
	return err == nil && bits&(1<<(s-1)) != 0
}

func (e *Engine) remove(w http.ResponseWriter, r *http.Request) {
	e.mu.Lock()
	c := e.find(r.PathValue("name"))
	if c == nil {
		e.mu.Unlock()
		Fail(w, http.StatusNotFound, "No such container")
		return
	}
	delete(e.containers, c.ID)
	e.mu.Unlock()
	e.kill(c, 0)
	w.WriteHeader(http.StatusNoContent)
}
