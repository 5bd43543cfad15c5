package server_test

import (
	"bytes"
	"context"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/swrun/swrun"
	"github.com/swrun/swrun/internal/control"
	"github.com/swrun/swrun/internal/disktest"
	"github.com/swrun/swrun/redisstore/redistest"
	"github.com/swrun/swrun/server"
)

// refusal is a store that takes no new runs, and the expected answer to the first start.
type refusal struct {
	url   string
	cause func(*openedAPI)
	heal  func() // nil if that is not possible
	says  []string
	// fresh is true if no run was started before.
	fresh bool
	// maybe is true if a part of the start may be stored: a script had begun.
	maybe bool
}

// TestFirstRefusal: the first start after a store began to refuse is answered with the reason and the remedy, and is not carried out later. The last
// examination of the store found it healthy.
func TestFirstRefusal(t *testing.T) {
	for name, prepare := range refusingFiles() {
		t.Run("file/"+name, func(t *testing.T) {
			t.Parallel()
			prepare(t, filepath.Join(t.TempDir(), "store.db")).toldAtOnce(t)
		})
	}
	for name, prepare := range refusingServers() {
		t.Run("redis/"+name, func(t *testing.T) {
			t.Parallel()
			s := redistest.Start(t, "--appendonly", "no", "--save", "3600 1000000")
			client := redis.NewClient(&redis.Options{Addr: s.Addr, DisableIdentity: true})
			t.Cleanup(func() { client.Close() })
			prepare(t, s, client).toldAtOnce(t)
		})
	}
}

func refusingFiles() map[string]func(*testing.T, string) refusal {
	file := func(path string) string { return "file:" + path }
	return map[string]func(*testing.T, string) refusal{
		"moved away": func(_ *testing.T, path string) refusal {
			return refusal{
				url: file(path), says: []string{"was removed", "put the file back"},
				cause: func(*openedAPI) { os.Rename(path, path+".away") }, heal: func() { os.Rename(path+".away", path) },
			}
		},
		"replaced": func(_ *testing.T, path string) refusal {
			return refusal{
				url: file(path), says: []string{"was replaced", "put the file back"},
				cause: func(*openedAPI) { os.Rename(path, path+".away"); os.WriteFile(path, []byte("x"), 0o600) }, heal: func() { os.Rename(path+".away", path) },
			}
		},
		"damaged": func(_ *testing.T, path string) refusal {
			return refusal{url: file(path), says: []string{"is damaged", "put a copy of the file back"}, cause: func(*openedAPI) { os.Truncate(path, 0) }}
		},
		"closed": func(_ *testing.T, path string) refusal {
			return refusal{url: file(path), says: []string{"is closed", "start the process again"}, cause: func(a *openedAPI) { a.store.Close() }}
		},
		"full disk": func(t *testing.T, path string) refusal {
			disk := disktest.Over(t, filepath.Dir(path), "6m")
			return refusal{url: file(path), says: []string{"no space left", "make room on the disk"}, cause: func(*openedAPI) { disk.Fill() }, heal: disk.Free}
		},
		"disk that became read-only": func(t *testing.T, path string) refusal {
			disk := disktest.Breaking(t, filepath.Dir(path))
			return refusal{url: file(path), says: []string{"read-only", "mount the file system so that it can be written to", "dmesg"}, cause: func(*openedAPI) { disk.Break() }}
		},
		"made immutable": func(t *testing.T, path string) refusal {
			return refusal{url: file(path), says: []string{"not permitted", "lsattr"}, cause: func(*openedAPI) { disktest.Lock(t, path) }, heal: func() { disktest.Unlock(t, path) }}
		},
	}
}

