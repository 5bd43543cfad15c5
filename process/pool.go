package process

import (
	"cmp"
	"context"
	"encoding/gob"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"time"
)

// SupervisorCommand starts a supervisor: the path of an executable whose main calls Supervise for these arguments,
// its own name first.
type SupervisorCommand struct {
	Path      string
	Arguments []string
}

// Pool keeps supervisors that have nothing to do, so that a job need not wait for one to start. Its methods may be
// called from several goroutines.
type Pool struct {
	command SupervisorCommand

	mu     sync.Mutex
	idle   []*supervisor
	closed bool
}

// NewPool returns a pool that starts supervisors as they are needed. Close ends those that have nothing to do.
func NewPool(c SupervisorCommand) *Pool { return &Pool{command: c} }

// maxJobs is how many jobs a supervisor serves before it is replaced, so that leaks of an engine do not add up.
const maxJobs = 1000

// Run runs a job to its end. When ctx ends first, the job and everything that it has started get SIGTERM, SIGKILL
// after KillAfter, and Run returns the cause once they are gone.
func (p *Pool) Run(ctx context.Context, j Job) (Result, error) {
	if ctx.Err() != nil {
		return Result{}, context.Cause(ctx)
	}
	s, err := p.acquire()
	if err != nil {
		return Result{}, &StartError{err.Error()}
	}
	answered := make(chan error, 1)
	var r reply
	go func() { answered <- s.exchange(j, &r) }()
	select {
	case err = <-answered:
	case <-ctx.Done():
		s.end(j.KillAfter)
		<-answered
		return Result{}, context.Cause(ctx)
	}
	switch {
	case err != nil:
		return Result{}, s.crashError(err)
	case r.Exiting || s.jobs >= maxJobs:
		s.end(j.KillAfter)
	default:
		p.release(s)
	}
	return r.result()
}

// acquire returns an idle supervisor, or starts one.
func (p *Pool) acquire() (*supervisor, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if last := len(p.idle) - 1; last >= 0 {
		s := p.idle[last]
		p.idle = p.idle[:last]
		return s, nil
	}
	return startSupervisor(p.command)
}

// release takes a supervisor back; it ends if enough others are idle.
func (p *Pool) release(s *supervisor) {
	p.mu.Lock()
	keep := !p.closed && len(p.idle) < 4*runtime.GOMAXPROCS(0)
	if keep {
		p.idle = append(p.idle, s)
	}
	p.mu.Unlock()
	if !keep {
		s.end(0)
	}
}

// Close ends the supervisors that have nothing to do, and lets the others end with their jobs.
func (p *Pool) Close() {
	p.mu.Lock()
	idle := p.idle
	p.idle, p.closed = nil, true
	p.mu.Unlock()
	for _, s := range idle {
		s.end(0)
	}
}

// supervisor is the program's side of a supervising process.
type supervisor struct {
	command *exec.Cmd
	cancel  context.CancelFunc // orders it to end, and kills it if it has not after the command's WaitDelay
	encoder *gob.Encoder
	decoder *gob.Decoder
	stderr  *limitedBuffer
	jobs    int
}

func startSupervisor(s SupervisorCommand) (*supervisor, error) {
	ctx, cancel := context.WithCancel(context.Background())
	command := exec.CommandContext(ctx, s.Path, s.Arguments[1:]...)
	command.Args[0] = s.Arguments[0]
	command.Env = []string{} // nothing of ours
	command.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	in, inErr := command.StdinPipe()
	out, outErr := command.StdoutPipe()
	stderr := &limitedBuffer{max: 64 << 10}
	command.Stderr = stderr
	command.Cancel = func() error {
		_ = in.Close() // orders it to end; it may have ended already
		return nil
	}
	if err := cmp.Or(inErr, outErr); err != nil {
		cancel()
		return nil, err
	}
	if err := command.Start(); err != nil {
		cancel()
		return nil, fmt.Errorf("the supervisor of processes cannot be started: %w", err)
	}
	return &supervisor{command: command, cancel: cancel, encoder: gob.NewEncoder(in), decoder: gob.NewDecoder(out), stderr: stderr}, nil
}

// exchange sends a job and waits for the reply.
func (s *supervisor) exchange(j Job, r *reply) error {
	s.jobs++
	if err := s.encoder.Encode(j); err != nil {
		return err
	}
	return s.decoder.Decode(r)
}

// end orders the supervisor to end its job and itself, and kills it if it does not. It may be called once only.
func (s *supervisor) end(killAfter time.Duration) {
	s.command.WaitDelay = killAfter + endTimeout
	s.cancel()
	_ = s.command.Wait() // its exit status does not matter: it was ordered to end
	if state := s.command.ProcessState; state == nil || !state.Exited() {
		endSession(s.command.Process.Pid)
	}
}

// endTimeout is how long a supervisor may take, after the KillAfter of its job, to find and kill what the job has left.
const endTimeout = 2 * time.Second

// crashError returns how a supervisor ended that was not ordered to; broken is why it could not be reached.
func (s *supervisor) crashError(broken error) error {
	s.end(0)
	endSession(s.command.Process.Pid)
	stderr := s.stderr.String()
	if strings.Contains(stderr, "out of memory") || strings.Contains(stderr, "cannot allocate memory") {
		return &CrashError{Reason: "it used more memory than it may", OutOfMemory: true}
	}
	if line, _, _ := strings.Cut(stderr, "\n"); line != "" {
		return &CrashError{Reason: "its supervisor failed: " + line}
	}
	if errors.Is(broken, io.EOF) || errors.Is(broken, syscall.EPIPE) {
		return &CrashError{Reason: fmt.Sprintf("its supervisor was ended: %s", s.command.ProcessState)}
	}
	return &CrashError{Reason: "its supervisor sent an invalid reply: " + broken.Error()}
}
