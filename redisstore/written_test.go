package redisstore_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/swrun/swrun/redisstore"
	"github.com/swrun/swrun/redisstore/redistest"
	"github.com/swrun/swrun/runtime/store"
)

// commands returns the number of commands that a server ran, including commands of scripts.
func commands(t *testing.T, client *redis.Client) (n int) {
	t.Helper()
	info, err := client.Info(t.Context(), "commandstats").Result()
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(info) {
		name, rest, _ := strings.Cut(line, ":calls=")
		var calls int
		if _, err := fmt.Sscan(strings.SplitN(rest, ",", 2)[0], &calls); err == nil && name != "cmdstat_info" {
			n += calls
		}
	}
	return n
}

// TestCommandsOfAnIdleWorker: the calls of an idle worker cost few commands (runtime TestIdleWorker checks how often they are made).
func TestCommandsOfAnIdleWorker(t *testing.T) {
	var up uptime
	server := redistest.Start(t)
	s := mustOpen(t, server.URL(), redisstore.Config{Uptime: up.read})
	client := redis.NewClient(&redis.Options{Addr: server.Addr})
	defer client.Close() // the server is gone then
	for n := range 500 {
		if _, err := s.Start(t.Context(), store.Start{Instance: store.Instance{Namespace: "test", ID: fmt.Sprint(n)}, Invocation: []byte("{}"), Delay: time.Hour}); err != nil {
			t.Fatal(err)
		}
	}
	for _, call := range []struct {
		name string
		want int
		call func() error
	}{
		{"Written", 2, func() error { _, err := s.Written(t.Context()); return err }},
		{"Written again", 2, func() error { _, err := s.Written(t.Context()); return err }},
		{"Poll", 10, func() error { _, err := s.Poll(t.Context(), 0, 100, true); return err }}, // the needs are not known yet
		{"Poll again", 9, func() error { _, err := s.Poll(t.Context(), 0, 100, true); return err }},
		{"Drift", 12, func() error { _, err := s.Drift(t.Context(), store.Drift{N: 1000}); return err }}, // the script is sent
		{"Drift again", 11, func() error { _, err := s.Drift(t.Context(), store.Drift{N: 1000}); return err }},
		{"Scrub", 12 + 20 + 25, func() error { _, err := s.Scrub(t.Context(), store.Scrub{N: 100}); return err }}, // 25 compare sets with runs
	} {
		before := commands(t, client)
		if err := call.call(); err != nil {
			t.Fatal(err)
		}
		if n := commands(t, client) - before; n > call.want {
			t.Errorf("%s took %d commands, want at most %d", call.name, n, call.want)
		}
	}
}

// TestWritten: each write to a partition is reported, with the time there; on one server, and on a cluster.
func TestWritten(t *testing.T) {
	for name, url := range map[string]string{"server": redistest.Start(t).URL(), "cluster": redistest.Cluster(t, 3)} {
		t.Run(name, func(t *testing.T) {
			s := mustOpen(t, url, redisstore.Config{Partitions: partitions})
			before, err := s.Written(t.Context())
			if err != nil || len(before) != partitions {
				t.Fatal(before, err)
			}
			i := store.Instance{Namespace: "test", ID: "a"}
			started, err := s.Start(t.Context(), store.Start{Instance: i, Invocation: []byte("{}")})
			if err != nil {
				t.Fatal(err)
			}
			after, err := s.Written(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			for p, now := range after {
				if wrote := now.Writes != before[p].Writes; wrote != (p == i.Partition(partitions)) || now.At.Before(started.At.Add(-time.Second)) {
					t.Errorf("partition %d: %+v, before %+v", p, now, before[p])
				}
			}
			w, err := s.Poll(t.Context(), i.Partition(partitions), 1, false)
			if err != nil || w.Writes != after[i.Partition(partitions)].Writes {
				t.Errorf("polled %+v, %v", w, err)
			}
		})
	}
}

// TestWrittenConfirms: a call of Written confirms the time of all partitions, as polling does.
func TestWrittenConfirms(t *testing.T) {
	var stopped, alive uptime
	j := newJumping(t, redisstore.Config{Uptime: stopped.read})
	other := j.another(redisstore.Config{Uptime: alive.read})
	if _, err := j.Start(t.Context(), store.Start{Instance: store.Instance{Namespace: "test", ID: "a"}, Invocation: []byte("{}"), Delay: time.Hour}); err != nil {
		t.Fatal(err)
	}
	at := j.time()
	for range 8 {
		if _, err := other.Written(t.Context()); err != nil {
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
	j.server.Jump(time.Hour)
	all, err := other.Written(t.Context())
	if err != nil || all[0].Writes != -1 {
		t.Errorf("after a jump: %+v, %v", all, err)
	}
}

// TestWrittenAfterALoss: a partition that lost writes must be polled, and then the poll reports it.
func TestWrittenAfterALoss(t *testing.T) {
	server := redistest.Start(t)
	s := mustOpen(t, server.URL(), redisstore.Config{Deployment: "D", Partitions: 1})
	client := redis.NewClient(&redis.Options{Addr: server.Addr})
	defer client.Close() // the server is gone then
	for n := range 2 {
		if _, err := s.Start(t.Context(), store.Start{Instance: store.Instance{Namespace: "test", ID: fmt.Sprint(n)}, Invocation: []byte("{}")}); err != nil {
			t.Fatal(err)
		}
	}
	redistest.EditTime(t, client, "swrun:{D:0}:time", func(m *redistest.Time) { m.Writes-- })
	if all, err := s.Written(t.Context()); err != nil || all[0].Writes != -1 {
		t.Errorf("after a loss: %+v, %v", all, err)
	}
	if err := client.FlushAll(t.Context()).Err(); err != nil {
		t.Fatal(err)
	}
	if all, err := s.Written(t.Context()); err != nil || all[0].Writes != -1 {
		t.Errorf("after all was lost: %+v, %v", all, err)
	}
}
