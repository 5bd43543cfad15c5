package redisstore_test

import (
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/swrun/swrun/redisstore"
	"github.com/swrun/swrun/redisstore/redistest"
	"github.com/swrun/swrun/runtime/store"
)

// jumping is a store with one partition whose server's clock can jump.
type jumping struct {
	*testing.T
	*redisstore.Store
	server *redistest.Server
	client *redis.Client
}

func newJumping(t *testing.T, c redisstore.Config) *jumping {
	t.Helper()
	server := redistest.StartWithClock(t)
	c.Deployment, c.Partitions = "D", 1
	client := redis.NewClient(&redis.Options{Addr: server.Addr, DisableIdentity: true})
	t.Cleanup(func() { client.Close() }) // the server is gone then anyway
	return &jumping{t, mustOpen(t, server.URL(), c), server, client}
}

// another opens the deployment once more, as another process does.
func (j *jumping) another(c redisstore.Config) *jumping {
	j.Helper()
	c.Deployment, c.Partitions = "D", 1
	return &jumping{j.T, mustOpen(j.T, j.server.URL(), c), j.server, j.client}
}

// time returns the partition's time by reading and by writing.
func (j *jumping) time() time.Time {
	j.Helper()
	work, err := j.Poll(j.Context(), 0, 10, false)
	if err != nil {
		j.Fatal(err)
	}
	p, err := j.Promote(j.Context(), store.Promote{})
	if err != nil {
		j.Fatal(err)
	}
	if p.At.Sub(work.At).Abs() > 10*time.Second {
		j.Errorf("reading tells %s, writing %s", work.At, p.At)
	}
	return p.At
}

// TestClockJumps (F27, F28): the server's clock jumps, ahead or back, and returns. The time of the partition continues.
func TestClockJumps(t *testing.T) {
	j := newJumping(t, redisstore.Config{})
	began, at := time.Now(), j.time()
	for _, d := range []time.Duration{time.Hour, -time.Hour, -2 * time.Hour, 2 * time.Hour, 31 * time.Second, 24 * 365 * time.Hour} {
		j.server.Jump(d)
		now := j.time()
		if passed := now.Sub(at) - time.Since(began); passed < 0 && -passed > 10*time.Second || passed > 40*time.Second || now.Before(at) {
			t.Errorf("after a jump by %s it is %s, %s from what it was", d, now, now.Sub(at))
		}
	}
	if st, err := j.Statistics(t.Context(), 0); err != nil || st.Jumps < 4 {
		t.Errorf("the statistics are %+v, %v", st, err)
	}
}

// TestClockOfOneWhoSlept: while a machine sleeps, its uptime continues, and so does the server.
func TestClockOfOneWhoSlept(t *testing.T) {
	var up uptime
	j := newJumping(t, redisstore.Config{Uptime: up.read})
	at := j.time()
	up.add(50 * time.Second)
	j.server.Jump(50 * time.Second)
	if now := j.time(); now.Sub(at) < 50*time.Second {
		t.Errorf("it is %s from what it was", now.Sub(at))
	}
}

// uptime is a clock of a machine that a test moves.
type uptime struct{ added atomic.Int64 }

var booted = time.Now()

func (u *uptime) read() time.Duration { return time.Since(booted) + time.Duration(u.added.Load()) }
func (u *uptime) add(d time.Duration) { u.added.Add(int64(d)) }

// TestClockOfOthers: a process that was stopped from outside does not hold time back, since another process confirmed the time. Neither
// wrote anything else.
func TestClockOfOthers(t *testing.T) {
	var stopped, alive uptime
	j := newJumping(t, redisstore.Config{Uptime: stopped.read})
	other := j.another(redisstore.Config{Uptime: alive.read})
	at := j.time()
	for range 8 {
		if _, err := other.Poll(t.Context(), 0, 10, false); err != nil {
			t.Fatal(err)
		}
		alive.add(5 * time.Second)
		j.server.Jump(5 * time.Second)
	}
	for _, one := range []*jumping{j, other, j} {
		if now := one.time(); now.Sub(at) < 40*time.Second {
			t.Errorf("it is %s from what it was", now.Sub(at))
		}
	}
	if st, err := j.Statistics(t.Context(), 0); err != nil || st.Jumps != 0 {
		t.Errorf("the statistics are %+v, %v", st, err)
	}
}

// TestClockOfANewcomer: a process that starts after the clock jumped knows no other time. When another process has corrected the time, the
// new process makes no deadline pass.
func TestClockOfANewcomer(t *testing.T) {
	j := newJumping(t, redisstore.Config{})
	at, sleeper := j.time(), store.Instance{Namespace: "test", ID: "a"}
	if _, err := j.Start(t.Context(), store.Start{Instance: sleeper, Invocation: []byte("{}"), Delay: 30 * time.Minute}); err != nil {
		t.Fatal(err)
	}
	j.server.Jump(time.Hour)
	newcomer := j.another(redisstore.Config{})
	if _, err := newcomer.Poll(t.Context(), 0, 10, false); err != nil {
		t.Fatal(err)
	}
	for _, one := range []*jumping{j, newcomer, j, newcomer} {
		if now := one.time(); now.Sub(at) > time.Minute {
			t.Errorf("it is %s from what it was", now.Sub(at))
		}
	}
	p, err := newcomer.Promote(t.Context(), store.Promote{Instances: []store.Instance{sleeper}})
	if err != nil || p.Ready != 0 {
		t.Errorf("%d ready, %v: a wait of 30 minutes is over after %s", p.Ready, err, p.At.Sub(at))
	}
	if st, err := j.Statistics(t.Context(), 0); err != nil || st.Jumps != 1 {
		t.Errorf("the statistics are %+v, %v", st, err)
	}
}

