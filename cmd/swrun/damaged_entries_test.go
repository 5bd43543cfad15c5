package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"
	"go.etcd.io/bbolt"

	"github.com/swrun/swrun/redisstore/redistest"
)

// overwrites overwrites the values of the keys that contain a text: by rubbish, or on Redis by a list.
type overwrites func(key string, list bool)

// TestDamagedEntries: damaged data beside the runs affects only its owner, and is reported there with its name.
func TestDamagedEntries(t *testing.T) {
	t.Run("file", func(t *testing.T) {
		t.Parallel()
		path := filepath.Join(t.TempDir(), "runs.db")
		(&hosted{t, "file:" + path}).survivesDamage([]string{"/rules/q", "definition/digest/"}, func(part string, _ bool) {
			overwriteEntry(t, path, part, []byte("rubbish"))
		})
	})
	t.Run("redis", func(t *testing.T) {
		t.Parallel()
		server := redistest.Start(t)
		client := redis.NewClient(&redis.Options{Addr: server.Addr, DisableIdentity: true})
		t.Cleanup(func() { client.Close() })
		(&hosted{t, server.URL()}).survivesDamage([]string{":rules/q", ":r:queues", "digest/"}, func(part string, list bool) {
			changed := 0
			for _, key := range client.Keys(t.Context(), "*").Val() {
				if strings.HasSuffix(key, ":definitions") {
					for field := range client.HGetAll(t.Context(), key).Val() {
						if strings.Contains(field, part) {
							changed++
							client.HSet(t.Context(), key, field, "rubbish")
						}
					}
				}
				if !strings.Contains(key, part) {
					continue
				}
				if changed++; !list {
					client.Set(t.Context(), key, "rubbish", 0)
					continue
				}
				client.Del(t.Context(), key)
				client.LPush(t.Context(), key, "rubbish")
			}
			if changed == 0 {
				t.Fatalf("no key contains %q: %q", part, client.Keys(t.Context(), "*").Val())
			}
		})
	})
}

// survivesDamage damages one entry after another: the owner of each reports it, and runs are listed as before.
func (h *hosted) survivesDamage(keys []string, overwrite overwrites) {
	h.Helper()
	h.exits(exitOK, "deploy", mustWriteFile(h.T, "nap.yaml", napText))
	h.exits(exitOK, "start", "demo/nap", "--id", "one")
	h.exits(exitOK, "queue", "limit", "q", "--concurrency", "2")
	for _, key := range keys {
		list := strings.HasSuffix(key, "queues")
		overwrite(key, list)
		wants := []struct {
			args string
			code int
			says string
		}{{"ls", exitOK, "one"}, {"ls --count --by waiting", exitOK, "1"}, {"doctor", exitStore, "1 registered thing cannot be read"}, {"queue ls", exitStore, "queues"}}
		if strings.Contains(key, "digest") {
			wants = wants[:2]
		}
		for _, c := range wants {
			code, out := h.says(c.args)
			if code != c.code || !strings.Contains(out, c.says) || strings.Contains(out, "overloaded") {
				h.Errorf("%s damaged: %s ends with %d and does not say %q:\n%s", key, c.args, code, c.says, out)
			}
		}
	}
	s := h.listening("serve", "--listen", "127.0.0.1:0")
	h.answers(s, "/v1/runs", http.StatusOK, `"one"`)
	h.refusesDamagedWorkflow(s)
}

// refusesDamagedWorkflow: a workflow whose definition is damaged starts nothing, and the answer names it. Other workflows run as before.
func (h *hosted) refusesDamagedWorkflow(s *serving) {
	h.Helper()
	for _, c := range []struct{ method, path, body, applied string }{
		{http.MethodPost, "/v1/runs", `{"workflow": "demo/nap", "id": "two"}`, "no"},
		{http.MethodGet, "/v1/runs/demo/one", "", ""},
		{http.MethodGet, "/v1/workflows/demo/nap", "", ""},
	} {
		answer, text := h.asks(s, c.method, c.path, c.body)
		var problem struct{ Type, Detail, Applied string }
		if err := json.Unmarshal([]byte(text), &problem); err != nil {
			h.Fatal(c.path, text, err)
		}
		if answer.StatusCode != http.StatusInternalServerError || !strings.HasSuffix(problem.Type, "unreadable") || problem.Applied != c.applied || !strings.Contains(problem.Detail, "demo/nap") {
			h.Errorf("%s %s of a damaged definition is answered with %s: %s", c.method, c.path, answer.Status, text)
		}
	}
	if code, out := h.says("start demo/nap --id two"); code != exitStore || !strings.Contains(out, "demo/nap") {
		h.Errorf("start ends with %d: %s", code, out)
	}
	if code, out := h.says("describe two"); code != exitNotFound {
		h.Errorf("describe two ends with %d: %s", code, out)
	}
	s.err.until(h.T, "a run could not be worked on")
	other := strings.Replace(napText, "name: nap", "name: other", 1)
	h.exits(exitOK, "deploy", mustWriteFile(h.T, "other.yaml", other))
	h.exits(exitOK, "start", "demo/other", "--id", "three")
	h.until("waiting for the timer", "describe", "three")
}

