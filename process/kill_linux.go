package process

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// adoptOrphans makes this process the parent of everything below it whose own parent has ended, whatever session or
// group it has gone to. So nothing that a job starts gets out of sight.
func adoptOrphans() error { return unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) }

// attributes puts a command in a group of its own, and kills it should its supervisor be killed.
func attributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}

// isAlone reports whether nothing of the job is left; it waits for that.
func (c *command) isAlone(atMost time.Duration) bool {
	timer := time.NewTimer(atMost)
	defer timer.Stop()
	select {
	case <-c.alone:
		return true
	case <-timer.C:
	}
	select {
	case <-c.alone:
		return true
	default:
		return false
	}
}

func (c *command) terminate() {
	c.signal(unix.SIGTERM)
	c.signal(unix.SIGCONT)
	for _, p := range descendants() {
		_ = unix.Kill(p.pid, unix.SIGTERM) // it may have ended by itself
		_ = unix.Kill(p.pid, unix.SIGCONT)
	}
}

// signal signals the command's group, unless the command has ended: then the group's number may be another's.
func (c *command) signal(s unix.Signal) {
	if !c.hasEnded() {
		_ = unix.Kill(-c.pid, s)
	}
}

// kill kills whole groups at first: none of a group starts another process meanwhile, however many they are and however
// little time they leave to this one; the command's own needs no search. Of what is left, it stops everything before it
// kills anything, for the same reason.
func (c *command) kill() {
	c.signal(unix.SIGKILL)
	own := unix.Getpgrp()
	killed := map[int]bool{own: true}
	for _, p := range descendants() {
		if !killed[p.group] {
			killed[p.group] = true
			_ = unix.Kill(-p.group, unix.SIGKILL) // it may have ended by itself
		}
	}
	stopped := map[int]bool{}
	for before := -1; len(stopped) > before; {
		before = len(stopped)
		for _, p := range descendants() {
			if !stopped[p.pid] {
				stopped[p.pid] = true
				_ = unix.Kill(p.pid, unix.SIGSTOP)
			}
		}
	}
	for pid := range stopped {
		_ = unix.Kill(pid, unix.SIGKILL)
	}
}

// endSession kills what is left in a session, that of a supervisor which was killed.
func endSession(id int) {
	for _, p := range table() {
		if p.session == id {
			_ = unix.Kill(p.pid, unix.SIGKILL)
		}
	}
}

// running is a process.
type running struct{ pid, parent, group, session int }

// table returns every process, by its id.
func table() map[int]running {
	all := map[int]running{}
	files, _ := filepath.Glob("/proc/[0-9]*/stat") // the pattern is right
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			continue // it has ended
		}
		// The name, in parentheses, may hold anything; the state, the parent, the group and the session follow it.
		fields := bytes.Fields(text[bytes.LastIndexByte(text, ')')+1:])
		if len(fields) < 4 {
			continue
		}
		number := func(text []byte) int { n, _ := strconv.Atoi(string(text)); return n } // these are numbers
		pid := number([]byte(filepath.Base(filepath.Dir(file))))
		all[pid] = running{pid, number(fields[1]), number(fields[2]), number(fields[3])}
	}
	return all
}

// descendants returns the processes below this one.
func descendants() (found []running) {
	all := table()
	self := os.Getpid()
	for _, p := range all {
		above := p.parent
		for range len(all) { // the table may change while it is read, and lead in a circle
			if above == self {
				found = append(found, p)
			}
			if above == self || above == 0 {
				break
			}
			above = all[above].parent
		}
	}
	return found
}
