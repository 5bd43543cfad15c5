package redisstore_test

import (
	"context"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/swrun/swrun/redisstore"
	"github.com/swrun/swrun/redisstore/redistest"
	"github.com/swrun/swrun/runtime"
)

// jumping is a store with one partition whose server's clock can jump.
type jumping struct {
	*testing.T
	*redisstore.Store
	client *redis.Client
}

func newJumping(t *testing.T, c redisstore.Config) *jumping {
	server := redistest.Start(t)
	c.Deployment, c.Partitions = "D", 1
	client := redis.NewClient(&redis.Options{Addr: server.Addr, DisableIdentity: true})
	t.Cleanup(func() { client.Close() }) // the server is gone then anyway
	return &jumping{t, mustOpen(t, server.URL(), c), client}
}

func (j *jumping) jump(d time.Duration) {
	j.Helper()
	if err := j.client.HIncrBy(context.Background(), "swrun:{D:0}:meta", "offset", d.Milliseconds()).Err(); err != nil {
		j.Fatal(err)
	}
}

// time is what the partition tells by reading and by writing.
func (j *jumping) time() time.Time {
	j.Helper()
	work, err := j.Poll(j.Context(), 0, 10, false)
	if err != nil {
		j.Fatal(err)
	}
	p, err := j.Promote(j.Context(), runtime.Promote{})
	if err != nil {
		j.Fatal(err)
	}
	if p.At.Sub(work.At).Abs() > 10*time.Second {
		j.Errorf("reading tells %s, writing %s", work.At, p.At)
	}
	return p.At
}

// TestClockJumps (F27, F28): the server's clock jumps, ahead or back, and comes back. Time in the partition goes on.
func TestClockJumps(t *testing.T) {
	j := newJumping(t, redisstore.Config{})
	began, at := time.Now(), j.time()
	for _, d := range []time.Duration{time.Hour, -time.Hour, -2 * time.Hour, 2 * time.Hour, 31 * time.Second, 24 * 365 * time.Hour} {
		j.jump(d)
		now := j.time()
		if passed := now.Sub(at) - time.Since(began); passed < 0 && -passed > 10*time.Second || passed > 40*time.Second || now.Before(at) {
			t.Errorf("after a jump by %s it is %s, %s from what it was", d, now, now.Sub(at))
		}
	}
	if st, err := j.Statistics(t.Context(), 0); err != nil || st.Jumps < 4 {
		t.Errorf("the statistics are %+v, %v", st, err)
	}
}

// TestClockJumpsForOneWhoSlept: who does not know how much time has passed takes the server's word for it.
func TestClockJumpsForOneWhoSlept(t *testing.T) {
	slept := time.Duration(0)
	j := newJumping(t, redisstore.Config{Now: func() time.Time { return time.Now().Round(0).Add(slept) }})
	at := j.time()
	j.jump(time.Hour)
	slept = time.Hour
	if now := j.time(); now.Sub(at) < time.Hour {
		t.Errorf("it is %s from what it was", now.Sub(at))
	}
}

// TestClockOfOthers: if others have written meanwhile, time has passed, and who thinks otherwise was asleep.
func TestClockOfOthers(t *testing.T) {
	j := newJumping(t, redisstore.Config{})
	at := j.time()
	advance(t, j.client, "swrun:{D:0}:meta", time.Hour)
	if now := j.time(); now.Sub(at) < time.Hour {
		t.Errorf("it is %s from what it was", now.Sub(at))
	}
}

// TestClockHeldBackForNothing: one who was asleep has held time back, and one who was not puts it right.
func TestClockHeldBackForNothing(t *testing.T) {
	j := newJumping(t, redisstore.Config{})
	at := j.time()
	if err := j.client.HSet(t.Context(), "swrun:{D:0}:meta", "offset", -time.Hour.Milliseconds(), "clock", at.Add(-time.Hour).UnixMilli()).Err(); err != nil {
		t.Fatal(err)
	}
	if now := j.time(); now.Before(at) {
		t.Errorf("it is %s from what it was", now.Sub(at))
	}
}

// TestClockBehindTheLastWrite: the server's clock goes back further than the partition was written to last.
func TestClockBehindTheLastWrite(t *testing.T) {
	j := newJumping(t, redisstore.Config{})
	at := j.time()
	if err := j.client.HSet(t.Context(), "swrun:{D:0}:meta", "clock", at.Add(-20*time.Minute).UnixMilli()).Err(); err != nil {
		t.Fatal(err)
	}
	j.jump(-time.Hour)
	for range 3 {
		if now := j.time(); now.Sub(at) < -10*time.Second {
			t.Errorf("time fell back by %s", at.Sub(now))
		}
	}
}

// TestStalledServer: a call is so long on its way that what it expects is long past. Time is not held back for it.
func TestStalledServer(t *testing.T) {
	asleep := time.Duration(0)
	j := newJumping(t, redisstore.Config{Now: func() time.Time { return time.Now().Add(-asleep) }})
	j.time()
	asleep = 50 * time.Second // the call says what was expected then
	if _, err := j.Promote(t.Context(), runtime.Promote{}); err != nil {
		t.Fatal(err)
	}
	asleep = 0
	for range 3 {
		if behind := time.Since(j.time()); behind > 10*time.Second {
			t.Errorf("the partition is %s behind", behind)
		}
	}
}
