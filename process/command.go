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
	parent         int // the parent of this process when the job came
	pid            int // also the id of its group
	stdin          *inputPipe
	stdout, stderr *outputPipe
	ended          chan struct{}      // closed when the command itself has ended
	status         syscall.WaitStatus // how, then
	allEnded       chan struct{}      // closed when no process of the job is left below the supervisor
}

// serveCommand runs a command until it ends or gone is closed, and then ends every process of the job that is left.
func serveCommand(j Job, gone <-chan struct{}) reply {
	c, err := startCommand(j)
	if err != nil {
		return reply{Start: &StartError{err.Error()}}
	}
	select {
	case <-c.ended:
		// Other processes of the job may still write output, for example the other side of a pipe.
		c.awaitOutput(j.KillAfter, gone)
	case <-c.stdout.full:
	case <-c.stderr.full:
	case <-gone:
	}
	exiting := !c.endAll()
	c.closeAll()
	for _, out := range []*outputPipe{c.stdout, c.stderr} {
		if out.exceeded {
			return reply{Limit: &LimitError{Stream: out.name, Max: j.MaxOutput}, Exiting: exiting}
		}
	}
	return reply{Result: Result{c.exitCode(), c.stdout.kept.Bytes(), c.stderr.kept.Bytes()}, Exiting: exiting}
}

func startCommand(j Job) (*command, error) {
	c := &command{job: j, parent: os.Getppid(), ended: make(chan struct{}), allEnded: make(chan struct{})}
	var errs [3]error
	c.stdin, errs[0] = newInputPipe(j.Stdin)
	c.stdout, errs[1] = newOutputPipe("stdout", j.MaxOutput)
	c.stderr, errs[2] = newOutputPipe("stderr", j.MaxOutput)
	err := errors.Join(errs[:]...)
	if err != nil {
		c.closeAll()
		return nil, err
	}
	// The program is not started by os/exec, because reap waits for all processes that end below this one: the command, and
	// what it has left behind.
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

// awaitOutput returns when the output is complete, at the latest after atMost: processes that the command has left may keep
// it open.
func (c *command) awaitOutput(atMost time.Duration, gone <-chan struct{}) {
	timer := time.NewTimer(atMost)
	defer timer.Stop()
	for _, out := range []*outputPipe{c.stdout, c.stderr} {
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
	// killTimeout is how long to try to kill what is left; processes of another user, for example, cannot be killed. It is
	// longer if the program is gone, because then nobody waits, and nobody else would kill them.
	killTimeout         = endTimeout * 3 / 4
	orphanedKillTimeout = time.Minute
	// orphanedKillAfter is the longest KillAfter when the program is gone.
	orphanedKillAfter = 500 * time.Millisecond
)

// endAll ends everything that is left of the job, and reports whether nothing is left.
func (c *command) endAll() bool {
	if c.waitAllEnded(0) {
		return true
	}
	if !c.stdout.isFull() && !c.stderr.isFull() {
		c.terminate()
		if c.waitTerminated() {
			return true
		}
	}
	for began := time.Now(); time.Since(began) < killTimeout || c.isOrphaned() && time.Since(began) < orphanedKillTimeout; {
		c.kill()
		if c.waitAllEnded(10 * time.Millisecond) {
			return true
		}
	}
	return false
}

// waitTerminated waits until the job has ended after SIGTERM, for as long as it may take. Meanwhile it looks whether the program is gone: that closes its
// pipes some time before its children have another parent, and it may be killed at any moment after it has ordered the end.
func (c *command) waitTerminated() bool {
	const look = 100 * time.Millisecond
	for began := time.Now(); ; {
		left := c.job.KillAfter
		if c.isOrphaned() {
			left = min(left, orphanedKillAfter)
		}
		left -= time.Since(began)
		if c.waitAllEnded(min(left, look)) {
			return true
		}
		if left <= look {
			return false
		}
	}
}

// isOrphaned reports whether the program that has sent the job is gone, so that this process has another parent.
func (c *command) isOrphaned() bool { return os.Getppid() != c.parent }

// reap waits for all processes that end below this one: the command, and orphans that it has left.
func (c *command) reap() {
	defer close(c.allEnded)
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

// exitCode returns the exit code as shells report it; 0 if the command could not be ended.
func (c *command) exitCode() int {
	switch {
	case !c.hasEnded():
		return 0
	case c.status.Signaled():
		return 128 + int(c.status.Signal())
	}
	return c.status.ExitStatus()
}
