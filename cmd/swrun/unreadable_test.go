package main

import (
	"bytes"
	"fmt"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"go.etcd.io/bbolt"

	"github.com/swrun/swrun/redisstore/redistest"
	"github.com/swrun/swrun/runtime/store"
)

// broken changes the stored records of runs: the argument is the record, and the result is stored.
type broken func(change func(id string, record []byte) []byte)

// TestUnreadableRuns: a run whose record a newer build has written, or is damaged, is reported by every command and surface about it, and does not
// affect requests about other runs.
func TestUnreadableRuns(t *testing.T) {
	t.Run("file", func(t *testing.T) {
		t.Parallel()
		path := filepath.Join(t.TempDir(), "runs.db")
		(&hosted{t, "file:" + path}).tellsUnreadable(func(change func(string, []byte) []byte) {
			db, err := bbolt.Open(path, 0o600, nil)
			if err != nil {
				t.Fatal(err)
			}
			defer db.Close() // the data is already written
			err = db.Update(func(tx *bbolt.Tx) error {
				b, changed := tx.Bucket([]byte("swrun")), map[string][]byte{}
				err := b.ForEach(func(key, record []byte) error {
					parts := strings.Split(string(key), "/")
					if len(parts) > 2 && parts[len(parts)-1] == "record" {
						changed[string(key)] = change(parts[len(parts)-2], bytes.Clone(record))
					}
					return nil
				})
				for key, record := range changed {
					if err == nil {
						err = b.Put([]byte(key), record)
					}
				}
				return err
			})
			if err != nil {
				t.Fatal(err)
			}
		})
	})
	t.Run("redis", func(t *testing.T) {
		t.Parallel()
		server := redistest.Start(t)
		client := redis.NewClient(&redis.Options{Addr: server.Addr, DisableIdentity: true})
		t.Cleanup(func() { client.Close() })
		(&hosted{t, server.URL()}).tellsUnreadable(func(change func(string, []byte) []byte) {
			keys, err := client.Keys(t.Context(), "*:i:demo/*").Result()
			for _, key := range keys {
				var record string
				if record, err = client.HGet(t.Context(), key, "k").Result(); err != nil {
					continue // it is another part of the run
				}
				id := key[strings.LastIndex(key, "/")+1:]
				if err := client.HSet(t.Context(), key, "k", change(id, []byte(record))).Err(); err != nil {
					t.Fatal(err)
				}
			}
			if len(keys) == 0 {
				t.Fatal(err)
			}
		})
	})
}

// deployedOnRedis deploys the workflow demo/nap on a Redis, and returns a client with which a test damages the stored data.
func deployedOnRedis(t *testing.T) (*hosted, *redis.Client) {
	t.Helper()
	server := redistest.Start(t)
	client := redis.NewClient(&redis.Options{Addr: server.Addr, DisableIdentity: true})
	t.Cleanup(func() { client.Close() })
	h := &hosted{t, server.URL()}
	h.exits(exitOK, "deploy", mustWriteFile(t, "nap.yaml", napText))
	return h, client
}

// deployedInFile deploys the workflow nap to a store in a file.
func deployedInFile(t *testing.T) (h *hosted, path string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "runs.db")
	h = &hosted{t, "file:" + path}
	h.exits(exitOK, "deploy", mustWriteFile(t, "nap.yaml", napText))
	return h, path
}

// naps starts runs of nap, and has a worker bring each of them to its timer. No worker is there afterwards.
func (h *hosted) naps(ids ...string) {
	h.Helper()
	stop := working(h.T, capture(map[string]string{"SWRUN_STORE": h.url}))
	defer stop()
	for _, id := range ids {
		h.exits(exitOK, "start", "demo/nap", "--id", id)
		h.until("waiting for the timer", "describe", id)
	}
}

// TestUnreadableParts: a run of which one part is damaged on Redis is reported by its name, and no message recommends a retry.
func TestUnreadableParts(t *testing.T) {
	t.Parallel()
	h, client := deployedOnRedis(t)
	parts := []string{"s", "h", "c", "f1", "f2", "entry", "step", "good"}
	for _, id := range parts {
		h.exits(exitOK, "start", "demo/nap", "--id", id)
	}
	stop := working(t, capture(map[string]string{"SWRUN_STORE": h.url}))
	for _, id := range parts {
		h.until("waiting for the timer", "describe", id)
	}
	stop()
	for _, key := range client.Keys(t.Context(), "*:demo/*").Val() {
		switch id := key[strings.LastIndex(key, "/")+1:]; {
		case strings.Contains(key, ":h:") && id == "entry":
			client.LSet(t.Context(), key, 0, "rubbish")
		case strings.Contains(key, ":h:") && id == "step":
			client.LSet(t.Context(), key, 0, "1 1 nonce rubbish")
		case strings.Contains(key, ":i:") && len(id) < 3:
			if id != "c" && !client.HExists(t.Context(), key, id).Val() {
				t.Errorf("the run has no field %s: %q", id, client.HGetAll(t.Context(), key).Val())
			}
			client.HSet(t.Context(), key, id, "rubbish")
		}
	}
	s := h.listening("serve", "--listen", "127.0.0.1:0")
	for _, id := range parts[:len(parts)-1] {
		path, verb := "/v1/runs/demo/"+id, "describe "
		asked := []string{path}
		if id == "entry" || id == "step" {
			asked, verb = []string{path + "/history", path + "/events"}, "history "
		}
		for _, path := range asked {
			answer, text := h.asks(s, http.MethodGet, path, "")
			if answer.StatusCode != http.StatusInternalServerError || !strings.Contains(text, "unreadable") || !strings.Contains(text, "run demo/"+id) {
				t.Errorf("GET %s is answered with %s: %s", path, answer.Status, text)
			}
		}
		if code, out := h.says(verb + id); code != exitStore || !strings.Contains(out, "run demo/"+id) {
			t.Errorf("%s%s ends with %d: %s", verb, id, code, out)
		}
	}
	h.until("waiting for the timer", "describe", "good")
}

