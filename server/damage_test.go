package server_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/redis/go-redis/v9"

	"github.com/swrun/swrun/internal/access"
	"github.com/swrun/swrun/internal/pacetest"
	"github.com/swrun/swrun/redisstore"
	"github.com/swrun/swrun/redisstore/redistest"
	"github.com/swrun/swrun/runtime/store"
	"github.com/swrun/swrun/server"
)

// damaged is a server whose store on Redis a test damages.
type damaged struct {
	*deployment
	client    *redis.Client
	described *openapi3.T
	kind      kindOfKey // the damaged kind
}

// TestDamageOnEveryOperation overwrites each kind of key with another type, and with garbage of its own type, and calls every operation. No answer
// asks the caller to repeat the request later, because that does not help. An answer that the damage has caused names the key, the run or the object.
func TestDamageOnEveryOperation(t *testing.T) {
	r := redistest.Start(t)
	client := redis.NewClient(&redis.Options{Addr: r.Addr, DisableIdentity: true})
	t.Cleanup(func() { client.Close() })
	order := exampleWorkflow(t, mustDeployment(t))
	made, err := redisstore.Open(t.Context(), r.URL(), redisstore.Config{Deployment: "swrun", Partitions: partitionsOfDamage})
	if err != nil {
		t.Fatal(err)
	}
	made.Close()
	d := mustServe(t, r.URL(), func(*server.Config, *access.Tokens) {})
	described := d.mustDescribe(t, order)
	d.mustMakeExample(t, order)
	d.mustDeploy(t, "hears", "do: [{hear: {listen: {to: {one: {with: {type: order.paid}}}}}}]")
	d.mustStart(t, "hears", "hears")
	for n, kind := range kindsOfKeys() {
		for _, way := range []string{"another type", "rubbish"} {
			t.Run(kind.name+" "+way, func(t *testing.T) {
				id := fmt.Sprintf("run-%d-%.4s", n, way)
				d.ask(t, "PUT", "/v1/workflows/demo/order/1.0.0", order, "Content-Type", "application/yaml") // an operation may have deleted it
				d.mustStart(t, "order", id)
				x := &damaged{d, client, described, kind}
				back := x.damage(t, kind, way == "rubbish")
				defer back()
				if kind.name == "time" && way == "rubbish" {
					x.adopted(t)
				}
				for path, item := range x.described.Paths.Map() {
					for method, o := range item.Operations() {
						x.asks(t, path, method, o, id)
					}
				}
			})
		}
	}
}

// partitionsOfDamage is the number of partitions of the store. It is small, because all keys of each kind are damaged and restored.
const partitionsOfDamage = 4

// kindOfKey is the prefix of the keys of one kind, and their type.
type kindOfKey struct{ name, is string }

// kindsOfKeys are the kinds in the package comment of redisstore.
func kindsOfKeys() []kindOfKey {
	all := []kindOfKey{
		{"definitions", "hash"}, {"leases", "string"}, {"meta", "hash"}, {"quarantined", "set"}, {"unreadable", "set"}, {"retrying", "zset"},
		{"listeners", "zset"}, {"needs", "zset"}, {"notices", "set"}, {"index", "stream"}, {"outbox", "stream"}, {"queued", "zset"}, {"activities", "zset"}, {"seen", "zset"},
		{"versions", "string"}, {"i:", "hash"}, {"h:", "list"}, {"n:", "list"}, {"p:", "hash"}, {"f:", "string"}, {"e:", "string"}, {"r:", "zset"}, {"q:", "zset"}, {"u:", "zset"}, {"b:", "zset"},
	}
	for _, set := range store.Sets() {
		all = append(all, kindOfKey{string(set), "zset"})
	}
	return append(all, kindOfKey{"time", "string"}) // last, because the store treats a restored time as lost writes
}

// adopted waits until a worker has adopted the store in its current state. The worker treats a time that cannot be read as lost writes, and continues
// afterwards.
func (x *damaged) adopted(t *testing.T) {
	t.Helper()
	eventually(t, "the store is taken as it is", func() bool { return x.ask(t, "GET", "/v1/queues", "").StatusCode == http.StatusOK })
}

// keys returns the keys of a kind: the existing keys, and the possible keys of each partition.
func (x *damaged) keys(t *testing.T, kind kindOfKey) (all []string) {
	t.Helper()
	if kind.name == "definitions" {
		return []string{"swrun:{swrun}:definitions"}
	}
	for p := range partitionsOfDamage {
		prefix := fmt.Sprintf("swrun:{swrun:%d}:%s", p, kind.name)
		if !strings.HasSuffix(kind.name, ":") {
			all = append(all, prefix)
		}
	}
	if strings.HasSuffix(kind.name, ":") {
		found, err := x.client.Keys(t.Context(), "swrun:*}:"+kind.name+"*").Result()
		if err != nil {
			t.Fatal(err)
		}
		all = found
	}
	return all
}

