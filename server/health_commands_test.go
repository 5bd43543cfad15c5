package server_test

import (
	"context"
	"fmt"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/swrun/swrun"
	"github.com/swrun/swrun/internal/control"
	"github.com/swrun/swrun/redisstore/redistest"
	"github.com/swrun/swrun/runtime/store"
	"github.com/swrun/swrun/server"
)

// mostCommands is the maximum number of commands of a health request to a Redis with 300 runs, in addition to the commands for an empty deployment. A
// request that reads all runs sends 1700.
const mostCommands = 300

// TestHealthReadsRunsInTurn: a health request reads some of the runs, eight requests read all, and each request reads again what was damaged.
func TestHealthReadsRunsInTurn(t *testing.T) {
	redisServer := redistest.Start(t)
	s, err := swrun.OpenStore(t.Context(), redisServer.URL(), swrun.StoreConfig{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close() // there is nothing left to write
	engine, err := swrun.NewEngine(s, swrun.EngineConfig{})
	if err != nil {
		t.Fatal(err)
	}
	client := redis.NewClient(&redis.Options{Addr: redisServer.Addr, DisableIdentity: true})
	defer client.Close() // it only reads
	// The clock is stopped, so that no result becomes too old.
	now := time.Now()
	a := server.New(server.Config{Control: control.New(engine, s, func() time.Time { return now }), Authorize: server.TrustEveryone})
	ask := func() (commands int, answer string) {
		client.ConfigResetStat(t.Context())
		r, w := httptest.NewRequest("GET", "/v1/health", nil), httptest.NewRecorder()
		r.Host = "localhost"
		a.ServeHTTP(w, r)
		return commandsGiven(t, client), w.Body.String()
	}
	ask()
	empty, _ := ask()
	newest := beginAndStop(t, engine, s, 300)
	for range 8 {
		if n, _ := ask(); n > empty+mostCommands {
			t.Errorf("a health request gives %d commands, and %d if the deployment is empty", n, empty)
		}
	}
	key := client.Keys(t.Context(), "*:h:"+newest).Val()[0]
	kept := client.Dump(t.Context(), key).Val()
	client.Del(t.Context(), key)
	told := func() bool { _, answer := ask(); return strings.Contains(answer, "its history has 0 entries") }
	tries := 1
	for !told() {
		if tries++; tries > 8 {
			t.Fatal("8 health requests do not tell of the damaged run")
		}
	}
	for range 8 {
		if !told() {
			t.Error("a later health request does not tell of the damaged run")
		}
	}
	if client.RestoreReplace(t.Context(), key, 0, kept); told() {
		t.Error("a health request tells of a run that is not damaged any more")
	}
}

// commandsGiven returns the number of commands that a server has received since its statistics were reset.
func commandsGiven(t *testing.T, client *redis.Client) (all int) {
	t.Helper()
	for line := range strings.Lines(client.Info(t.Context(), "commandstats").Val()) {
		var calls int
		_, counts, _ := strings.Cut(line, ":")
		_, _ = fmt.Sscanf(counts, "calls=%d", &calls) // the title has no count
		all += calls
	}
	return all
}

// beginAndStop lets a worker begin runs that wait, and stops it. It returns the name of the newest run.
func beginAndStop(t *testing.T, engine *swrun.Engine, s *swrun.Store, runs int64) (newest string) {
	t.Helper()
	d, err := swrun.Parse("nap.yaml", []byte("document: {dsl: 1.0.3, namespace: demo, name: nap, version: 1.0.0}\ndo: [{nap: {wait: {hours: 1}}}]"))
	if err != nil {
		t.Fatal(err)
	}
	for range runs {
		run, err := engine.StartDocument(t.Context(), d, nil, swrun.StartOptions{})
		if err != nil {
			t.Fatal(err)
		}
		newest = run.Instance.String()
	}
	ctx, stop := context.WithCancel(t.Context())
	worked := make(chan error, 1)
	go func() { worked <- engine.Work(ctx) }()
	eventually(t, "all runs wait", func() bool {
		counted, err := store.Total(t.Context(), s)
		return err == nil && counted.Waiting-counted.Held == runs && counted.Outbox == 0
	})
	stop()
	<-worked // it was stopped
	return newest
}
