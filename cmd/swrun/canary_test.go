package main

import (
	"context"
	"encoding/base64"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/swrun/swrun/redisstore/redistest"
)

// The canaries: secrets that must never be seen where they are looked for.
const (
	canaryText     = `kanarie/7f3Q+zw"9`
	canaryPassword = "vogel-9b1dX8"
	canaryPin      = "48151623"
	canaryLine     = "MIIEcanaryLine42"
	canaryLong     = "langer-Kanarienvogel-0123456789-abcdefghijklmnopqrstuvwxyz-und-noch-mehr"
	canaryFile     = "api: 'kanarie/7f3Q+zw\"9'\ndb: {username: canary-user, password: vogel-9b1dX8}\npin: '48151623'\n" +
		"long: langer-Kanarienvogel-0123456789-abcdefghijklmnopqrstuvwxyz-und-noch-mehr\n" +
		"key: |\n  -----BEGIN KEY-----\n  MIIEcanaryLine42\n  -----END KEY-----\n"
)

// canaryTasks are places where a secret, or what holds one, can go: expressions of every field, and all kinds of tasks.
// URL is a server that answers what it was asked, with the status that the path names.
func canaryTasks() map[string]string {
	return map[string]string{
		"set":                      `- a: {set: {x: "${ $secrets.api }", y: "${ $secrets.db }", z: ["${ $secrets.key }"]}}`,
		"set as one":               `- a: {set: "${ $secrets }"}`,
		"a name of a member":       `- a: {set: "${ {($secrets.api): 1} }"}`,
		"a number":                 `- a: {set: {n: "${ $secrets.pin | tonumber }"}}` + "\n" + `- b: {wait: {milliseconds: 1}}`,
		"a number that is none":    `- a: {set: {n: "${ $secrets.api | tonumber }"}}`,
		"a long one that is none":  `- a: {set: {n: "${ $secrets.long | tonumber }"}}`,
		"a long one in an object":  `- a: {set: {n: "${ {a: $secrets.long} + 1 }"}}`,
		"error of jq":              `- a: {set: {n: "${ error($secrets.api) }"}}`,
		"error of jq, an object":   `- a: {set: {n: "${ error({a: $secrets.api}) }"}}`,
		"if":                       `- a: {if: "${ $secrets.api | error }", set: {x: 1}}`,
		"if that is no condition":  `- a: {if: "${ $secrets.api }", set: {x: 1}}`,
		"timeout":                  `- a: {timeout: {after: "${ $secrets.api }"}, set: {x: 1}}`,
		"wait":                     `- a: {wait: "${ $secrets.api }"}`,
		"input.from":               `- a: {input: {from: "${ {k: $secrets.api} }"}, do: [{w: {wait: {milliseconds: 1}}}, {b: {call: http, with: {method: get, endpoint: URL/200, headers: {X-Key: "${ .k }"}}}}]}`,
		"input schema":             `- a: {input: {from: "${ {k: $secrets.api} }", schema: {document: {type: object, properties: {k: {type: integer}}}}}, set: {x: 1}}`,
		"input schema, an enum":    `- a: {input: {from: "${ $secrets.long }", schema: {document: {enum: [1]}}}, set: {x: 1}}`,
		"output.as":                `- a: {set: {x: 1}, output: {as: "${ $secrets.api }"}}`,
		"output schema":            `- a: {set: {x: "${ $secrets.api }"}, output: {schema: {document: {properties: {x: {pattern: '^x$'}}}}}}`,
		"export.as":                `- a: {set: {x: 1}, export: {as: "${ {k: $secrets.api} }"}}` + "\n" + `- b: {wait: {milliseconds: 1}}` + "\n" + `- c: {set: {y: "${ $context.k | length }"}}`,
		"for":                      `- a: {for: {in: "${ [$secrets.api, $secrets.db.password] }"}, do: [{w: {wait: {milliseconds: 1}}}, {b: {set: "${ $item }"}}]}`,
		"for in what is no list":   `- a: {for: {in: "${ $secrets.api }"}, do: [{b: {set: {x: 1}}}]}`,
		"fork":                     `- a: {fork: {branches: [{x: {set: "${ $secrets.api }"}}, {y: {wait: {milliseconds: 2}}}]}}`,
		"switch":                   `- a: {switch: [{x: {when: "${ $secrets.api | tonumber > 1 }", then: end}}]}`,
		"raise":                    `- a: {raise: {error: {type: "https://x.test/no", status: 500, title: "${ $secrets.api }", detail: "${ \"no \" + $secrets.api }"}}}`,
		"raise in type, instance":  `- a: {raise: {error: {type: "${ \"https://x.test/\" + $secrets.db.password }", status: 500, instance: "${ \"/\" + $secrets.db.password }"}}}`,
		"raise what was caught":    `- a: {try: [{b: {call: http, with: {method: get, endpoint: URL/401, headers: {X-Key: "${ $secrets.api }"}}}}], catch: {as: err, do: [{w: {wait: {milliseconds: 1}}}, {c: {raise: {error: {type: "https://x.test/again", status: 500, detail: "${ $err.detail }"}}}}]}}`,
		"caught, and kept":         `- a: {try: [{b: {call: http, with: {method: get, endpoint: URL/401, headers: {X-Key: "${ $secrets.api }"}}}}], catch: {do: [{w: {wait: {milliseconds: 1}}}, {c: {set: "${ $error }"}}]}}`,
		"catch.when":               `- a: {try: [{b: {raise: {error: {type: "https://x.test/no", status: 500}}}}], catch: {when: "${ $secrets.api | error }", do: []}}`,
		"retry":                    `- a: {try: [{b: {call: http, with: {method: get, endpoint: URL/503, headers: {X-Key: "${ $secrets.api }"}}}}], catch: {retry: {delay: {milliseconds: 5}, limit: {attempt: {count: 2}}}}}`,
		"retry after what":         `- a: {try: [{b: {raise: {error: {type: "https://x.test/no", status: 500}}}}], catch: {retry: {delay: "${ $secrets.api }", limit: {attempt: {count: 1}}}}}`,
		"emit":                     `- a: {emit: {event: {with: {type: x.y, source: "https://x.test", data: {k: "${ $secrets.api }"}}}}}`,
		"emit what came in":        `- a: {set: {k: "${ $secrets.db.password }"}}` + "\n" + `- b: {emit: {event: {with: {type: x.y, source: "https://x.test", data: "${ . }"}}}}`,
		"run.workflow":             `- a: {run: {workflow: {namespace: demo, name: other, version: 1.0.0, input: {k: "${ $secrets.api }"}}}}`,
		"call: an echo":            `- a: {call: http, with: {method: post, endpoint: URL/200, headers: {X-Key: "${ $secrets.api }"}, query: {k: "${ $secrets.api }"}, body: {k: "${ $secrets.db }"}}}`,
		"call: the response":       `- a: {call: http, with: {method: post, endpoint: URL/200, output: response, headers: {X-Key: "${ $secrets.api }"}, body: "${ $secrets.pin | tonumber }"}}`,
		"call: raw":                `- a: {call: http, with: {method: post, endpoint: URL/200, output: raw, body: "${ $secrets.api }"}}`,
		"call: basic, refused":     `- a: {call: http, with: {method: get, endpoint: {uri: URL/401, authentication: {basic: {use: db}}}}}`,
		"call: basic, inline":      `- a: {call: http, with: {method: get, endpoint: {uri: URL/401, authentication: {basic: {username: "${ $secrets.db.username }", password: "${ $secrets.db.password }"}}}}}`,
		"call: bearer, refused":    `- a: {call: http, with: {method: get, endpoint: {uri: URL/403, authentication: {bearer: {use: api}}}}}`,
		"call: $authorization":     `- a: {call: http, with: {method: get, endpoint: {uri: URL/200, authentication: {basic: {use: db}}}}, export: {as: "${ {a: $authorization} }"}, output: {as: "${ $authorization.parameter }"}}` + "\n" + `- b: {wait: {milliseconds: 1}}`,
		"call: an odd header":      `- a: {call: http, with: {method: get, endpoint: URL/200, headers: {X-Key: "${ \"a\\n\" + $secrets.api }"}}}`,
		"call: a name of a header": `- a: {call: http, with: {method: get, endpoint: URL/200, headers: "${ {($secrets.api): \"x\"} }"}}`,
		"call: a bad token":        `- a: {call: http, with: {method: get, endpoint: {uri: URL/200, authentication: {bearer: {token: "${ $secrets.api + \"\\n\" }"}}}}}`,
		"call: a bad scheme":       `- a: {call: http, with: {method: get, endpoint: "${ $secrets.db.password + \"://x.test\" }"}}`,
		"call: a bad port":         `- a: {call: http, with: {method: get, endpoint: "${ \"http://x.test:\" + $secrets.api }"}}`,
		"call: a bad host":         `- a: {call: http, with: {method: get, endpoint: "${ \"http://\" + $secrets.db.password + \".invalid/\" }"}}`,
		"call: userinfo":           `- a: {call: http, with: {method: get, endpoint: "${ \"http://u:\" + $secrets.db.password + \"@127.0.0.1:1/\" + $secrets.api }"}}`,
		"call: a long body, cut":   `- a: {call: http, with: {method: get, endpoint: "URL/500?before=4090", headers: {X-Key: "${ $secrets.long }"}}}`,
		"call: nobody waits":       `- a: {call: http, with: {method: get, endpoint: "http://127.0.0.1:1/", headers: {X-Key: "${ $secrets.api }"}}}`,
		"call: slow, and a state":  `- a: {input: {from: "${ $secrets.api }"}, call: http, with: {method: post, endpoint: "URL/200?slow=1", body: "${ . }"}}`,
		"shell: stderr":            `- a: {run: {shell: {command: 'echo "$K" >&2; exit 3', environment: {K: "${ $secrets.api }"}}}}`,
		"shell: arguments":         `- a: {run: {shell: {command: 'echo "$1"; exit 0', arguments: ["${ $secrets.long }"]}}}`,
		"shell: the command":       `- a: {run: {shell: {command: "${ \"exit 3; # \" + $secrets.long }"}}}`,
		"shell: lines":             `- a: {run: {shell: {command: 'cat >&2; exit 1', stdin: "${ $secrets.key }"}}}`,
		"shell: much stderr":       `- a: {run: {shell: {command: 'i=0; while [ $i -lt 4000 ]; do echo "$K $i" >&2; i=$((i+1)); done; exit 3', environment: {K: "${ $secrets.long }"}}}}`,
		"script":                   `- a: {run: {script: {language: js, code: "console.log(process.argv[2]); throw new Error(process.argv[2])", arguments: ["${ $secrets.api }"]}}}`,
		"extension":                `- a: {set: {x: 1}, metadata: {extended: true}}`,
		"encodings":                `- a: {set: "${ $secrets.api | [@base64, @uri, @json, @html, @sh, @csv \"\\([.])\", ascii_upcase, ascii_downcase, (\"u:\" + . | @base64), tojson, ([.] | tojson | tojson)] }"}` + "\n" + `- b: {wait: {milliseconds: 1}}`,
	}
}