// damage damages all keys of a kind. The returned function restores them.
func (x *damaged) damage(t *testing.T, kind kindOfKey, rubbish bool) (back func()) {
	t.Helper()
	ctx := context.WithoutCancel(t.Context())
	kept := map[string]string{}
	for _, key := range x.keys(t, kind) {
		text, err := x.client.Dump(ctx, key).Result()
		if err != nil && err != redis.Nil {
			t.Fatal(err)
		}
		kept[key] = text
		fields := x.client.HKeys(ctx, key).Val()
		x.client.Del(ctx, key)
		x.overwrite(ctx, key, kind.is, rubbish, fields)
	}
	return func() {
		for key, text := range kept {
			if text == "" {
				x.client.Del(ctx, key)
			} else if err := x.client.RestoreReplace(ctx, key, 0, text).Err(); err != nil { // the worker may have written to it
				t.Error(err)
			}
		}
	}
}

func (x *damaged) overwrite(ctx context.Context, key, is string, rubbish bool, fields []string) {
	switch {
	case !rubbish && is == "list":
		x.client.Set(ctx, key, "rubbish", 0)
	case !rubbish || is == "list":
		x.client.RPush(ctx, key, "rubbish")
	case is == "string":
		x.client.Set(ctx, key, "rubbish", 0)
	case is == "hash":
		for _, field := range append(fields, "rubbish") {
			x.client.HSet(ctx, key, field, "rubbish")
		}
	case is == "set":
		x.client.SAdd(ctx, key, "rubbish", "", "a/b c")
	case is == "zset":
		x.client.ZAdd(ctx, key, redis.Z{Score: 1, Member: "rubbish"}, redis.Z{Score: 1e300, Member: ""}, redis.Z{Score: -1e300, Member: "a/b c"})
	case is == "stream":
		x.client.XAdd(ctx, &redis.XAddArgs{Stream: key, Values: []string{"rubbish", "rubbish"}})
	}
}

// asks calls an operation about a run.
func (x *damaged) asks(t *testing.T, path, method string, o *openapi3.Operation, run string) {
	t.Helper()
	if slices.Contains([]string{"importRun", "getHealth", "health"}, o.OperationID) {
		return
	}
	names, query := strings.NewReplacer("{namespace}", "demo", "{name}", "order", "{version}", "1.0.0", "{id}", run, "{code}", "SW401", "{seq}", "2"), url.Values{}
	for _, p := range o.Parameters {
		if p.Value.In == "query" && p.Value.Required {
			query.Set(p.Value.Name, fmt.Sprint(exampleOf(p.Value.Schema.Value)))
		}
	}
	var body []byte
	mediaType := ""
	if o.RequestBody != nil {
		body, mediaType = exampleBody(t, o.RequestBody.Value)
	}
	if o.OperationID == "pollActivities" {
		body = []byte(`{"queues": ["default"], "wait": "0s"}`)
	}
	ctx, cancel := context.WithTimeout(t.Context(), pacetest.Patience)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, method, x.URL+names.Replace(path)+"?"+query.Encode(), bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	if mediaType != "" {
		request.Header.Set("Content-Type", mediaType)
	}
	answer, err := x.Client().Do(request)
	if err != nil {
		t.Errorf("%s: %v", o.OperationID, err)
		return
	}
	defer answer.Body.Close()
	var text []byte
	if answer.StatusCode >= 500 {
		text, _ = io.ReadAll(answer.Body)
	}
	told := bytes.Contains(text, []byte("unreadable")) || bytes.Contains(text, []byte("damaged-function"))
	named := x.names(text, run) || o.OperationID == "ready" // it answers every caller, and therefore names nothing
	if answer.StatusCode >= 500 && (!told || !named || answer.Header.Get("Retry-After") != "") {
		t.Errorf("%s, where %s is damaged, is answered with %s: %s", o.OperationID, x.kind.name, answer.Status, text)
	}
}

// names reports whether an answer names the damaged key, or its object.
func (x *damaged) names(answer []byte, run string) bool {
	things := []string{"}:" + x.kind.name, "run demo/" + run}
	switch x.kind.name {
	case "definitions", "e:":
		things = append(things, "demo/order", "the function ", "the entry ", "the definition ")
	case "r:":
		things = append(things, "the list of ")
	}
	return slices.ContainsFunc(things, func(thing string) bool { return bytes.Contains(answer, []byte(thing)) })
}
