package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/swrun/swrun/internal/disktest"
	"github.com/swrun/swrun/redisstore/redistest"
	"github.com/swrun/swrun/runtime/store"
)

// illness is a state in which a store is unreliable, with the reports of the surfaces.
type illness struct {
	reason store.Reason
	code   string   // of the check
	health string   // error or warning
	ready  bool     // /readyz still answers 200, swrun_store_up is 1, and nothing is logged
	doctor int      // its exit code
	flags  []string // of serve and doctor
	part   *part    // that is damaged; nil if the whole store is ill
	// lasting is true if the illness is present from the start, and stays. Otherwise cause causes it.
	lasting bool
	cause   func()
	heal    func() // nil if that is not possible
}

// part is a damaged part of a store, which does not stop the rest.
type part struct {
	metric, log string // their contents
	down        bool   // the store cannot count its contents
}

// TestIllStores: doctor, health, readiness, metrics and log agree about a store that is ill, and about its recovery. Other states have tests of their
// own: a damaged file ends the server (TestDamagedWhileServed), a store that is damaged before it is opened is refused (TestVerbsOnWhatIsNoStore),
// jumps of the clock, a limit on the size of a file and failing writes are tested with each store.
func TestIllStores(t *testing.T) {
	for name, prepare := range illRedis() {
		t.Run("redis/"+name, func(t *testing.T) {
			t.Parallel()
			start := redistest.Start
			if name == otherTime {
				start = redistest.StartWithClock
			}
			server := start(t, "--appendonly", "no", "--save", "3600 1000000", "--busy-reply-threshold", "100", "--enable-debug-command", "yes", "--loading-process-events-interval-bytes", "1024")
			client := redis.NewClient(&redis.Options{Addr: server.Addr, DisableIdentity: true})
			t.Cleanup(func() { client.Close() })
			(&hosted{t, server.URL()}).tellsIllness(prepare(&illServer{t, server, client}))
		})
	}
	for name, prepare := range illFiles() {
		t.Run("file/"+name, func(t *testing.T) {
			t.Parallel()
			folder := t.TempDir()
			path := filepath.Join(folder, "runs.db")
			(&hosted{t, "file:" + path}).tellsIllness(prepare(t, path))
		})
	}
	for name, prepare := range illClusters() {
		t.Run("cluster/"+name, func(t *testing.T) {
			url := redistest.Cluster(t, 3)
			seed, _, _ := strings.Cut(strings.TrimPrefix(url, "redis+cluster://"), "?")
			client := redis.NewClient(&redis.Options{Addr: seed, DisableIdentity: true})
			t.Cleanup(func() { client.Close() })
			(&hosted{t, url}).tellsIllness(prepare(&illServer{t, nil, client}))
		})
	}
}

// otherTime is the name of the state in which the server needs a clock that can be set.
const otherTime = "another time from the start"

// illServer is a Redis that the test makes ill.
type illServer struct {
	*testing.T
	*redistest.Server
	client *redis.Client
}

// do returns a function that sends a command.
func (s *illServer) do(command string) func() {
	return func() {
		s.T.Helper()
		var args []any
		for _, word := range strings.Fields(command) {
			args = append(args, word)
		}
		if err := s.client.Do(context.Background(), args...).Err(); err != nil {
			s.T.Errorf("%s: %v", command, err)
		}
	}
}

// signal returns a function that sends a signal to the server.
func (s *illServer) signal(is syscall.Signal) func() {
	return func() {
		if err := syscall.Kill(s.Process(), is); err != nil {
			s.T.Error(err)
		}
	}
}

// used returns the memory that the server uses, in bytes.
func (s *illServer) used() (bytes int64) {
	info, err := s.client.Info(context.Background(), "memory").Result()
	if _, rest, ok := strings.Cut(info, "used_memory:"); ok {
		_, err = fmt.Sscan(rest, &bytes)
	}
	if err != nil || bytes == 0 {
		s.T.Fatal(info, err)
	}
	return bytes
}

