//go:build unix && !linux

package process

import (
	"syscall"
	"time"
)

// adoptOrphans does nothing: only Linux gives orphans to a process of one's choice. What leaves the command's group is
// not ended here.
func adoptOrphans() error { return nil }

// endSession does nothing: here the processes of a session cannot be listed.
func endSession(int) {}

func attributes() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }

// isAlone reports whether the command's group is gone; it waits for that.
func (c *command) isAlone(atMost time.Duration) bool {
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
