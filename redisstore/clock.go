package redisstore

import (
	"sync"
	"time"
)

// clock knows what time it was in a partition, and so what time it should be now. The server's clock may jump: scripts
// compare (see scripts/clock.lua), so that no jump makes deadlines pass.
type clock struct {
	mu    sync.Mutex
	at    int64     // by the partition, in milliseconds; 0 for not known
	heard time.Time // when it was heard
}

const (
	// drift is how much this machine's two ways of measuring time may differ. If they differ by more, it slept, or its
	// clock was set, and it knows nothing.
	drift = 5 * time.Second
	// fresh is how long what was heard is worth anything: no clock goes wrong by a jump within it.
	fresh = time.Minute
	// jump is what time may be off, in milliseconds, before it counts as a jump; the scripts have the same.
	jump = 30_000
	back = 1000 // the same, against what was written
)

func (c *clock) hear(at int64, now time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.at, c.heard = at, now
}

// expected returns what time it should be in the partition, in milliseconds; 0 if that is not known.
func (c *clock) expected(now time.Time) int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	passed := now.Sub(c.heard)                   // by the clock that cannot be set
	byWall := now.Round(0).Sub(c.heard.Round(0)) // by the one that can
	if c.at == 0 || (passed-byWall).Abs() > drift || passed > fresh {
		return 0
	}
	return c.at + passed.Milliseconds()
}

// reading is what a partition's time is made of, in milliseconds.
type reading struct {
	server, offset int64 // the server's clock, and what makes the partition's time of it
	written        int64 // when the partition was written to last
}

func (r reading) time() int64 { return r.server + r.offset }

// fell reports whether the server's clock has gone back behind what was written: any script sets that right.
func (r reading) fell() bool { return r.time() < r.written-back }

// jumped returns by how much the server's clock is off; 0 if it is right, or if others have written at that time.
func (c *clock) jumped(r reading, now time.Time) int64 {
	expected := c.expected(now)
	ahead := r.time() > expected+jump && r.written <= expected+jump
	if behind := r.time() < expected-jump; expected == 0 || !ahead && !behind {
		return 0
	}
	return r.time() - expected
}