func illRedis() map[string]func(*illServer) illness {
	all := refusingRedis()
	all["a key overwritten"] = func(s *illServer) illness {
		return illness{
			reason: store.Damaged, code: "SD006", health: "error", ready: true, doctor: exitStore, cause: s.do("LPUSH swrun:{swrun:0}:listeners rubbish"), heal: s.do("DEL swrun:{swrun:0}:listeners"),
			part: &part{`swrun_store_unwell{reason="damaged"} 1`, `msg="a part of the store is damaged" reason=damaged error="the key swrun:{swrun:0}:listeners is damaged`, true},
		}
	}
	all["killed"] = func(s *illServer) illness {
		return illness{reason: store.Unreachable, code: "SD001", health: "error", doctor: exitStore, cause: s.Kill, heal: s.Server.Run}
	}
	all["stopped"] = func(s *illServer) illness {
		return illness{reason: store.Silent, code: "SD001", health: "error", doctor: exitStore, cause: s.signal(syscall.SIGSTOP), heal: s.signal(syscall.SIGCONT)}
	}
	all["evicting"] = func(s *illServer) illness {
		return illness{reason: store.Evicting, code: "SD002", health: "error", doctor: exitStore, cause: s.do("CONFIG SET maxmemory-policy allkeys-lru"), heal: s.do("CONFIG SET maxmemory-policy noeviction")}
	}
	all["less durable than required"] = func(s *illServer) illness {
		s.do("CONFIG SET appendonly yes")()
		return illness{reason: store.NotDurable, code: "SD002", health: "error", doctor: exitStore, flags: []string{"--require-durability", "everysec"}, cause: s.do("CONFIG SET appendonly no"), heal: s.do("CONFIG SET appendonly yes")}
	}
	all["memory nearly full"] = func(s *illServer) illness {
		return illness{
			reason: store.MemoryFull, code: "SD003", health: "error", ready: true, doctor: exitStore, heal: s.do("CONFIG SET maxmemory 0"),
			cause: func() { s.do(fmt.Sprint("CONFIG SET maxmemory ", s.used()*100/88))() },
		}
	}
	// A clock that jumps later is noticed, and time continues as before (TestServerClockJumps of faults).
	all[otherTime] = func(s *illServer) illness {
		s.Jump(2 * time.Minute)
		return illness{reason: store.ClockDiffers, code: "SD004", health: "warning", ready: true, lasting: true, doctor: exitOK}
	}
	all["memory full"] = func(s *illServer) illness {
		return illness{reason: store.MemoryFull, code: "SD003", health: "error", doctor: exitStore, cause: s.do("CONFIG SET maxmemory 1mb"), heal: s.do("CONFIG SET maxmemory 0")}
	}
	return all
}

// refusingRedis returns servers that answer with an error.
func refusingRedis() map[string]func(*illServer) illness {
	of := func(reason store.Reason, cause, heal string) func(*illServer) illness {
		return func(s *illServer) illness {
			return illness{reason: reason, code: "SD001", health: "error", doctor: exitStore, cause: s.do(cause), heal: s.do(heal)}
		}
	}
	return map[string]func(*illServer) illness{
		"readonly":              of(store.ReadOnly, "REPLICAOF 127.0.0.1 1", "REPLICAOF NO ONE"),
		"no permission to ZADD": of(store.Forbidden, "ACL SETUSER default -zadd", "ACL SETUSER default +@all"),
		"no permission to INFO": of(store.Forbidden, "ACL SETUSER default -info", "ACL SETUSER default +@all"),
		"no scripts":            of(store.Forbidden, "ACL SETUSER default -evalsha -eval", "ACL SETUSER default +@all"),
		"no keys":               of(store.Forbidden, "ACL SETUSER default resetkeys ~other:*", "ACL SETUSER default ~*"),
		"too few replicas":      of(store.Unwritable, "CONFIG SET min-replicas-to-write 1", "CONFIG SET min-replicas-to-write 0"),
		"primary gone": func(s *illServer) illness {
			return illness{
				reason: store.ReadOnly, code: "SD001", health: "error", doctor: exitStore, heal: s.do("REPLICAOF NO ONE"),
				cause: func() { s.do("CONFIG SET replica-serve-stale-data no")(); s.do("REPLICAOF 127.0.0.1 1")() },
			}
		},
		"loading its data": func(s *illServer) illness {
			s.do("DEBUG POPULATE 100000 filler 10")()
			return illness{
				reason: store.Silent, code: "SD001", health: "error", doctor: exitStore, heal: s.do("CONFIG SET key-load-delay 0"),
				cause: func() {
					s.do("CONFIG SET key-load-delay 1000")()
					go redis.NewClient(&redis.Options{Addr: s.Addr, ReadTimeout: -1}).Do(context.WithoutCancel(s.T.Context()), "DEBUG", "RELOAD")
				},
			}
		},
		"writes paused": func(s *illServer) illness {
			return illness{reason: store.Silent, code: "SD001", health: "error", doctor: exitStore, cause: s.do("CLIENT PAUSE 1000000 WRITE"), heal: s.do("CLIENT UNPAUSE")}
		},
		"another password": func(s *illServer) illness {
			return illness{
				reason: store.Forbidden, code: "SD001", health: "error", doctor: exitStore,
				heal: func() {
					knows := redis.NewClient(&redis.Options{Addr: s.Addr, Password: "other", DisableIdentity: true})
					defer knows.Close() // its work is done
					if err := knows.ConfigSet(context.Background(), "requirepass", "").Err(); err != nil {
						s.T.Error(err)
					}
				},
				cause: func() { s.do("CONFIG SET requirepass other")(); s.do("CLIENT KILL TYPE normal SKIPME yes")() },
			}
		},
		"cannot save": func(s *illServer) illness {
			dump := filepath.Join(s.Folder(), "dump.rdb")
			saved := func(status string) {
				for {
					s.client.BgSave(context.Background()) // refused while another one is in progress
					if info, err := s.client.Info(context.Background(), "persistence").Result(); err != nil || strings.Contains(info, "rdb_last_bgsave_status:"+status) {
						return
					}
				}
			}
			return illness{
				reason: store.DiskFull, code: "SD001", health: "error", doctor: exitStore,
				cause: func() {
					os.Remove(dump)
					os.Mkdir(dump, 0o700)
					os.WriteFile(filepath.Join(dump, "x"), nil, 0o600)
					saved("err")
				},
				heal: func() { os.RemoveAll(dump); saved("ok") },
			}
		},
		"busy with a script": func(s *illServer) illness {
			return illness{
				reason: store.Silent, code: "SD001", health: "error", doctor: exitStore, heal: s.do("SCRIPT KILL"),
				cause: func() {
					go redis.NewClient(&redis.Options{Addr: s.Addr, ReadTimeout: -1}).Eval(context.WithoutCancel(s.T.Context()), "while true do end", nil)
				},
			}
		},
	}
}

