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
	for pid := range descendants() {
		_ = unix.Kill(pid, unix.SIGTERM) // it may have ended by itself
		_ = unix.Kill(pid, unix.SIGCONT)
	}
}

// kill stops everything before it kills anything: what is stopped starts nothing new meanwhile.
func (c *command) kill() {
	stopped := map[int]bool{}
	for before := -1; len(stopped) > before; {
		before = len(stopped)
		for pid := range descendants() {
			if !stopped[pid] {
				stopped[pid] = true
				_ = unix.Kill(pid, unix.SIGSTOP)
			}
		}
	}
	for pid := range stopped {
		_ = unix.Kill(pid, unix.SIGKILL)
	}
}

// endSession kills what is left in a session, that of a supervisor which was killed.
func endSession(id int) {
	_, sessions := table()
	for pid, session := range sessions {
		if session == id {
			_ = unix.Kill(pid, unix.SIGKILL)
		}
	}
}

// table returns the parent and the session of every process.
func table() (parents, sessions map[int]int) {
	parents, sessions = map[int]int{}, map[int]int{}
	files, _ := filepath.Glob("/proc/[0-9]*/stat") // the pattern is right
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			continue // it has ended
		}
		// The name, in parentheses, may hold anything; the state, the parent, the group and the session follow it.
		fields := bytes.Fields(text[bytes.LastIndexByte(text, ')')+1:])
		pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(file)))
		if len(fields) > 3 {
			parents[pid], _ = strconv.Atoi(string(fields[1]))
			sessions[pid], _ = strconv.Atoi(string(fields[3]))
		}
	}
	return parents, sessions
}

// descendants returns the processes below this one.
func descendants() map[int]bool {
	parents, _ := table()
	found := map[int]bool{}
	self := os.Getpid()
	for pid := range parents {
		above := parents[pid]
		for range len(parents) { // the table may change while it is read, and lead in a circle
			if above == self {
				found[pid] = true
				break
			}
			above = parents[above]
		}
	}
	return found
}
