package redisstore

import (
	"time"

	"golang.org/x/sys/unix"
)

// uptime is a clock that cannot be set, and that continues while the machine sleeps.
func uptime() time.Duration {
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &t); err != nil { // which counts sleep here
		panic(err) // macOS has it since 10.12
	}
	return time.Duration(t.Nano())
}