func illClusters() map[string]func(*illServer) illness {
	return map[string]func(*illServer) illness{
		"one server evicts": func(s *illServer) illness {
			return illness{reason: store.Evicting, code: "SD002", health: "error", doctor: exitStore, cause: s.do("CONFIG SET maxmemory-policy allkeys-lru"), heal: s.do("CONFIG SET maxmemory-policy noeviction")}
		},
		"one server forbids": func(s *illServer) illness {
			return illness{reason: store.Forbidden, code: "SD001", health: "error", doctor: exitStore, cause: s.do("ACL SETUSER default -zadd"), heal: s.do("ACL SETUSER default +@all")}
		},
		"one server is full": func(s *illServer) illness {
			return illness{reason: store.MemoryFull, code: "SD003", health: "error", doctor: exitStore, cause: s.do("CONFIG SET maxmemory 1mb"), heal: s.do("CONFIG SET maxmemory 0")}
		},
		"one server is gone": func(s *illServer) illness {
			return illness{reason: store.Unreachable, code: "SD001", health: "error", doctor: exitStore, cause: func() { s.client.ShutdownNoSave(context.Background()) }}
		},
	}
}

func illFiles() map[string]func(*testing.T, string) illness {
	return map[string]func(*testing.T, string) illness{
		"an entry damaged": func(t *testing.T, path string) illness {
			h := &hosted{t, "file:" + path}
			h.exits(exitOK, "deploy", mustWriteFile(t, "nap.yaml", napText))
			h.exits(exitOK, "start", "demo/nap", "--id", "one")
			overwriteEntry(t, path, "demo/one/record", []byte("rubbish"))
			return illness{
				code: "SD019", health: "error", ready: true, lasting: true, doctor: exitStore,
				part: &part{"\nswrun_runs_unreadable 1\n", `msg="a run cannot be read, and this worker does not go on with it" run=demo/one`, false},
			}
		},
		"disk that became read-only": func(t *testing.T, path string) illness {
			disk := disktest.Breaking(t, filepath.Dir(path))
			return illness{reason: store.ReadOnly, code: "SD001", health: "error", doctor: exitStore, cause: disk.Break}
		},
		"made immutable": func(t *testing.T, path string) illness {
			return illness{
				reason: store.ReadOnly, code: "SD001", health: "error", doctor: exitStore,
				cause: func() { disktest.Lock(t, path) }, heal: func() { disktest.Unlock(t, path) },
			}
		},
		"full disk": func(t *testing.T, path string) illness {
			disk := disktest.Over(t, filepath.Dir(path), "6m")
			return illness{reason: store.DiskFull, code: "SD001", health: "error", doctor: exitStore, cause: disk.Fill, heal: disk.Free}
		},
		"another disk mounted over it": func(t *testing.T, path string) illness {
			folder := disktest.Over(t, filepath.Dir(path), "6m").Folder
			// The mount also hides the content of the folder: the file is not in its place.
			return illness{
				reason: store.Gone, code: "SD001", health: "error", doctor: exitStore, heal: func() { syscall.Unmount(folder, 0) },
				cause: func() { syscall.Mount("tmpfs", folder, "tmpfs", syscall.MS_RDONLY, "size=1m") },
			}
		},
		"folder renamed": func(t *testing.T, path string) illness {
			folder := filepath.Dir(path)
			return illness{
				reason: store.Gone, code: "SD001", health: "error", doctor: exitStore, heal: func() { os.Remove(folder); os.Rename(folder+".old", folder) },
				cause: func() { os.Rename(folder, folder+".old") },
			}
		},
		"removed": func(_ *testing.T, path string) illness {
			return illness{reason: store.Gone, code: "SD001", health: "error", doctor: exitStore, cause: func() { os.Remove(path) }}
		},
		"replaced": func(_ *testing.T, path string) illness {
			return illness{reason: store.Gone, code: "SD001", health: "error", doctor: exitStore, cause: func() { os.Rename(path, path+".old"); os.WriteFile(path, []byte("x"), 0o600) }}
		},
	}
}