const canaryDocument = `document: {dsl: 1.0.3, namespace: demo, name: NAME, version: 1.0.0}
use:
  secrets: [api, db, pin, key, long]
  extensions:
  - e: {extend: set, when: "${ $task.metadata.extended == true }", before: [{x: {set: "${ $secrets.api }"}}], after: [{y: {wait: {milliseconds: 1}}}]}
timeout: {after: PT20S}
output: {as: "${ {o: ., again: $secrets.db} }"}
do:
`

// TestNoSecretLeavesARun lets canaries go wherever a value can go, and then looks at every byte that has left: what the
// store holds, what was printed and logged, and all that the verbs tell of the run.
func TestNoSecretLeavesARun(t *testing.T) {
	echo := newEcho(t)
	server := redistest.Start(t)
	file := filepath.Join(t.TempDir(), "runs.db")
	secrets := mustWriteFile(t, "secrets.yaml", canaryFile)
	stores := map[string]string{"redis": server.URL(), "file": "file:" + file}
	for name, tasks := range canaryTasks() {
		slug := strings.Trim(strings.Map(func(r rune) rune {
			if r >= 'a' && r <= 'z' {
				return r
			}
			return '-'
		}, strings.ToLower(name)), "-")
		slug = strings.ReplaceAll(strings.ReplaceAll(slug, "--", "-"), "--", "-")
		text := strings.ReplaceAll(strings.ReplaceAll(canaryDocument, "NAME", slug)+tasks+"\n", "URL", echo)
		document := mustWriteFile(t, slug+".yaml", text)
		for kind, store := range stores {
			c := &canaryRun{T: t, name: name + " on " + kind, store: store}
			c.run("run", document, "--secrets", secrets, "--id", slug, "--store", store, "--progress", "lines")
			c.look(slug)
		}
		c := &canaryRun{T: t, name: name + " in memory"}
		for _, progress := range []string{"json", "tree"} {
			c.run("run", document, "--secrets", secrets, "--progress", progress, "--errors", "json")
		}
		absent(t, name+" in Redis", dump(t, server))
	}
	held, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	absent(t, "the file", string(held))
}