// TestDamagedHistoryOfFile: a run of which an entry of the history in a file is damaged is reported by its name by every reader of the history, and
// does not stop other runs.
func TestDamagedHistoryOfFile(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{"rubbish": "rubbish", "empty": "", "another event": "1 1 nonce rubbish", "cut": `1 1 nonce 1 {"type":`, "newer": `1 1 nonce 99 {}`} {
		path := filepath.Join(t.TempDir(), "runs.db")
		h := &hosted{t, "file:" + path}
		h.exits(exitOK, "deploy", mustWriteFile(t, "nap.yaml", napText))
		stop := working(t, capture(map[string]string{"SWRUN_STORE": h.url}))
		for _, id := range []string{"bad", "good"} {
			h.exits(exitOK, "start", "demo/nap", "--id", id)
			h.until("waiting for the timer", "describe", id)
		}
		stop()
		overwriteEntry(t, path, "/demo/bad/history/", []byte(text))
		s := h.listening("serve", "--listen", "127.0.0.1:0")
		for _, asked := range []string{"/history", "/timeline.svg", "/export", "/events"} {
			answer, told := h.asks(s, http.MethodGet, "/v1/runs/demo/bad"+asked, "")
			if !strings.Contains(told, "run demo/bad") || !strings.Contains(told, "unreadable") || answer.StatusCode != http.StatusInternalServerError {
				t.Errorf("%s: GET %s is answered with %s: %s", name, asked, answer.Status, told)
			}
		}
		for _, args := range []string{"history bad", "export bad", "fork bad"} {
			if code, out := h.says(args); code != exitStore || !strings.Contains(out, "run demo/bad") {
				t.Errorf("%s: %s ends with %d: %s", name, args, code, out)
			}
		}
		if code, out := h.says("describe bad"); code != exitOK && !strings.Contains(out, "run demo/bad") {
			t.Errorf("%s: describe ends with %d: %s", name, code, out)
		}
		h.exits(exitOK, "cancel", "good")
		h.exits(exitCancelled, "wait", "good")
	}
}

// TestDamagedLayout: commands and doctor name the key of a deployment that is damaged, and do not blame the server or --store.
func TestDamagedLayout(t *testing.T) {
	t.Parallel()
	h, client := deployedOnRedis(t)
	keys := client.Keys(t.Context(), "*:layout").Val()
	if len(keys) != 1 {
		t.Fatal(keys)
	}
	for _, text := range []string{"rubbish", "", "null", "{}", `{"Partitions":0,"Schema":2}`, `{"Partitions":1000000000,"Schema":2}`, `{"Partitions":1e30,"Schema":2}`, "list"} {
		client.Del(t.Context(), keys[0])
		if text == "list" {
			client.LPush(t.Context(), keys[0], text)
		} else {
			client.Set(t.Context(), keys[0], text, 0)
		}
		for _, args := range []string{"ls", "deploy " + mustWriteFile(t, "nap.yaml", napText), "worker", "serve --listen 127.0.0.1:0", "doctor"} {
			code, out := h.says(args)
			if code != exitStore || !strings.Contains(out, keys[0]) || !strings.Contains(out, "is damaged") {
				t.Errorf("%q: %s ends with %d: %s", text, args, code, out)
			}
			if args == "doctor" && (strings.Contains(out, "correct the server or --store") || !strings.Contains(out, "fix: restore the key "+keys[0]+" from a backup")) {
				t.Errorf("%q: doctor says the wrong fix: %s", text, out)
			}
		}
	}
}

