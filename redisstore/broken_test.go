package redisstore_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/swrun/swrun/interpreter"
	"github.com/swrun/swrun/redisstore"
	"github.com/swrun/swrun/redisstore/redistest"
	"github.com/swrun/swrun/runtime/store"
)

func instance(id string) store.Instance { return store.Instance{Namespace: "test", ID: id} }

func (j *jumping) start(ids ...string) (all []store.Instance) {
	j.Helper()
	for _, id := range ids {
		if _, err := j.Start(j.Context(), store.Start{Instance: instance(id), Invocation: []byte("{}")}); err != nil {
			j.Fatal(err)
		}
		all = append(all, instance(id))
	}
	return all
}

// TestClosedStore: calls of a closed store are refused immediately.
func TestClosedStore(t *testing.T) {
	server := redistest.Start(t)
	s, err := redisstore.Open(t.Context(), server.URL(), redisstore.Config{Partitions: 1})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Load(context.Background(), instance("a")); !errors.Is(err, redis.ErrClosed) {
		t.Errorf("reading: %v", err)
	}
	if _, err := s.Payload(context.Background(), instance("a"), "ref"); !errors.Is(err, redis.ErrClosed) {
		t.Errorf("reading a payload: %v", err)
	}
	if err := s.Relay(context.Background(), 0, []string{"0:1-1"}); !errors.Is(err, redis.ErrClosed) {
		t.Errorf("writing: %v", err)
	}
}

// TestLossOfAnIdlePartition: a partition in which nothing is due, and that has lost writes, is found by looking at it.
func TestLossOfAnIdlePartition(t *testing.T) {
	j := newJumping(t, redisstore.Config{})
	j.start("a")
	redistest.EditTime(t, j.client, "swrun:{D:0}:time", func(m *redistest.Time) { m.Writes-- }) // as a failover does
	if _, err := j.Poll(t.Context(), 0, 10, false); store.RefusedAs(err) != store.RolledBack {
		t.Errorf("got %v", err)
	}
	if done, err := j.Scrub(t.Context(), store.Scrub{N: 10, Adopt: true, Loss: true}); err != nil || !done.Adopted {
		t.Errorf("got %+v, %v", done, err)
	}
	if _, err := j.Poll(t.Context(), 0, 10, false); err != nil {
		t.Error(err)
	}
}

// TestTimeThatNoClockShows: a time after the year 9999 is damaged, like a time that is not a number, both for reading and for writing. A
// worker continues with the time of the server.
func TestTimeThatNoClockShows(t *testing.T) {
	for _, damaged := range []redistest.Time{{Written: 9_000_000_000_000_000, Writes: 5000}, {Written: 253_402_214_400_000, Writes: 5000, Offset: 1e18}} {
		j := newJumping(t, redisstore.Config{})
		j.start("a")
		at := j.time()
		redistest.EditTime(t, j.client, "swrun:{D:0}:time", func(m *redistest.Time) { *m = damaged })
		if _, err := j.Poll(t.Context(), 0, 10, false); store.RefusedAs(err) != store.RolledBack {
			t.Errorf("of %+v reading tells %v", damaged, err)
		}
		if _, err := j.Start(t.Context(), store.Start{Instance: instance("b"), Invocation: []byte("{}")}); store.RefusedAs(err) != store.RolledBack {
			t.Errorf("of %+v writing tells %v", damaged, err)
		}
		if done, err := j.Scrub(t.Context(), store.Scrub{N: 10, Adopt: true, Loss: true}); err != nil || !done.Adopted {
			t.Errorf("got %+v, %v", done, err)
		}
		if now := j.time(); now.Sub(at) > time.Minute {
			t.Errorf("it is %s", now)
		}
	}
}

