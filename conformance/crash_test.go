package conformance

import (
	"fmt"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/swrun/swrun/boltstore"
	"github.com/swrun/swrun/internal/pacetest"
	"github.com/swrun/swrun/memstore"
	"github.com/swrun/swrun/redisstore"
	"github.com/swrun/swrun/redisstore/redistest"
	"github.com/swrun/swrun/runtime/storetest"
)

// maxCrashes limits the crashes in cases that commit very often.
const maxCrashes = 40

// TestCrashes runs every case on a store: the worker is lost after each of its commits, and the answer to each of them is lost. The outcome is the
// same as without faults.
func TestCrashes(t *testing.T) {
	crashes(t, 3, 1, memoryBench)
}

// memoryBench opens a new store in memory. Its clock moves only when the test advances it.
func memoryBench(*testing.T) bench {
	clock := &storetest.Clock{At: epoch()}
	return bench{memstore.New(memstore.Config{Partitions: 2, Now: clock.Now}), clock.Now, clock.Advance}
}

// crashes tries every case, and under the race detector one of some: each case has one goroutine at a time. It tries one of each commits of a case,
// and starts at another commit in the next case, so that all places are tried on every store. The run reacts to a crash independently of the store.
func crashes(t *testing.T, some, each int, open func(*testing.T) bench) {
	for at, c := range pacetest.Thinned(mustCases(t), some) {
		if !c.runs() {
			continue
		}
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			verifyCrashes(t, 1+at%each, each, func() *durable { return newDurable(t, c, open(t)) })
		})
	}
}

// verifyCrashes runs a case without faults, and then with each fault at one of each commits, beginning with the commit from.
func verifyCrashes(t *testing.T, from, each int, begin func() *durable) {
	t.Helper()
	calm := begin()
	calm.run()
	calm.c.verify(t, calm.ending())
	calm.verifyStore()
	for n := from; n <= min(calm.commits, pacetest.Fewer(maxCrashes, maxCrashes/each)); n += each {
		crashed := begin()
		crashed.crashAt = n
		crashed.verifyAfter(calm, fmt.Sprintf("crash at commit %d of %d", n, calm.commits))
		lost := begin()
		lost.loseAt = n
		lost.verifyAfter(calm, fmt.Sprintf("lost answer to commit %d of %d", n, calm.commits))
	}
}

// verifyAfter runs d, and compares it with a run without faults.
func (d *durable) verifyAfter(calm *durable, what string) {
	d.t.Helper()
	d.run()
	d.c.verify(d.t, d.ending())
	d.verifyStore()
	for key, n := range d.calls {
		if n > calm.calls[key]+d.lost {
			d.t.Errorf("%s: the effect %s was begun %d times", what, key, n)
		}
	}
	if d.t.Failed() {
		d.t.Fatalf("%s", what)
	}
}

// TestCrashesInFile is TestCrashes on files, with one of three commits.
func TestCrashesInFile(t *testing.T) {
	crashes(t, 12, 3, fileBench)
}

// fileBench opens a new file with a clock that does not advance.
func fileBench(t *testing.T) bench {
	t.Helper()
	clock := &storetest.Clock{At: epoch()}
	s, err := boltstore.Open(t.Context(), filepath.Join(mustFolder(t), "store.db"), boltstore.Config{Partitions: 2, Now: clock.Now})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() }) // the folder is removed too
	return bench{s, clock.Now, clock.Advance}
}

// mustFolder returns a folder in memory if possible: the test is about the order of writes, not about the disk.
func mustFolder(t *testing.T) string {
	t.Helper()
	folder, err := os.MkdirTemp("/dev/shm", "swrun")
	if err != nil {
		return t.TempDir()
	}
	t.Cleanup(func() { os.RemoveAll(folder) }) // it is in memory
	return folder
}

// TestCrashesOnRedis is TestCrashes on a server, with one of four commits, each run in a deployment of its own.
func TestCrashesOnRedis(t *testing.T) {
	server := redistest.Start(t, "--appendonly", "yes")
	client := redis.NewClient(&redis.Options{Addr: server.Addr, DisableIdentity: true})
	t.Cleanup(func() { client.Close() }) // the server is already stopped
	var deployments atomic.Int64
	t.Run("", func(t *testing.T) {
		crashes(t, 12, 4, func(t *testing.T) bench { return mustDeployment(t, server.URL(), client, deployments.Add(1)) })
	})
}

// mustDeployment opens a new deployment whose clock does not advance, as far as the store allows: its clock is behind the highest observed time, by
// less than the limit for a clock that went back.
func mustDeployment(t *testing.T, url string, client *redis.Client, n int64) bench {
	t.Helper()
	name := fmt.Sprintf("case%d", n)
	const behind = 900
	clock, isSet := epoch(), time.Time{}
	set := func() {
		isSet = time.Now()
		for p := range 2 {
			key := fmt.Sprintf("swrun:{%s:%d}:time", name, p)
			offset := clock.UnixMilli() - behind - time.Now().UnixMilli()
			redistest.EditTime(t, client, key, func(m *redistest.Time) { m.Written, m.Offset = clock.UnixMilli(), offset })
		}
	}

	s, err := redisstore.Open(t.Context(), url, redisstore.Config{Deployment: name, Partitions: 2})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	set() // before the first write
	advance := func(d time.Duration) {
		clock = clock.Add(d)
		set()
	}
	now := func() time.Time {
		if time.Since(isSet) > behind*time.Millisecond/4 { // before a busy machine lets the store's clock advance
			set()
		}
		return clock
	}
	return bench{s, now, advance}
}