// tellsUnreadable breaks two of four runs, and runs the commands.
func (h *hosted) tellsUnreadable(breaks broken) {
	h.Helper()
	h.exits(exitOK, "deploy", mustWriteFile(h.T, "nap.yaml", napText))
	for _, id := range []string{"good", "newer", "nonsense", "other"} {
		h.exits(exitOK, "start", "demo/nap", "--id", id, "--run-timeout", "1h")
	}
	changed := 0
	breaks(func(id string, record []byte) []byte {
		switch id {
		case "newer":
			changed++
			return append([]byte("99 "), record[bytes.IndexByte(record, ' ')+1:]...)
		case "nonsense":
			changed++
			return []byte("nonsense")
		}
		return record
	})
	if changed != 2 {
		h.Fatalf("%d records were changed", changed)
	}
	s := h.listening("serve", "--listen", "127.0.0.1:0")
	h.answers(s, "/v1/health", http.StatusServiceUnavailable, "2 runs and 0 registered things cannot be read")
	h.answers(s, "/metrics", http.StatusOK, "\nswrun_runs_unreadable 2\n")
	for _, id := range []string{"good", "other"} {
		h.until("waiting for the timer", "describe", id)
	}
	s.err.until(h.T, "demo/newer")
	s.err.until(h.T, "demo/nonsense")
	for _, c := range []struct {
		args string
		code int
		says []string
	}{
		{"ls", exitOK, []string{"good", "other", "2 runs cannot be read"}},
		{"ls --count", exitOK, []string{"2 runs cannot be read"}},
		{"ls --count --by status", exitOK, []string{"2 runs cannot be read"}},
		{"describe newer", exitStore, []string{"has the form 99 of a newer swrun", "use the newer version"}},
		{"describe nonsense", exitStore, []string{"demo/nonsense"}},
		{"history newer", exitStore, []string{"newer swrun"}},
		{"output nonsense", exitStore, []string{"demo/nonsense"}},
		{"wait newer --timeout 1s", exitStore, []string{"newer swrun"}},
		{"doctor", exitStore, []string{"error    SD019  2 runs and 0 registered things cannot be read", "its deadlines do not fire", "use the newer version for all workers"}},
		{"deadlines --within 2h", exitOK, []string{"good", "other"}},
		{"cancel newer", exitStore, []string{"newer swrun"}},
		{"cancel nonsense", exitStore, []string{"demo/nonsense"}},
		{"suspend --where id=* --yes", exitOK, []string{"good", "other", "2 runs cannot be read"}},
		{"resume --where id=* --yes", exitOK, []string{"good", "other", "2 runs cannot be read"}},
		{"deadline set --where id=* +1h --yes", exitOK, []string{"good", "other", "2 runs cannot be read"}},
		{"terminate --where id=* --yes", exitOK, []string{"good", "other", "2 runs cannot be read"}},
		{"delete --where id=* --yes", exitOK, []string{"good", "other", "2 runs cannot be read"}},
	} {
		code, out := h.says(c.args)
		if code != c.code {
			h.Errorf("%s ends with %d, want %d:\n%s", c.args, code, c.code, out)
		}
		for _, text := range c.says {
			if !strings.Contains(out, text) {
				h.Errorf("%s does not say %q:\n%s", c.args, text, out)
			}
		}
		if strings.HasPrefix(c.args, "terminate") {
			h.until("terminated", "describe", "good")
			h.until("terminated", "describe", "other")
		}
	}
}

// says runs a command, and returns its exit code and its output on both streams.
func (h *hosted) says(args string) (int, string) {
	c := capture(map[string]string{"SWRUN_STORE": h.url})
	c.now = time.Now
	code := run(strings.Fields(args), c.streams)
	return code, c.stdout.String() + c.stderr.String()
}

// TestStoresOfSchema1: a store of the schema before forms had numbers is refused by commands and servers, on file and Redis, with the remedy.
func TestStoresOfSchema1(t *testing.T) {
	older := fmt.Appendf(nil, `"Schema":%d`, store.Schema-1)
	now := fmt.Appendf(nil, `"Schema":%d`, store.Schema)
	path := filepath.Join(t.TempDir(), "runs.db")
	file := &hosted{t, "file:" + path}
	if err := outdated(path, filledStore(t, mustWriteFile(t, "nap.yaml", napText))); err != nil {
		t.Fatal(err)
	}
	server := redistest.Start(t)
	client := redis.NewClient(&redis.Options{Addr: server.Addr, DisableIdentity: true})
	t.Cleanup(func() { client.Close() })
	remote := &hosted{t, server.URL()}
	remote.exits(exitOK, "deploy", mustWriteFile(t, "nap.yaml", napText))
	changed := 0
	for _, key := range client.Keys(t.Context(), "*").Val() {
		if text, err := client.Get(t.Context(), key).Bytes(); err == nil && bytes.Contains(text, now) {
			client.Set(t.Context(), key, bytes.Replace(text, now, older, 1), 0)
			changed++
		}
		for field, text := range client.HGetAll(t.Context(), key).Val() {
			if strings.Contains(text, string(now)) {
				client.HSet(t.Context(), key, field, strings.Replace(text, string(now), string(older), 1))
				changed++
			}
		}
	}
	if changed == 0 {
		t.Fatal("no layout says its schema")
	}
	for _, h := range []*hosted{file, remote} {
		for _, args := range []string{"ls", "doctor", "worker", "serve --listen 127.0.0.1:0", "describe a", "cancel --where id=* --yes", "start demo/nap"} {
			code, out := h.says(args)
			if code != exitStore || !strings.Contains(out, "holds schema 1 and this version of swrun needs 2") || !strings.Contains(out, "with the version of swrun that made it") {
				t.Errorf("%s of %s ends with %d: %s", args, h.url, code, out)
			}
		}
	}
}
