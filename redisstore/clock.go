package redisstore

import (
	"strings"
	"sync"
	"time"
)

// clock remembers the time of a partition, and computes the expected current time from it. The server's clock may jump: scripts compare the
// two times (see scripts/clock.lua), so that deadlines do not pass because of a jump (docs/decisions/0009).
type clock struct {
	mu        sync.Mutex
	at        int64         // by the partition, in milliseconds; 0 for not known
	seen      time.Duration // when that was seen, by this machine's uptime
	confirmed time.Duration // when the partition's time was confirmed, or became known; 0 for never
}

const (
	// slow is how long an answer may take to count: the time in an older one may have been right long ago. The scripts have the same.
	slow = 5 * time.Second
	// fresh is how long an observed time can be extrapolated.
	fresh = time.Minute
	// jump is the difference, in milliseconds, from which a deviation counts as a jump; the scripts use the same value.
	jump = 30_000
	back = 1000 // the same, compared with the written time
	// lastMoment is the last day of the year 9999: JSON has no later times. The scripts have the same.
	lastMoment = 253_402_214_400_000
	// confirmEvery is how often the continuity of time is written for other processes that do not know it, because they were stopped
	// without noticing. It is less than jump.
	confirmEvery = 10 * time.Second
)

// observe records the time in the answer to a request sent at a time.
func (c *clock) observe(at int64, sent, now time.Duration) {
	if now-sent > slow {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.at, c.seen = at, now
}

// expected returns the expected time of the partition, in milliseconds; 0 if unknown.
func (c *clock) expected(now time.Duration) int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	passed := now - c.seen
	if c.at == 0 || passed > fresh {
		return 0
	}
	return c.at + passed.Milliseconds()
}

// reading contains the parts of a partition's time, in milliseconds.
type reading struct {
	server, offset int64 // the server's clock, and the offset that yields the partition's time
	written, seq   int64 // when the partition was written to last, and how often
	jumps          int64 // how often the server's clock has jumped
}

// newReading parses the time in a partition's key, if there is one.
func newReading(server int64, key any) reading {
	text, _ := key.(string)
	written, rest, _ := strings.Cut(text, " ")
	seq, rest, _ := strings.Cut(rest, " ")
	offset, jumps, _ := strings.Cut(rest, " ")
	r := reading{server: server, offset: number(offset), written: number(written), seq: number(seq), jumps: number(jumps)}
	if r.written > lastMoment || server+r.offset > lastMoment {
		return reading{server: server} // no clock has shown that: it is damaged, and counts as lost
	}
	if r.offset > 0 && server >= r.written {
		r.offset = 0 // the server's clock caught up
	}
	return r
}

func (r reading) time() int64 { return r.server + r.offset }

// now returns the time as scripts see it.
func (r reading) now() int64 { return max(r.time(), r.written) }

// wentBack reports whether the server's clock shows an earlier time than was written: any script sets that right.
func (r reading) wentBack() bool { return r.time() < r.written-back }

// jumped returns by how much the server's clock is ahead, as read by the request. It is 0 if the clock is right, or if others have written
// since at a later time than expected.
func (c *clock) jumped(r reading, sent, now time.Duration) int64 {
	expected := c.expected(sent)
	switch {
	case expected == 0, now-sent > slow, r.time() <= expected+jump:
		return 0
	case r.written > expected+slow.Milliseconds(): // this machine was stopped from outside
		return 0
	}
	return r.time() - expected
}

// confirms reports whether the continuity of time is to be written, since no process wrote recently.
func (c *clock) confirms(r reading, now time.Duration) bool {
	known, recent := c.expected(now) != 0, r.time()-r.written < confirmEvery.Milliseconds()
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.confirmed == 0, !known:
		c.confirmed = now
		return false
	case recent, now-c.confirmed < confirmEvery:
		return false
	}
	c.confirmed = now
	return true
}