// overwriteEntry overwrites the values of a file under the keys that contain a text; nil deletes them. The file must not be open.
func overwriteEntry(t *testing.T, path, part string, data []byte) {
	t.Helper()
	changeEntries(t, path, func(b *bbolt.Bucket) error {
		var keys [][]byte
		err := b.ForEach(func(key, _ []byte) error {
			if strings.Contains(string(key), part) {
				keys = append(keys, bytes.Clone(key))
			}
			return nil
		})
		if len(keys) == 0 {
			t.Fatalf("no key contains %q", part)
		}
		for _, key := range keys {
			if err == nil && data == nil {
				err = b.Delete(key)
			} else if err == nil {
				err = b.Put(key, data)
			}
		}
		return err
	})
}

// changeEntries changes the content of a file. The file must not be open.
func changeEntries(t *testing.T, path string, change func(*bbolt.Bucket) error) {
	t.Helper()
	db, err := bbolt.Open(path, 0o600, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close() // the data is already written
	if err := db.Update(func(tx *bbolt.Tx) error { return change(tx.Bucket([]byte("swrun"))) }); err != nil {
		t.Fatal(err)
	}
}

// overwritesKeys damages the keys of Redis that match a pattern: as "type" by another type, and otherwise by a text in the place of their text, or of
// the value of an entry.
func (h *hosted) overwritesKeys(client *redis.Client, pattern, by string) {
	h.Helper()
	keys := client.Keys(h.Context(), pattern).Val()
	for _, key := range keys {
		is, was := client.Type(h.Context(), key).Val(), strings.SplitN(client.Get(h.Context(), key).Val(), " ", 4)
		switch client.Del(h.Context(), key); {
		case by == "type" && is == "list":
			client.Set(h.Context(), key, "rubbish", 0)
		case by == "type", is == "list":
			client.RPush(h.Context(), key, "rubbish")
		case is == "hash":
			client.HSet(h.Context(), key, "rubbish", by)
		case len(was) == 4 && by != "rubbish":
			client.Set(h.Context(), key, strings.Join(append(was[:3], by), " "), 0)
		default:
			client.Set(h.Context(), key, by, 0)
		}
	}
	if len(keys) == 0 {
		h.Fatalf("no key fits %q: %q", pattern, client.Keys(h.Context(), "*").Val())
	}
}

// keepsAll returns a function that restores everything on a Redis to its present state.
func (h *hosted) keepsAll(client *redis.Client) (back func()) {
	kept := map[string]string{}
	for _, key := range client.Keys(h.Context(), "*").Val() {
		kept[key] = client.Dump(h.Context(), key).Val()
	}
	return func() {
		client.FlushAll(h.Context())
		for key, text := range kept {
			if err := client.Restore(h.Context(), key, 0, text).Err(); err != nil {
				h.Fatal(err)
			}
		}
	}
}

// mustFillRedis stores one entry of each kind on a Redis.
func mustFillRedis(t *testing.T) (*hosted, *redis.Client) {
	t.Helper()
	server := redistest.Start(t)
	client := redis.NewClient(&redis.Options{Addr: server.Addr, DisableIdentity: true})
	t.Cleanup(func() { client.Close() })
	h := &hosted{t, server.URL() + "?partitions=2"}
	h.exits(exitFaulted, "run", mustWriteFile(t, "failing.yaml", failingDocument), "--id", "bad")
	h.exits(exitOK, "deploy", mustWriteFile(t, "nap.yaml", napText))
	h.exits(exitOK, "deploy", mustWriteFile(t, "failing.yaml", failingDocument))
	h.exits(exitOK, "deploy", mustWriteFile(t, "daily.yaml", dailyText))
	h.exits(exitOK, "start", "demo/nap", "--id", "one")
	h.exits(exitOK, "queue", "limit", "images", "--concurrency", "3")
	h.exits(exitOK, "config", "set", "runTimeout=1000h")
	h.exits(exitOK, "token", "new", "ada", "--role", "viewer", "-n", "demo")
	h.exits(exitOK, "function", "deploy", "greet:1.0.0", mustWriteFile(t, "function.yaml", "set: {a: 1}\n"))
	client.Set(t.Context(), "swrun:{swrun:0}:e:keys:activities", `1 0 x 1 "key"`, 0)
	client.Set(t.Context(), "swrun:{swrun:1}:e:keys:activities", `1 0 x 1 "key"`, 0)
	for p := range 2 {
		client.ZAdd(t.Context(), fmt.Sprintf("swrun:{swrun:%d}:r:keys", p), redis.Z{Score: math.Inf(1), Member: "activities"})
	}
	return h, client
}

// TestDoctorReadsEntries: doctor decodes each entry of the registry as its readers do, and its remedy mends the entry.
func TestDoctorReadsEntries(t *testing.T) {
	t.Parallel()
	h, client := mustFillRedis(t)
	_, out := h.says("doctor")
	contains(t, out, "all examined data can be read")
	back, daily := h.keepsAll(client), mustWriteFile(t, "daily.yaml", dailyText)
	for _, c := range []struct{ pattern, by, says, fix, mends string }{
		{"*:e:tokens:ada", "1 {}", "the entry ada of tokens cannot be read: it lacks", "swrun token revoke", "token revoke ada"},
		{"*:e:tokens:ada", "type", "the entry ada of tokens cannot be read", "swrun token revoke", "token revoke ada"},
		{"*:e:schedules:demo/daily", "1 {}", "the entry demo/daily of schedules cannot be read: it does not", "deploy the workflow again", "deploy " + daily},
		{"*:e:schedules:demo/daily", "type", "the entry demo/daily of schedules cannot be read", "deploy the workflow again", "deploy " + daily},
		{"*:e:schedules:changes", "rubbish", "the entry changes of schedules cannot be read", "replaces the entry changes", "schedule pause demo/daily"},
		{"*:e:schedules:changes", "type", "the entry changes of schedules cannot be read", "replaces the entry changes", "deploy " + daily},
		{"*:e:functions:greet:1.0.0", "1 {}", "the function greet:1.0.0 is damaged", "swrun function rm", "function rm greet:1.0.0"},
		{"*:e:queues:*", `1 {"concurrency": "x"}`, "the entry rules/images of queues cannot be read", "swrun queue limit QUEUE --concurrency N --replace", "queue limit images --concurrency 3 --replace"},
		{"*:e:queues:*", "type", "the entry rules/images of queues cannot be read", "swrun queue limit QUEUE --concurrency N --replace", "queue limit images --concurrency none --replace"},
		{"*:e:queues:*", `1 {"concurrency": -5}`, "the entry rules/images of queues cannot be read: its concurrency is -5", "swrun queue limit", "queue limit images --concurrency 3"},
		{"*:e:queues:*", `1 {"rate": 5}`, "the entry rules/images of queues cannot be read: its rate is for 0s", "swrun queue limit", "queue limit images --rate 5/1m"},
		{"*:e:queues:*", `1 {}`, "the entry rules/images of queues cannot be read: it contains no rule", "swrun queue resume", "queue resume images"},
		{"*:e:settings:*", "1 []", "the entry deployment of settings cannot be read", "swrun config set NAME=VALUE --replace", "config set runTimeout=5h --replace"},
		{"*:e:settings:*", "type", "the entry deployment of settings cannot be read", "swrun config set NAME=VALUE --replace", "config unset runTimeout --replace"},
		{"*:e:settings:*", "1 {}", "the entry deployment of settings cannot be read: it contains no setting", "swrun config unset", "config unset runTimeout"},
		{"*:e:settings:*", `2 {"runTimeout": -5}`, "the entry deployment of settings cannot be read: runTimeout is -5ns", "swrun config set", "config set runTimeout=5h"},
		{"*:e:settings:*", `2 {"events": "a b"}`, "the entry deployment of settings cannot be read: events must be", "swrun config set", "config set events=own"},
		{"*:e:keys:activities", "1 {}", "the entry activities of keys cannot be read", "start a server again", ""},
	} {
		back()
		h.overwritesKeys(client, c.pattern, c.by)
		code, out := h.says("doctor")
		if code != exitStore || !strings.Contains(out, c.says) || !strings.Contains(out, c.fix) || !strings.Contains(out, "SD019  0 runs and 1 registered thing cannot be read") {
			t.Errorf("%s is damaged by %s: doctor ends with %d:\n%s", c.pattern, c.by, code, out)
		}
		if c.mends == "" {
			continue
		}
		h.exits(exitOK, strings.Fields(c.mends)...)
		if _, out := h.says("doctor"); !strings.Contains(out, "all examined data can be read") {
			t.Errorf("%s is damaged by %s: after %s says doctor:\n%s", c.pattern, c.by, c.mends, out)
		}
	}
}

// TestVerbsOnDamagedKeys: a verb that needs an overwritten key of Redis ends with 7, names the key or the entry once, and shows the remedy.
func TestVerbsOnDamagedKeys(t *testing.T) {
	t.Parallel()
	h, client := mustFillRedis(t)
	event := mustWriteFile(t, "event.json", `{"specversion": "1.0", "id": "1", "source": "/s", "type": "t", "data": 1}`)
	back := h.keepsAll(client)
	for _, c := range []struct{ pattern, by, names, verbs string }{
		{"*:h:demo/bad", "type", "*:h:demo/bad", "retry bad"},
		{"*:h:demo/bad", "rubbish", "run demo/bad", "retry bad"},
		{"*:i:demo/*", "type", "*:i:demo/", "retry bad;retry one --now;describe one"},
		{"*:i:demo/*", "rubbish", "run demo/", "retry bad;retry one --now;describe one"},
		{"*:versions", "type", "*:versions", "schedule pause demo/daily;token new bob --role viewer -n demo;queue pause images;config set runTimeout=5h;events publish EVENT"},
		{"*:versions", "9223372036854775807", "*:versions", "config set runTimeout=5h;queue pause images"},
		{"*:versions", "rubbish", "*:versions", "schedule pause demo/daily;token new bob --role viewer -n demo;queue pause images;config set runTimeout=5h;events publish EVENT"},
		{"*:time", "type", "*:time", "schedule pause demo/daily;schedule describe demo/daily;token new bob --role viewer -n demo;queue pause images;config set runTimeout=5h;config ls"},
		{"*:r:tokens", "type", "*:r:tokens", "token new bob --role viewer -n demo;token ls;token revoke ada"},
		{"*:r:settings", "type", "*:r:settings", "config set runTimeout=5h;config ls"},
		{"*:r:schedules", "type", "*:r:schedules", "schedule pause demo/daily;schedule ls;events publish EVENT"},
		{"*:r:queues", "type", "*:r:queues", "queue pause images;queue ls"},
		{"*:e:tokens:*", "rubbish", "the entry ada of tokens", "token ls"},
		{"*:e:settings:*", "type", "the entry deployment of settings", "config set runTimeout=5h;config ls;retry bad"},
		{"*:e:settings:*", "1 []", "the entry deployment of settings", "config set runTimeout=5h;config ls;retry bad"},
		{"*:e:queues:*", "rubbish", "the entry rules/images of queues", "queue pause images;queue ls"},
		{"*:e:schedules:demo/daily", "type", "the entry demo/daily of schedules", "schedule pause demo/daily;schedule describe demo/daily;schedule ls"},
		{"*:definitions", "type", "*:definitions", "retry bad"},
	} {
		for _, verb := range strings.Split(c.verbs, ";") {
			back()
			h.overwritesKeys(client, c.pattern, c.by)
			code, out := h.says(strings.Replace(verb, "EVENT", event, 1))
			name := strings.TrimPrefix(c.names, "*")
			if code != exitStore || strings.Count(out, name) != 1 || strings.Contains(out, "script: ") || strings.Contains(out, " again ") {
				t.Errorf("%s is damaged by %s: %s ends with %d:\n%s", c.pattern, c.by, verb, code, out)
			}
			if !strings.Contains(out, "swrun doctor lists the entries that cannot be read") && !strings.Contains(out, "back from a copy") && !strings.Contains(out, "--replace sets ") && !strings.Contains(out, " rebuilds the lists of the registry ") {
				t.Errorf("%s is damaged by %s: %s shows no remedy:\n%s", c.pattern, c.by, verb, out)
			}
		}
	}
}
