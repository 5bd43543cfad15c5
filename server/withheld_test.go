package server_test

import (
	"context"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/swrun/swrun/internal/access"
	"github.com/swrun/swrun/redisstore/redistest"
	"github.com/swrun/swrun/runtime/presence"
)

// ailing is a store, what only tokens of all namespaces may know of it, and what ails it.
type ailing struct {
	url    string
	secret string
	ail    func(t *testing.T)
}

// TestAnswersWithholdTheStore: no answer to a token of one namespace contains the path of the file, the address of the Redis, a machine, or a key of another
// namespace, while the store is well and while it is not.
func TestAnswersWithholdTheStore(t *testing.T) {
	for name, start := range map[string]func(*testing.T) ailing{
		"file removed": ailingFile,
		"Redis read-only": func(t *testing.T) ailing {
			return ailingRedis(t, func(c *redis.Client) { c.ReplicaOf(context.Background(), "127.0.0.1", "1") })
		},
		"Redis with damages": func(t *testing.T) ailing { return ailingRedis(t, damageOthers) },
	} {
		t.Run(name, func(t *testing.T) {
			a := start(t)
			g := mustGuardOn(t, a.url, nil)
			root := g.token(t, "root", access.Grant{Role: access.RoleAdmin, Everywhere: true})
			mine := g.token(t, "mine", access.Grant{Role: access.RoleAdmin, Namespaces: []string{"mine"}})
			g.now.run()
			g.watches(t)
			for _, namespace := range []string{"mine", "hush"} {
				g.deployActivity(t, namespace, root)
				if w := g.send("POST", "/v1/runs", `{"workflow": "`+namespace+`/a", "id": "`+namespace+`-run", "executionTimeout": "1h"}`, "Authorization", root); w.Code != 201 {
					t.Fatalf("%d %s", w.Code, w.Body)
				}
			}
			g.attends(t, presence.Worker{Name: "all", Host: "hush-host", Process: 4711, Queues: []string{presence.AllQueues}, Concurrency: 8, Version: "1", Grants: presence.Grants{Containers: true, Volumes: []string{"/hush-volume"}}})
			if said := g.health(root); !strings.Contains(said, a.secret) {
				t.Errorf("health does not tell a token of all namespaces of %s: %s", a.secret, said)
			}
			a.withholds(t, g, mine)
			a.ail(t)
			g.now.pass(2 * time.Second)
			eventually(t, "the store is not well", func() bool { return strings.Contains(g.health(root), `"status":"error"`) })
			a.withholds(t, g, mine)
		})
	}
}

// watches has the server look at its store, so that requests are answered at once while it refuses them.
func (g *guarded) watches(t *testing.T) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	served := make(chan error, 1)
	go func() { served <- g.Serve(ctx, l) }()
	t.Cleanup(func() { stop(); <-served })
}

func ailingFile(t *testing.T) ailing {
	file := filepath.Join(t.TempDir(), "hush-folder", "runs.db")
	if err := os.Mkdir(filepath.Dir(file), 0o700); err != nil {
		t.Fatal(err)
	}
	return ailing{"file:" + file, "hush-folder", func(t *testing.T) {
		if err := os.Remove(file); err != nil {
			t.Fatal(err)
		}
	}}
}

func ailingRedis(t *testing.T, ail func(*redis.Client)) ailing {
	r := redistest.Start(t)
	client := redis.NewClient(&redis.Options{Addr: r.Addr, DisableIdentity: true})
	t.Cleanup(func() { client.Close() })
	return ailing{r.URL(), r.Addr, func(*testing.T) { ail(client) }}
}

// damageOthers overwrites what the store keeps of the other namespace.
func damageOthers(c *redis.Client) {
	ctx := context.Background()
	for _, key := range c.Keys(ctx, "swrun:*hush*").Val() {
		c.Del(ctx, key)
		c.ZAdd(ctx, key, redis.Z{Score: 1, Member: "rubbish"})
	}
	for _, key := range c.Keys(ctx, "swrun:*:outbox").Val() {
		c.Del(ctx, key)
		c.Set(ctx, key, "rubbish", 0)
	}
}

func (g *guarded) health(authorization string) string {
	return g.send("GET", "/v1/health", "", "Authorization", authorization).Body.String()
}

// withholds asks every operation as the token mine.
func (a ailing) withholds(t *testing.T, g *guarded, mine string) {
	t.Helper()
	bodies := map[string]string{
		"startRun": `{"workflow": "mine/a"}`, "pollActivities": `{"queues": ["default"], "wait": "0s"}`, "changeNamespaceSettings": `{"set": {"runTimeout": "1h"}}`,
		"publishEvents": `{"specversion": "1.0", "id": "1", "source": "/s", "type": "t"}`, "putWorkflow": "document: {dsl: 1.0.3, namespace: mine, name: new, version: 1.0.0}\ndo: [{a: {set: {n: 1}}}]",
	}
	for _, o := range g.operations(t, mine) {
		body := bodies[o.ID]
		if body == "" && strings.HasPrefix(o.path, "/v1/runs/") && o.method == "POST" {
			body = `{"runs": ["mine/mine-run"]}`
			if strings.Contains(o.path, "{id}") {
				body = "{}"
			}
		}
		path := strings.NewReplacer("{namespace}", "mine", "{id}", "mine-run", "{name}", "a", "{version}", "1.0.0", "{code}", "SW101", "{seq}", "1").Replace(o.path)
		if strings.HasSuffix(path, "/events") && o.method == "GET" || strings.HasPrefix(o.ID, "delete") || strings.HasPrefix(o.ID, "terminate") {
			continue
		}
		g.now.pass(time.Second)
		w := g.send(o.method, path, body, "Authorization", mine)
		for _, secret := range []string{"hush", "4711", a.secret} {
			if said := w.Body.String(); strings.Contains(said, secret) {
				t.Errorf("%s %s: %d tells of %q: %s", o.method, path, w.Code, secret, said)
			}
		}
	}
}