func refusingServers() map[string]func(*testing.T, *redistest.Server, *redis.Client) refusal {
	of := func(cause, heal string, says ...string) func(*testing.T, *redistest.Server, *redis.Client) refusal {
		return func(t *testing.T, s *redistest.Server, client *redis.Client) refusal {
			do := func(command string) {
				t.Helper()
				var args []any
				for word := range strings.FieldsSeq(command) {
					args = append(args, word)
				}
				if err := client.Do(context.Background(), args...).Err(); err != nil {
					t.Errorf("%s: %v", command, err)
				}
			}
			return refusal{url: s.URL(), says: says, cause: func(*openedAPI) { do(cause) }, heal: func() { do(heal) }}
		}
	}
	return map[string]func(*testing.T, *redistest.Server, *redis.Client) refusal{
		"replica": of("REPLICAOF 127.0.0.1 1", "REPLICAOF NO ONE", "replica", "name its primary"),
		"memory full before the first run": func(t *testing.T, s *redistest.Server, client *redis.Client) refusal {
			f := of("CONFIG SET maxmemory 1mb", "CONFIG SET maxmemory 0", "memory", "raise maxmemory")(t, s, client)
			f.fresh = true
			return f
		},
		"replica without its primary": func(t *testing.T, s *redistest.Server, client *redis.Client) refusal {
			f := of("REPLICAOF 127.0.0.1 1", "REPLICAOF NO ONE", "replica", "whether the primary of this replica runs")(t, s, client)
			if err := client.ConfigSet(t.Context(), "replica-serve-stale-data", "no").Err(); err != nil {
				t.Fatal(err)
			}
			return f
		},
		"memory full": of("CONFIG SET maxmemory 1mb", "CONFIG SET maxmemory 0", "memory", "raise maxmemory"),
		"no permission to ZADD": func(t *testing.T, s *redistest.Server, client *redis.Client) refusal {
			f := of("ACL SETUSER default -zadd", "ACL SETUSER default +@all", "script", "ACL SETUSER")(t, s, client)
			f.maybe = true
			return f
		},
		"no scripts":       of("ACL SETUSER default -evalsha -eval", "ACL SETUSER default +@all", "NOPERM", "ACL SETUSER"),
		"too few replicas": of("CONFIG SET min-replicas-to-write 1", "CONFIG SET min-replicas-to-write 0", "NOREPLICAS", "min-replicas-to-write"),
		"killed": func(_ *testing.T, s *redistest.Server, _ *redis.Client) refusal {
			return refusal{url: s.URL(), says: []string{"connection refused", "whether the server runs"}, cause: func(*openedAPI) { s.Kill() }, heal: s.Run}
		},
		"cannot save": func(_ *testing.T, s *redistest.Server, client *redis.Client) refusal {
			dump := filepath.Join(s.Folder(), "dump.rdb")
			return refusal{
				url: s.URL(), says: []string{"MISCONF", "make room on the server's disk"}, heal: func() { os.RemoveAll(dump); savesUntil(client, "ok") },
				cause: func(*openedAPI) { os.MkdirAll(filepath.Join(dump, "x"), 0o700); savesUntil(client, "err") },
			}
		},
	}
}

// savesUntil lets a server save until a save ends with a status. No save is in progress then, whose process would outlive the server.
func savesUntil(client *redis.Client, status string) {
	client.BgSave(context.Background())
	for {
		info, err := client.Info(context.Background(), "persistence").Result()
		switch {
		case err != nil:
			return
		case !strings.Contains(info, "rdb_bgsave_in_progress:0"):
		case strings.Contains(info, "rdb_last_bgsave_status:"+status):
			return
		default:
			client.BgSave(context.Background())
		}
	}
}

// openedAPI is a server over a store that a test opened.
type openedAPI struct {
	*server.Server
	store *swrun.Store
}

func (a *openedAPI) ask(method, url, body string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, url, strings.NewReader(body))
	if r.Header.Set("Content-Type", "application/json"); method == http.MethodPut {
		r.Header.Set("Content-Type", "application/yaml")
	}
	w := httptest.NewRecorder()
	a.ServeHTTP(w, r)
	return w
}

// toldAtOnce sends a start right after the store began to refuse.
func (f refusal) toldAtOnce(t *testing.T) {
	t.Helper()
	s, err := swrun.OpenStore(t.Context(), f.url, swrun.StoreConfig{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	engine, err := swrun.NewEngine(s, swrun.EngineConfig{})
	if err != nil {
		t.Fatal(err)
	}
	a := &openedAPI{server.New(server.Config{Control: control.New(engine, s, time.Now), Authorize: server.TrustEveryone, AnyHost: true}), s}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	served := make(chan error, 1)
	go func() { served <- a.Serve(ctx, l) }() // it examines the store while requests wait for it
	t.Cleanup(func() { stop(); <-served })
	if w := a.ask("PUT", "/v1/workflows/demo/a/1.0.0", "document: {dsl: 1.0.3, namespace: demo, name: a, version: 1.0.0}\ndo: [{a: {set: {n: 1}}}]"); w.Code != 201 {
		t.Fatalf("%d %s", w.Code, w.Body)
	}
	if w := a.ask("GET", "/readyz", ""); w.Code != 200 { // the last examination finds the store healthy
		t.Fatalf("%d %s", w.Code, w.Body)
	}
	if !f.fresh {
		if w := a.ask("POST", "/v1/runs", `{"workflow": "demo/a", "id": "before"}`); w.Code != 201 {
			t.Fatalf("%d %s", w.Code, w.Body)
		}
	}
	f.cause(a)
	w := a.ask("POST", "/v1/runs", `{"workflow": "demo/a", "id": "one", "input": "`+strings.Repeat("x", 1<<20)+`"}`)
	applied := `"applied":"no"`
	if f.maybe {
		applied = `"applied":"maybe"`
	}
	for _, says := range append(f.says, applied) {
		if !bytes.Contains(w.Body.Bytes(), []byte(says)) {
			t.Errorf("the answer does not say %q: %d %s", says, w.Code, w.Body)
		}
	}
	if w.Code != 503 || w.Header().Get("Retry-After") == "" {
		t.Errorf("%d, Retry-After %q", w.Code, w.Header().Get("Retry-After"))
	}
	if f.heal == nil {
		return
	}
	f.heal()
	eventually(t, "the store is well again", func() bool { return a.ask("GET", "/readyz", "").Code == 200 })
	if w := a.ask("GET", "/v1/runs/demo/one", ""); w.Code != 404 && !f.maybe {
		t.Errorf("the run is there: %d %s", w.Code, w.Body)
	}
}
