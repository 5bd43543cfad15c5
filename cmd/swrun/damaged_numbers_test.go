package main

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"
	"go.etcd.io/bbolt"
)

// inEachPartition stores a value under a key of each partition of a file. The file must not be open.
func inEachPartition(t *testing.T, path, key, value string) {
	t.Helper()
	changeEntries(t, path, func(b *bbolt.Bucket) (err error) {
		for partition := range 4 {
			if err == nil {
				err = b.Put(fmt.Appendf(nil, "p/%04d/%s", partition, key), []byte(value))
			}
		}
		return err
	})
}

// TestDamagedPermits: a damaged permit of a queue in a file has no holder.
func TestDamagedPermits(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "runs.db")
	h := &hosted{t, "file:" + path}
	h.exits(exitOK, "deploy", mustWriteFile(t, "outside.yaml", outsideText))
	h.outside("x")
	h.exits(exitOK, "queue", "limit", "images", "--concurrency", "1")
	inEachPartition(t, path, "permit/images/rubbish", "rubbish")
	h.endsOutside(h.listening("serve", "--listen", "127.0.0.1:0"))
}

// TestImpossiblePermits: a permit of a queue on Redis with an impossible end has no holder, and a start with an impossible time does not count for the rate.
func TestImpossiblePermits(t *testing.T) {
	t.Parallel()
	h, client := deployedOnRedis(t)
	h.exits(exitOK, "deploy", mustWriteFile(t, "outside.yaml", outsideText))
	h.outside("x")
	h.exits(exitOK, "queue", "limit", "images", "--concurrency", "1", "--rate", "1/1m")
	for n := range 64 {
		prefix := strings.Replace(layoutKey, "}:layout", fmt.Sprintf(":%d}:", n), 1)
		for _, key := range []string{prefix + "u:images", prefix + "b:images"} {
			client.ZAdd(t.Context(), key, redis.Z{Score: 1e300, Member: "rubbish"}, redis.Z{Score: 1e17, Member: ""})
		}
	}
	h.endsOutside(h.listening("serve", "--listen", "127.0.0.1:0"))
}

// TestDamagedNumberOfTheOutbox: a message that leaves a run does not replace a waiting message, although the number of the last message is damaged.
func TestDamagedNumberOfTheOutbox(t *testing.T) {
	t.Parallel()
	h, path := deployedInFile(t)
	h.exits(exitOK, "deploy", mustWriteFile(t, "parent.yaml", `document: {dsl: 1.0.3, namespace: demo, name: parent, version: 0.1.0}
do:
- nap: {run: {workflow: {namespace: demo, name: nap, version: 0.1.0}}}
`))
	const waits = "99 of a newer swrun"
	inEachPartition(t, path, "outbox/00000000000000001", waits)
	inEachPartition(t, path, "outbox-last", "rubbish")
	stop := working(t, capture(map[string]string{"SWRUN_STORE": h.url}))
	for n := range 8 { // in all partitions
		h.exits(exitOK, "start", "demo/parent", "--id", fmt.Sprint("p", n))
		h.until("waiting for the run", "describe", fmt.Sprint("p", n))
	}
	stop()
	changeEntries(t, path, func(b *bbolt.Bucket) error {
		for partition := range 4 {
			if is := b.Get(fmt.Appendf(nil, "p/%04d/outbox/00000000000000001", partition)); string(is) != waits {
				t.Errorf("in partition %d waits %q", partition, is)
			}
		}
		return nil
	})
}
