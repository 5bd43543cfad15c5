//go:build unix && !linux

package process

import (
	"syscall"
	"time"
)

// adoptOrphans does nothing: only Linux lets a process adopt orphans. What leaves the command's group is not ended here.
func adoptOrphans() error { return nil }

// endSession does nothing: here the processes of a session cannot be listed.
func endSession(int) {}

func attributes() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }

// waitAllEnded waits until the command's group is gone, and reports whether it is.
func (c *command) waitAllEnded(atMost time.Duration) bool {
	for until := time.Now().Add(atMost); ; time.Sleep(5 * time.Millisecond) {
		if syscall.Kill(-c.pid, 0) == syscall.ESRCH {
			return true
		}
		if !time.Now().Before(until) {
			return false
		}
	}
}

func (c *command) terminate() { _ = syscall.Kill(-c.pid, syscall.SIGTERM) } // it may have ended by itself

func (c *command) kill() { _ = syscall.Kill(-c.pid, syscall.SIGKILL) }
