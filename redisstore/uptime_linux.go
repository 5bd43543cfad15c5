package redisstore

import (
	"time"

	"golang.org/x/sys/unix"
)

// uptime is a clock that cannot be set, and that continues while the machine sleeps.
func uptime() time.Duration {
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_BOOTTIME, &t); err != nil {
		panic(err) // Linux has it since 2.6.39
	}
	return time.Duration(t.Nano())
}
