package enginetest

import (
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"sync"
	"syscall"
	"time"
)

// attach takes the connection over: what the container writes goes there, and what comes from there is its input.
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
		_, _ = io.Copy(write, buffered) // until the connection is closed, or nobody reads
		_ = write.Close()
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

// stream is one of a process, on its way to who is attached.
type stream struct {
	mu   *sync.Mutex
	to   net.Conn
	kind byte
}

func (s stream) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.to != nil {
		frame(s.to, s.kind, p)
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
	command.Stdout, command.Stderr = stream{&writing, c.output, 1}, stream{&writing, c.output, 2}
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
	if c.output != nil {
		_ = c.output.Close() // who reads may be gone
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
	_ = http.NewResponseController(w).Flush() // engines say at once that they wait
	select {
	case <-c.ended:
		e.mu.Lock()
		defer e.mu.Unlock()
		_ = json.NewEncoder(w).Encode(map[string]int{"StatusCode": c.ExitCode}) // who asked may be gone
	case <-r.Context().Done():
	}
}

// Signal sends a signal to all processes of a container.
func (c *Container) signal(s syscall.Signal) {
	if c.command != nil {
		_ = syscall.Kill(-c.command.Process.Pid, s) // it may have ended
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
	e.kill(c)
	w.WriteHeader(http.StatusNoContent)
}

// kill ends a container as one whose process leaves SIGTERM alone.
func (e *Engine) kill(c *Container) {
	e.mu.Lock()
	runs := c.State == "running"
	e.mu.Unlock()
	if runs {
		c.signal(syscall.SIGKILL)
		<-c.ended
	}
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
	e.kill(c)
	w.WriteHeader(http.StatusNoContent)
}
