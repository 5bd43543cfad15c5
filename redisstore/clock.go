package redisstore

import (
	"strings"
	"sync"
	"time"
)

// clock knows what time it was in a partition, and so what time it should be now. The server's clock may jump: scripts
// compare (see scripts/clock.lua), so that no jump makes deadlines pass (docs/decisions/0009).
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
	// jump is what time may be off, in milliseconds, before it counts as a jump; the scripts have the same.
	jump = 30_000
	back = 1000 // the same, against what was written
	// lastMoment is the last day of the year 9999: JSON has no later times. The scripts have the same.
	lastMoment = 253_402_214_400_000
	// confirmEvery is how often it is written that time goes on as expected, for others who do not know: they have been
	// stopped without knowing it. It is less than jump.
	confirmEvery = 10 * time.Second
)

// observe notes the time in an answer to what was sent.
func (c *clock) observe(at int64, sent, now time.Duration) {
	if now-sent > slow {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.at, c.seen = at, now
}

// expected returns what time it should be in the partition, in milliseconds; 0 if that is not known.
func (c *clock) expected(now time.Duration) int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	passed := now - c.seen
	if c.at == 0 || passed > fresh {
		return 0
	}
	return c.at + passed.Milliseconds()
}

// reading is what a partition's time is made of, in milliseconds.
type reading struct {
	server, offset int64 // the server's clock, and what makes the partition's time of it
	written, seq   int64 // when the partition was written to last, and how often
	jumps          int64 // how often the server's clock has jumped
}

// newReading reads what a partition's key says of its time, if it says anything.
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
		r.offset = 0 // the server's clock has come back
	}
	return r
}

func (r reading) time() int64 { return r.server + r.offset }

// now returns the time as scripts see it.
func (r reading) now() int64 { return max(r.time(), r.written) }

// wentBack reports whether the server's clock shows an earlier time than was written: any script sets that right.
func (r reading) wentBack() bool { return r.time() < r.written-back }

// jumped returns by how much the server's clock is ahead, as it was read by what was sent; 0 if it is right, or if others
// have written since at a later time than is expected.
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

// confirms reports whether it is time to write that time goes on as expected, since nobody has written lately.
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