// canaryRun runs commands and looks at what they print.
type canaryRun struct {
	*testing.T
	name, store string
}

func (c *canaryRun) run(args ...string) {
	c.Helper()
	out := capture(map[string]string{"SWRUN_STORE": c.store})
	out.now = time.Now
	if code := run(args, out.streams); code == exitInvalid || code == exitUsage || code == exitInternal {
		c.Errorf("%s: %v: exit %d: %s%s", c.name, args, code, out.stdout.String(), out.stderr.String())
	}
	absent(c.T, c.name+": "+args[0], out.stdout.String()+out.stderr.String())
}

func (c *canaryRun) look(id string) {
	for _, args := range [][]string{{"history", id, "-o", "json"}, {"describe", id}, {"describe", id, "-o", "json"}, {"output", id}, {"ls", "-o", "json"}, {"deadlines"}} {
		c.run(args...)
	}
}

// absent looks for the canaries, in every spelling that is promised.
func absent(t *testing.T, where, text string) {
	t.Helper()
	needles := []string{canaryPin, canaryLine, canaryLong[:12], canaryLong[20:32], canaryLong[len(canaryLong)-12:], canaryPassword, "vogel-9b"}
	for _, secret := range []string{canaryText, canaryPassword, canaryLong, "u:" + canaryText, "canary-user:" + canaryPassword} {
		upper := strings.ToUpper(secret)
		needles = append(needles, secret, upper, strings.ToLower(secret), url.QueryEscape(secret), fmt.Sprintf("%x", secret),
			base64.StdEncoding.EncodeToString([]byte(secret)), base64.URLEncoding.EncodeToString([]byte(secret)),
			strings.Trim(strings.ReplaceAll(fmt.Sprintf("%q", secret), " ", ""), `"`))
	}
	for _, needle := range slices.Compact(needles) {
		if i := strings.Index(text, needle); i >= 0 {
			t.Errorf("%s holds %s:\n…%s…", where, needle, text[max(0, i-300):min(len(text), i+len(needle)+60)])
			return
		}
	}
}