// tellsIllness checks all surfaces of a server before, during and after an illness.
func (h *hosted) tellsIllness(is illness) {
	h.Helper()
	s := h.listening(append([]string{"serve", "--listen", "127.0.0.1:0"}, is.flags...)...)
	well := func() {
		h.Helper()
		h.answers(s, "/readyz", http.StatusOK, `"ok"`)
		h.answers(s, "/v1/health", http.StatusOK, "can be opened and written to")
		h.answers(s, "/metrics", http.StatusOK, "\nswrun_store_up 1\n")
	}
	if !is.lasting {
		well()
	}
	s.err.until(h.T, "the worker is ready") // before that, an illness ends the server
	if !is.lasting {
		is.cause()
	}
	ready, up := http.StatusServiceUnavailable, "\nswrun_store_up 0\n"
	metric, log, again := `swrun_store_unwell{reason="`+string(is.reason)+`"} 1`, `msg="the store is not well" reason=`+string(is.reason), "the store is well again"
	if is.ready {
		ready, up, log = http.StatusOK, "\nswrun_store_up 1\n", ""
	}
	if is.part != nil {
		metric, log, again = is.part.metric, is.part.log, "no part of the store is damaged any more"
	}
	if is.part != nil && is.part.down {
		up = "\nswrun_store_up 0\n"
	}
	health := http.StatusServiceUnavailable
	if is.health == "warning" {
		health = http.StatusOK
	}
	h.answers(s, "/v1/health", health, `"code":"`+is.code+`","fix":"`)
	h.answers(s, "/readyz", ready, "")
	h.answers(s, "/metrics", http.StatusOK, up)
	h.answers(s, "/metrics", http.StatusOK, metric)
	s.err.until(h.T, log)
	if code, out := h.swrun(append([]string{"doctor"}, is.flags...)...); code != is.doctor || !strings.Contains(out, fmt.Sprintf("%-8s %s", is.health, is.code)) {
		h.Errorf("doctor ends with %d, want %d:\n%s", code, is.doctor, out)
	}
	if is.heal == nil {
		return
	}
	if strings.Contains(s.err.String(), "the store is well again") || is.reason == store.ReadOnly && strings.Contains(s.err.String(), "again\" after") {
		h.Errorf("the log says that it is well before it is:\n%s", s.err)
	}
	is.heal()
	well()
	if log != "" {
		s.err.until(h.T, again)
	}
}

// answers waits until a path is answered with a status and a text.
func (h *hosted) answers(s *serving, path string, status int, text string) {
	h.Helper()
	var told string
	for deadline := time.Now().Add(60 * time.Second); time.Now().Before(deadline); time.Sleep(50 * time.Millisecond) {
		r, err := http.NewRequestWithContext(h.Context(), http.MethodGet, s.url+path, nil)
		if err != nil {
			h.Fatal(err)
		}
		answer, err := http.DefaultClient.Do(r)
		if err != nil {
			h.Fatal(err)
		}
		body, err := io.ReadAll(answer.Body)
		answer.Body.Close()
		if told = fmt.Sprint(answer.StatusCode, " ", string(body), err); answer.StatusCode == status && strings.Contains(string(body), text) {
			return
		}
	}
	h.Fatalf("%s is not answered with %d and %q, but with %.3000s\n%s", path, status, text, told, s.err)
}