// TestClockBehindTheLastWrite: the server's clock goes back further than the partition was written to last.
func TestClockBehindTheLastWrite(t *testing.T) {
	j := newJumping(t, redisstore.Config{})
	at := j.time()
	redistest.EditTime(t, j.client, "swrun:{D:0}:time", func(m *redistest.Time) { m.Written = at.Add(-5 * time.Second).UnixMilli() })
	j.server.Jump(-time.Hour)
	for range 3 {
		if now := j.time(); now.Sub(at) < -10*time.Second {
			t.Errorf("time fell back by %s", at.Sub(now))
		}
	}
}

// TestClockComesBack: the correction of a clock that went back is dropped when the clock caught up. If it then goes back by a little, a
// process without knowledge of the time does not take that for the earlier jump.
func TestClockComesBack(t *testing.T) {
	j := newJumping(t, redisstore.Config{})
	j.start("a")
	at := j.time()
	j.server.Jump(-time.Hour)
	j.time()
	j.server.Jump(time.Hour + time.Second)
	j.start("b") // which notes the time
	j.server.Jump(-500 * time.Millisecond)
	newcomer := j.another(redisstore.Config{})
	if p, err := newcomer.Promote(t.Context(), store.Promote{}); err != nil || p.At.Sub(at) > time.Minute {
		t.Errorf("it is %s from what it was, %v", p.At.Sub(at), err)
	}
}

// TestClockOfAStoppedProcess: a process that is stopped before it sends, or before it reads the answer, does not take the time of the
// answer for the time at which it continues.
func TestClockOfAStoppedProcess(t *testing.T) {
	for _, reads := range []int64{1, 2, 3} { // of the clock, until it is stopped
		for name, ask := range map[string]func(*jumping) error{
			"read":  func(j *jumping) error { _, err := j.Poll(t.Context(), 0, 10, false); return err },
			"write": func(j *jumping) error { _, err := j.Promote(t.Context(), store.Promote{}); return err },
		} {
			var up uptime
			var left atomic.Int64
			var j *jumping
			j = newJumping(t, redisstore.Config{Uptime: func() time.Duration {
				if left.Add(-1) == 0 {
					up.add(55 * time.Second)
					j.server.Jump(55 * time.Second) // the server continues in the meantime
				}
				return up.read()
			}})
			at, began := j.time(), time.Now()
			left.Store(reads)
			if err := ask(j); err != nil {
				t.Fatal(err)
			}
			if left.Load() > 0 {
				continue // it does not look so often
			}
			if behind := 55*time.Second + time.Since(began) - j.time().Sub(at); behind > 10*time.Second {
				t.Errorf("%s, stopped after %d looks at the clock: the partition is %s behind", name, reads, behind)
			}
		}
	}
}

// TestClockOfWhatWaited: a request that waited in this process while the machine slept is not used as a source of the time, neither for
// itself nor for the data stored with it.
func TestClockOfWhatWaited(t *testing.T) {
	var up uptime
	j := newJumping(t, redisstore.Config{Uptime: up.read})
	before, after := newTogether(t, j.Store, 0, togetherKind{}).commit, newTogether(t, j.Store, 1, togetherKind{}).commit
	at := j.time()
	for n, c := range []*store.Commit{&before, &after} {
		c.Guard = at.Add(time.Duration(20+n) * time.Second)
	}
	if err := j.client.ClientPause(t.Context(), 1500*time.Millisecond).Err(); err != nil {
		t.Fatal(err)
	}
	var group sync.WaitGroup
	for range 3 { // whatever comes next has to wait
		group.Go(func() { j.Promote(t.Context(), store.Promote{}) }) // nothing is due
		time.Sleep(30 * time.Millisecond)
	}
	commit := func(c store.Commit) {
		group.Go(func() {
			if _, err := j.Commit(t.Context(), c); store.RefusedAs(err) != store.TimedOut {
				t.Errorf("got %v, 20 s late", err)
			}
		})
	}
	commit(before)
	time.Sleep(50 * time.Millisecond)
	up.add(40 * time.Second)
	j.server.Jump(40 * time.Second)
	commit(after)
	group.Wait()
	if now := j.time(); now.Sub(at) < 40*time.Second {
		t.Errorf("it is %s later than before", now.Sub(at))
	}
	if st, err := j.Statistics(t.Context(), 0); err != nil || st.Jumps != 0 {
		t.Errorf("the statistics are %+v, %v", st, err)
	}
}
