//go:build !linux && !darwin

package redisstore

import "time"

// uptime is a clock that cannot be set. Whether it continues while the machine sleeps depends on the system.
func uptime() time.Duration { return time.Since(started) }

var started = time.Now()
