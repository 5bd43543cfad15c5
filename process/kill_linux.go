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

// adoptOrphans makes this process the parent of every process below it whose own parent has ended, whatever its session or
// group is, so that it can find every process that a job has started.
func adoptOrphans() error { return unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) }

// attributes puts a command in a group of its own, and kills it should its supervisor be killed.
func attributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}

// waitAllEnded waits until no process of the job is left, at most for atMost, and reports whether none is.
func (c *command) waitAllEnded(atMost time.Duration) bool {
	timer := time.NewTimer(atMost)
	defer timer.Stop()
	select {
	case <-c.allEnded:
		return true
	case <-timer.C:
	}
	select {
	case <-c.allEnded:
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

// signal signals the command's group, unless the command has ended: then another group may have the same id.
func (c *command) signal(s unix.Signal) {
	if !c.hasEnded() {
		_ = unix.Kill(-c.pid, s)
	}
}

// kill kills whole groups first, so that no process of a group can start another one meanwhile; the command's own group is
// known without a search. It stops all processes that are left before it kills any of them, for the same reason.
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

// endSession kills what is left in the session of a supervisor that was killed.
func endSession(id int) {
	for _, p := range processTable() {
		if p.session == id {
			_ = unix.Kill(p.pid, unix.SIGKILL)
		}
	}
}

// processInfo describes a process by the ids in the process table.
type processInfo struct{ pid, parent, group, session int }

// processTable returns every process, by its id.
func processTable() map[int]processInfo {
	all := map[int]processInfo{}
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
		all[pid] = processInfo{pid, number(fields[1]), number(fields[2]), number(fields[3])}
	}
	return all
}

// descendants returns the processes below this one.
func descendants() (found []processInfo) {
	all := processTable()
	self := os.Getpid()
	for _, p := range all {
		above := p.parent
		for range len(all) { // the table changes while it is read, so that parents may form a circle
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
