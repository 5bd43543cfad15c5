package process

import (
	"errors"
	"os"
	"syscall"
	"time"
)

// command is a command that runs.
type command struct {
	job            Job
	parent         int // of this process, when the job came
	pid            int // and its group
	stdin          *feed
	stdout, stderr *capture
	ended          chan struct{}      // closed when the command itself has ended
	status         syscall.WaitStatus // how, then
	alone          chan struct{}      // closed when nothing of the job is left below the supervisor
}

// serveCommand runs a command to its end and ends what it leaves, or all of it when gone is closed.
func serveCommand(j Job, gone <-chan struct{}) reply {
	c, err := startCommand(j)
	if err != nil {
		return reply{Start: &StartError{err.Error()}}
	}
	select {
	case <-c.ended:
		// What still writes into the output may finish that: the other side of a pipe, for example.
		c.awaitOutput(j.Grace, gone)
	case <-c.stdout.exceeded:
	case <-c.stderr.exceeded:
	case <-gone:
	}
	spent := !c.endAll()
	c.closeAll()
	for _, out := range []*capture{c.stdout, c.stderr} {
		if out.over {
			return reply{Limit: &LimitError{Stream: out.name, Max: j.MaxOutput}, Spent: spent}
		}
	}
	return reply{Ended: Result{c.exitCode(), c.stdout.kept.Bytes(), c.stderr.kept.Bytes()}, Spent: spent}
}

func startCommand(j Job) (*command, error) {
	c := &command{job: j, parent: os.Getppid(), ended: make(chan struct{}), alone: make(chan struct{})}
	var errs [3]error
	c.stdin, errs[0] = newFeed(j.Stdin)
	c.stdout, errs[1] = newCapture("stdout", j.MaxOutput)
	c.stderr, errs[2] = newCapture("stderr", j.MaxOutput)
	err := errors.Join(errs[:]...)
	if err != nil {
		c.closeAll()
		return nil, err
	}
	// The program is started here and not by os/exec, because all that ends below this process is waited for in one
	// place: the command, and what it has left behind.
	c.pid, err = syscall.ForkExec(j.Path, j.Arguments, &syscall.ProcAttr{
		Env: j.Environment, Files: []uintptr{c.stdin.theirs.Fd(), c.stdout.theirs.Fd(), c.stderr.theirs.Fd()}, Sys: attributes(),
	})
	if err != nil {
		c.closeAll()
		return nil, err
	}
	c.stdin.begin()
	c.stdout.begin()
	c.stderr.begin()
	go c.reap()
	return c, nil
}

func (c *command) closeAll() {
	c.stdin.close()
	c.stdout.close()
	c.stderr.close()
}

// awaitOutput returns when the output is complete, or after a while: what the command has left may keep it open.
func (c *command) awaitOutput(atMost time.Duration, gone <-chan struct{}) {
	timer := time.NewTimer(atMost)
	defer timer.Stop()
	for _, out := range []*capture{c.stdout, c.stderr} {
		select {
		case <-out.done:
		case <-timer.C:
			return
		case <-gone:
			return
		}
	}
}

const (
	// killing is how long it is tried to kill what is left: processes of another user cannot be. When the program is gone,
	// nobody waits, and nobody else would end them.
	killing          = ending * 3 / 4
	killingAbandoned = time.Minute
	// graceAbandoned is the grace of what is left when the program is gone.
	graceAbandoned = 500 * time.Millisecond
)

// endAll ends everything that is left of the job, and reports whether it has.
func (c *command) endAll() bool {
	if c.isAlone(0) {
		return true
	}
	if !c.stdout.isOver() && !c.stderr.isOver() {
		c.terminate()
		first := min(c.job.Grace, graceAbandoned)
		if c.isAlone(first) || !c.isAbandoned() && c.isAlone(c.job.Grace-first) {
			return true
		}
	}
	for began := time.Now(); time.Since(began) < killing || c.isAbandoned() && time.Since(began) < killingAbandoned; {
		c.kill()
		if c.isAlone(10 * time.Millisecond) {
			return true
		}
	}
	return false
}

// isAbandoned reports whether the program that has sent the job is gone: then this process has another parent.
func (c *command) isAbandoned() bool { return os.Getppid() != c.parent }

// reap waits for everything that ends below this process: the command, and orphans that it has left.
func (c *command) reap() {
	defer close(c.alone)
	for {
		var status syscall.WaitStatus
		child, err := syscall.Wait4(-1, &status, 0, nil)
		switch {
		case err == syscall.EINTR:
		case err != nil: // there is no child
			return
		case child == c.pid:
			c.status = status
			close(c.ended)
		}
	}
}

// hasEnded reports whether the command itself has ended.
func (c *command) hasEnded() bool {
	select {
	case <-c.ended:
		return true
	default:
		return false
	}
}

// exitCode returns the code as a shell tells it; 0 if the command could not be ended.
func (c *command) exitCode() int {
	switch {
	case !c.hasEnded():
		return 0
	case c.status.Signaled():
		return 128 + int(c.status.Signal())
	}
	return c.status.ExitStatus()
}
