//go:build !linux && !darwin

package redisstore

import "time"

// uptime is a clock that nobody can set. Whether it goes on while the machine sleeps depends on the system.
func uptime() time.Duration { return time.Since(started) }

var started = time.Now()