// TestRemovedMeanwhile: a run that was removed after it was listed does not indicate damage, and is in no set. Scrub removes an entry that is left.
func TestRemovedMeanwhile(t *testing.T) {
	j := newJumping(t, redisstore.Config{})
	i := j.start("a")[0]
	key := "swrun:{D:0}:i:" + i.String()
	slot := j.client.XRange(t.Context(), "swrun:{D:0}:index", "-", "+").Val()[0]
	forget := func() {
		j.client.XDel(t.Context(), "swrun:{D:0}:index", slot.ID)
		j.client.Del(t.Context(), key)
	}
	forget()
	for name, f := range map[string]func() error{
		"claim": func() error {
			_, err := j.Claim(t.Context(), store.Claim{Instances: []store.Instance{i}, Worker: "w", Nonce: "n", Lease: time.Minute})
			return err
		},
		"promote": func() error {
			_, err := j.Promote(t.Context(), store.Promote{Instances: []store.Instance{i}})
			return err
		},
	} {
		if err := f(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if st, err := j.Statistics(t.Context(), 0); err != nil || st.Ready+st.Waiting > 0 {
			t.Errorf("after %s: %+v, %v", name, st, err)
		}
	}
	if done, err := j.Scrub(t.Context(), store.Scrub{N: 10}); err != nil || len(done.Repaired) > 0 {
		t.Errorf("scrub tells %v, %v", done.Repaired, err)
	}
	j.client.XAdd(t.Context(), &redis.XAddArgs{Stream: "swrun:{D:0}:index", ID: "99999999999999-1", Values: []string{"i", i.String()}})
	if done, err := j.Scrub(t.Context(), store.Scrub{N: 10}); err != nil || len(done.Repaired) != 1 || len(done.Unreadable) != 0 {
		t.Errorf("of an entry without a run scrub tells %v, %v, %v", done.Repaired, done.Unreadable, err)
	}
}

// TestMessagesToACorruptInstance are not taken for delivered.
func TestMessagesToACorruptInstance(t *testing.T) {
	j := newJumping(t, redisstore.Config{})
	i := j.start("a")[0]
	if err := j.client.HSet(t.Context(), "swrun:{D:0}:i:"+i.String(), "k", "nonsense").Err(); err != nil {
		t.Fatal(err)
	}
	for name, f := range map[string]func() error{
		"deliver": func() error { return j.Deliver(t.Context(), store.Delivery{To: i, ID: "d", Message: []byte("m")}) },
		"command": func() error { return j.Command(t.Context(), store.Command{To: i, ID: "c", Verb: store.VerbCancel}) },
		"load":    func() error { _, err := j.Load(t.Context(), i); return err },
		"commit": func() error {
			_, err := j.Commit(t.Context(), store.Commit{Instance: i, Status: "running"})
			return err
		},
	} {
		if err := f(); store.RefusedAs(err) != store.Corrupt {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestNobodyWaits: a queued request whose caller gave up is not sent later. Otherwise a run would be claimed without a worker.
func TestNobodyWaits(t *testing.T) {
	j := newJumping(t, redisstore.Config{})
	i := j.start("a")[0]
	if err := j.client.Do(t.Context(), "client", "pause", 1000, "all").Err(); err != nil {
		t.Fatal(err)
	}
	for range 3 { // which fill the pipelines
		go j.Drift(context.Background(), store.Drift{N: 1})
		time.Sleep(20 * time.Millisecond)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	if _, err := j.Claim(ctx, store.Claim{Instances: []store.Instance{i}, Worker: "w", Nonce: "n", Lease: time.Minute}); err == nil {
		t.Fatal("the server has answered")
	}
	if _, err := j.Drift(t.Context(), store.Drift{N: 1}); err != nil { // behind it
		t.Fatal(err)
	}
	if l, err := j.Load(t.Context(), i); err != nil || l.Lifecycle.Held() {
		t.Errorf("it is held: %+v, %v", l.Lifecycle, err)
	}
}

// TestAdoptionIsRepeated: if the answer that a partition was adopted is lost, the same call is answered so again, and
// another one is not.
func TestAdoptionIsRepeated(t *testing.T) {
	j := newJumping(t, redisstore.Config{})
	line := newLine(t, j.server.Addr)
	far := mustOpen(t, "redis://"+line.addr, redisstore.Config{Deployment: "D", Partitions: 1})
	j.start("a", "b")
	if _, err := far.Drift(t.Context(), store.Drift{N: 1}); err != nil { // it has seen them
		t.Fatal(err)
	}
	redistest.EditTime(t, j.client, "swrun:{D:0}:time", func(m *redistest.Time) { m.Writes-- })
	line.cut.Store(true)
	loss := store.Scrub{N: 1, Adopt: true, Loss: true}
	if done, err := far.Scrub(t.Context(), loss); err != nil || !done.Adopted || line.cut.Load() {
		t.Errorf("got %+v, %v; was a line cut: %v", done, err, !line.cut.Load())
	}
	if done, err := far.Scrub(t.Context(), loss); err != nil || done.Adopted {
		t.Errorf("another call: %+v, %v", done, err)
	}
	if st, err := j.Statistics(t.Context(), 0); err != nil || st.Losses != 1 {
		t.Errorf("the statistics are %+v, %v", st, err)
	}
}

// line is a way to a server that can be cut.
type line struct {
	addr string
	cut  atomic.Bool // with the next answer
}

func newLine(t *testing.T, to string) *line {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() }) // no more calls are made
	n := &line{addr: l.Addr().String()}
	go func() {
		for {
			near, err := l.Accept()
			if err != nil {
				return
			}
			far, err := net.Dial("tcp", to)
			if err != nil {
				near.Close()
				return
			}
			go func() { _, _ = io.Copy(far, near); far.Close() }()
			go func() { _, _ = io.Copy(answers{near, n}, far); near.Close() }()
		}
	}()
	return n
}

// answers are the replies of the server.
type answers struct {
	io.Writer
	*line
}

func (a answers) Write(data []byte) (int, error) {
	if bytes.Contains(data, []byte("OK 1")) && a.cut.CompareAndSwap(true, false) { // of a script
		return 0, io.ErrClosedPipe
	}
	return a.Writer.Write(data)
}

// TestDamageIsFoundFirst: a commit that cannot be stored completely has no effect, for any number of attempts, and is never reported as
// stored.
func TestDamageIsFoundFirst(t *testing.T) {
	for _, c := range []struct {
		name   string
		key    func(store.Instance) string
		commit func(*store.Commit)
	}{
		{"payloads", func(i store.Instance) string { return "p:" + i.String() }, func(c *store.Commit) { c.Payloads = map[string][]byte{"r": []byte("x")} }},
		{"outbox", func(store.Instance) string { return "outbox" }, func(c *store.Commit) { c.Outbox = [][]byte{[]byte("{}")} }},
		{"history", func(i store.Instance) string { return "h:" + i.String() }, func(*store.Commit) {}},
		{"set", func(store.Instance) string { return "waiting" }, func(c *store.Commit) { c.Wake, c.Release = c.At.Add(time.Second), true }},
		{"set that is left", func(store.Instance) string { return "held" }, func(c *store.Commit) { c.Status = interpreter.StatusCompleted }},
		{"inbox", func(i store.Instance) string { return "n:" + i.String() }, func(c *store.Commit) { c.Read = 1 }},
		{"set of the ended", func(store.Instance) string { return "closed" }, func(c *store.Commit) { c.Status = interpreter.StatusCompleted }},
	} {
		t.Run(c.name, func(t *testing.T) {
			j := newJumping(t, redisstore.Config{})
			commit := newTogether(t, j.Store, 0, togetherKind{}).commit
			c.commit(&commit)
			if commit.Read > 0 {
				if err := j.Deliver(t.Context(), store.Delivery{To: commit.Instance, ID: "m", Message: store.Message("{}")}); err != nil {
					t.Fatal(err)
				}
			}
			key := "swrun:{D:0}:" + c.key(commit.Instance)
			j.client.Rename(t.Context(), key, "kept") // if it is there
			if err := j.client.Set(t.Context(), key, "something else", 0).Err(); err != nil {
				t.Fatal(err)
			}
			for range 3 {
				if _, err := j.Commit(t.Context(), commit); err == nil {
					t.Fatal("it is said to be stored")
				}
			}
			j.client.Del(t.Context(), key)
			j.client.Rename(t.Context(), "kept", key)
			if _, err := j.Commit(t.Context(), commit); err != nil {
				t.Fatal(err)
			}
			l, err := j.Load(t.Context(), commit.Instance)
			if err != nil {
				t.Fatal(err)
			}
			if h, err := j.History(t.Context(), commit.Instance, 0, 10); err != nil || len(h) != int(l.Lifecycle.Entries) {
				t.Errorf("%d entries, %v; the record says %d", len(h), err, l.Lifecycle.Entries)
			}
		})
	}
}