// newEcho starts a server that answers with all that it was asked.
func newEcho(t *testing.T) string {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		status, before := 0, 0
		fmt.Sscanf(r.URL.Path, "/%d", &status)
		fmt.Sscan(r.URL.Query().Get("before"), &before)
		if r.URL.Query().Has("slow") {
			time.Sleep(150 * time.Millisecond) // so that the state is stored meanwhile
		}
		w.Header().Set("X-Echo", r.Header.Get("X-Key"))
		w.Header().Set("Content-Type", "text/plain")
		w.WriteHeader(max(status, 200))
		fmt.Fprintf(w, "%s%s\n%s\n%s %s", strings.Repeat("x", before), r.Header.Get("X-Key"), r.Header.Get("Authorization"), r.URL, body)
	}))
	t.Cleanup(server.Close)
	return server.URL
}

// dump returns every key and value of a server.
func dump(t *testing.T, s *redistest.Server) string {
	t.Helper()
	ctx := context.Background()
	client := redis.NewClient(&redis.Options{Addr: s.Addr})
	defer client.Close()
	var b strings.Builder
	all := client.Scan(ctx, 0, "*", 1000).Iterator()
	for all.Next(ctx) {
		key := all.Val()
		var v any
		var err error
		switch kind := client.Type(ctx, key).Val(); kind {
		case "string":
			v, err = client.Get(ctx, key).Result()
		case "hash":
			v, err = client.HGetAll(ctx, key).Result()
		case "list":
			v, err = client.LRange(ctx, key, 0, -1).Result()
		case "set":
			v, err = client.SMembers(ctx, key).Result()
		case "zset":
			v, err = client.ZRangeWithScores(ctx, key, 0, -1).Result()
		case "stream":
			v, err = client.XRange(ctx, key, "-", "+").Result()
		default:
			t.Fatalf("%s is a %s", key, kind)
		}
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintln(&b, key, v)
	}
	if b.Len() == 0 || all.Err() != nil {
		t.Fatal("nothing was found", all.Err())
	}
	return b.String()
}
