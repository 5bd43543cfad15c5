package main

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/swrun/swrun/dsl"
	"github.com/swrun/swrun/tasks"
)

// canaries returns the secrets of the workflows below; none of them may appear in a searched place.
func canaries() map[string]any {
	return map[string]any{
		"api": `kanarie/7f3Q+zw"9`, "db": map[string]any{"username": "canary-user", "password": "vogel-9b1dX8"}, "pin": "481516234218",
		"key":   "-----BEGIN KEY-----\nMIIEcanaryLine42\n-----END KEY-----\n",
		"long":  "langer-Kanarienvogel-0123456789-abcdefghijklmnopqrstuvwxyz-und-noch-mehr",
		"token": canaryToken,
	}
}

// canaryToken is the token that an authority gives to calls. No workflow declares it as a secret, so that only the call knows that it must be hidden.
const canaryToken = "zugvogel-aus-dem-Sueden-4711-und-zurueck"

// canaryTasks returns places that a secret, or a value that contains one, can reach: expressions of every field, and all kinds of tasks. URL is a
// server that repeats its requests, with the status that the path names.
func canaryTasks() map[string]string {
	return map[string]string{
		"set":                           `- a: {set: {x: "${ $secrets.api }", y: "${ $secrets.db }", z: ["${ $secrets.key }"]}}`,
		"set as one":                    `- a: {set: "${ $secrets }"}`,
		"a name of a member":            `- a: {set: "${ {($secrets.api): 1} }"}`,
		"a number":                      `- a: {set: {n: "${ $secrets.pin | tonumber }"}}` + "\n" + `- b: {wait: {milliseconds: 1}}`,
		"a number that is none":         `- a: {set: {n: "${ $secrets.api | tonumber }"}}`,
		"a long one that is none":       `- a: {set: {n: "${ $secrets.long | tonumber }"}}`,
		"a long one in an object":       `- a: {set: {n: "${ {a: $secrets.long} + 1 }"}}`,
		"error of jq":                   `- a: {set: {n: "${ error($secrets.api) }"}}`,
		"error of jq, an object":        `- a: {set: {n: "${ error({a: $secrets.api}) }"}}`,
		"if":                            `- a: {if: "${ $secrets.api | error }", set: {x: 1}}`,
		"if that is not a condition":    `- a: {if: "${ $secrets.api }", set: {x: 1}}`,
		"timeout":                       `- a: {timeout: {after: "${ $secrets.api }"}, set: {x: 1}}`,
		"wait":                          `- a: {wait: "${ $secrets.api }"}`,
		"input.from":                    `- a: {input: {from: "${ {k: $secrets.api} }"}, do: [{w: {wait: {milliseconds: 1}}}, {b: {call: http, with: {method: get, endpoint: URL/200, headers: {X-Key: "${ .k }"}}}}]}`,
		"input schema":                  `- a: {input: {from: "${ {k: $secrets.api} }", schema: {document: {type: object, properties: {k: {type: integer}}}}}, set: {x: 1}}`,
		"input schema, an enum":         `- a: {input: {from: "${ $secrets.long }", schema: {document: {enum: [1]}}}, set: {x: 1}}`,
		"output.as":                     `- a: {set: {x: 1}, output: {as: "${ $secrets.api }"}}`,
		"output schema":                 `- a: {set: {x: "${ $secrets.api }"}, output: {schema: {document: {properties: {x: {pattern: '^x$'}}}}}}`,
		"export.as":                     `- a: {set: {x: 1}, export: {as: "${ {k: $secrets.api} }"}}` + "\n" + `- b: {wait: {milliseconds: 1}}` + "\n" + `- c: {set: {y: "${ $context.k | length }"}}`,
		"for":                           `- a: {for: {in: "${ [$secrets.api, $secrets.db.password] }"}, do: [{w: {wait: {milliseconds: 1}}}, {b: {set: "${ $item }"}}]}`,
		"for in what is not a list":     `- a: {for: {in: "${ $secrets.api }"}, do: [{b: {set: {x: 1}}}]}`,
		"fork":                          `- a: {fork: {branches: [{x: {set: "${ $secrets.api }"}}, {y: {wait: {milliseconds: 2}}}]}}`,
		"switch":                        `- a: {switch: [{x: {when: "${ $secrets.api | tonumber > 1 }", then: end}}]}`,
		"raise":                         `- a: {raise: {error: {type: "https://x.test/no", status: 500, title: "${ $secrets.api }", detail: "${ \"no \" + $secrets.api }"}}}`,
		"raise in type, instance":       `- a: {raise: {error: {type: "${ \"https://x.test/\" + $secrets.db.password }", status: 500, instance: "${ \"/\" + $secrets.db.password }"}}}`,
		"raise what was caught":         `- a: {try: [{b: {call: http, with: {method: get, endpoint: URL/401, headers: {X-Key: "${ $secrets.api }"}}}}], catch: {as: err, do: [{w: {wait: {milliseconds: 1}}}, {c: {raise: {error: {type: "https://x.test/again", status: 500, detail: "${ $err.detail }"}}}}]}}`,
		"caught, and kept":              `- a: {try: [{b: {call: http, with: {method: get, endpoint: URL/401, headers: {X-Key: "${ $secrets.api }"}}}}], catch: {do: [{w: {wait: {milliseconds: 1}}}, {c: {set: "${ $error }"}}]}}`,
		"catch.when":                    `- a: {try: [{b: {raise: {error: {type: "https://x.test/no", status: 500}}}}], catch: {when: "${ $secrets.api | error }", do: []}}`,
		"retry":                         `- a: {try: [{b: {call: http, with: {method: get, endpoint: URL/503, headers: {X-Key: "${ $secrets.api }"}}}}], catch: {retry: {delay: {milliseconds: 5}, limit: {attempt: {count: 2}}}}}`,
		"retry after what":              `- a: {try: [{b: {raise: {error: {type: "https://x.test/no", status: 500}}}}], catch: {retry: {delay: "${ $secrets.api }", limit: {attempt: {count: 1}}}}}`,
		"emit":                          `- a: {emit: {event: {with: {type: x.y, source: "https://x.test", data: {k: "${ $secrets.api }"}}}}}`,
		"emit what came in":             `- a: {set: {k: "${ $secrets.db.password }"}}` + "\n" + `- b: {emit: {event: {with: {type: x.y, source: "https://x.test", data: "${ . }"}}}}`,
		"an activity":                   `- a: {try: [{b: {call: "activity:1.0.0@default", with: {type: x, input: {k: "${ $secrets.api }"}, timeouts: {scheduleToStart: {milliseconds: 1}}}}}], catch: {as: err, do: [{c: {set: "${ $err.detail }"}}]}}`,
		"the type of an activity":       `- a: {call: "activity:1.0.0@default", with: {type: "${ $secrets.api }", timeouts: {scheduleToStart: {milliseconds: 1}}}}`,
		"continue as new":               `- a: {call: "continue-as-new:1.0.0@default", with: {input: {k: "${ $secrets.api }"}}}`,
		"run.workflow":                  `- a: {run: {workflow: {namespace: demo, name: other, version: 1.0.0, input: {k: "${ $secrets.api }"}}}}`,
		"call: an echo":                 `- a: {call: http, with: {method: post, endpoint: URL/200, headers: {X-Key: "${ $secrets.api }"}, query: {k: "${ $secrets.api }"}, body: {k: "${ $secrets.db }"}}}`,
		"call: the response":            `- a: {call: http, with: {method: post, endpoint: URL/200, output: response, headers: {X-Key: "${ $secrets.api }"}, body: "${ $secrets.pin | tonumber }"}}`,
		"call: raw":                     `- a: {call: http, with: {method: post, endpoint: URL/200, output: raw, body: "${ $secrets.api }"}}`,
		"call: basic, refused":          `- a: {call: http, with: {method: get, endpoint: {uri: URL/401, authentication: {basic: {use: db}}}}}`,
		"call: basic, inline":           `- a: {call: http, with: {method: get, endpoint: {uri: URL/401, authentication: {basic: {username: "${ $secrets.db.username }", password: "${ $secrets.db.password }"}}}}}`,
		"call: bearer, refused":         `- a: {call: http, with: {method: get, endpoint: {uri: URL/403, authentication: {bearer: {use: api}}}}}`,
		"call: $authorization":          `- a: {call: http, with: {method: get, endpoint: {uri: URL/200, authentication: {basic: {use: db}}}}, export: {as: "${ {a: $authorization} }"}, output: {as: "${ $authorization.parameter }"}}` + "\n" + `- b: {wait: {milliseconds: 1}}`,
		"call: an odd header":           `- a: {call: http, with: {method: get, endpoint: URL/200, headers: {X-Key: "${ \"a\\n\" + $secrets.api }"}}}`,
		"call: a name of a header":      `- a: {call: http, with: {method: get, endpoint: URL/200, headers: "${ {($secrets.api): \"x\"} }"}}`,
		"call: a bad token":             `- a: {call: http, with: {method: get, endpoint: {uri: URL/200, authentication: {bearer: {token: "${ $secrets.api + \"\\n\" }"}}}}}`,
		"call: a bad scheme":            `- a: {call: http, with: {method: get, endpoint: "${ $secrets.db.password + \"://x.test\" }"}}`,
		"call: a bad port":              `- a: {call: http, with: {method: get, endpoint: "${ \"http://x.test:\" + $secrets.api }"}}`,
		"call: a bad host":              `- a: {call: http, with: {method: get, endpoint: "${ \"http://\" + $secrets.db.password + \".invalid/\" }"}}`,
		"call: userinfo":                `- a: {call: http, with: {method: get, endpoint: "${ \"http://u:\" + $secrets.db.password + \"@127.0.0.1:1/\" + $secrets.api }"}}`,
		"call: a long body, cut":        `- a: {call: http, with: {method: get, endpoint: "URL/500?before=4090", headers: {X-Key: "${ $secrets.long }"}}}`,
		"call: nobody waits":            `- a: {call: http, with: {method: get, endpoint: "http://127.0.0.1:1/", headers: {X-Key: "${ $secrets.api }"}}}`,
		"call: slow, and a state":       `- a: {input: {from: "${ $secrets.api }"}, call: http, with: {method: post, endpoint: "URL/200?slow=1", body: "${ . }"}}`,
		"call: digest, refused":         `- a: {call: http, with: {method: get, endpoint: {uri: URL/digest/401, authentication: {digest: {use: db}}}}}`,
		"call: digest, an echo":         `- a: {call: http, with: {method: get, output: response, endpoint: {uri: "URL/digest/200?slow=1", authentication: {digest: {username: "${ $secrets.db.username }", password: "${ $secrets.db.password }"}}}}}`,
		"oauth2: an echo":               `- a: {call: http, with: {method: post, output: response, body: {k: 1}, endpoint: {uri: "URL/200?slow=1", authentication: {oauth2: {authority: URL, grant: client_credentials, client: {id: app, secret: "${ $secrets.api }"}}}}}, export: {as: "${ {a: $authorization} }"}}` + "\n" + `- b: {wait: {milliseconds: 1}}`,
		"oauth2: refused":               `- a: {call: http, with: {method: get, endpoint: {uri: URL/401, authentication: {oauth2: {authority: URL, grant: password, username: "${ $secrets.db.username }", password: "${ $secrets.db.password }", client: {id: app, secret: "${ $secrets.long }", authentication: client_secret_basic}}}}}}`,
		"oauth2: the authority refuses": `- a: {call: http, with: {method: get, endpoint: {uri: URL/200, authentication: {oauth2: {authority: URL/refusing, grant: password, username: "${ $secrets.db.username }", password: "${ $secrets.long }", request: {parameters: {k: "${ $secrets.pin }"}}}}}}}`,
		"oauth2: a secret that is none": `- a: {call: http, with: {method: get, endpoint: {uri: URL/200, authentication: {oauth2: {use: db}}}}}`,
		"oauth2: grpc":                  `- a: {call: grpc, with: {proto: {endpoint: URL/echo.proto}, service: {name: test.Echo, host: 127.0.0.1, port: PORT, authentication: {oauth2: {authority: URL, grant: client_credentials, client: {id: app, secret: "${ $secrets.api }"}}}}, method: Say, arguments: {name: x}}}`,
		"oidc: no description":          `- a: {call: mcp, with: {method: tools/list, transport: {http: {endpoint: {uri: URL/200, authentication: {oidc: {authority: "${ \"URL/500/\" + $secrets.long }", grant: client_credentials, client: {id: app, secret: "${ $secrets.key }", authentication: private_key_jwt}}}}}}}}`,
		"certificate: none":             `- a: {call: http, with: {method: get, endpoint: {uri: "${ \"URL/200\" }", authentication: {certificate: {use: db}}}}}`,
		"openapi":                       `- a: {call: openapi, with: {document: {endpoint: URL/openapi.json}, operationId: echo, parameters: {status: 200, X-Key: "${ $secrets.api }", k: "${ $secrets.api }", session: "${ $secrets.api }", body: {k: "${ $secrets.db }"}}}}`,
		"openapi: refused":              `- a: {call: openapi, with: {document: {endpoint: URL/openapi.json}, operationId: echo, authentication: {basic: {use: db}}, parameters: {status: 401, X-Key: "${ $secrets.api }"}}}`,
		"openapi: a bad parameter":      `- a: {call: openapi, with: {document: {endpoint: URL/openapi.json}, operationId: echo, parameters: {status: "${ $secrets.api }", X-Key: "${ $secrets.key }"}}}`,
		"openapi: read in the run":      `- a: {call: openapi, with: {document: {endpoint: {uri: "${ \"URL/openapi.json?k=\" + ($secrets.api | @uri) }", authentication: {basic: {use: db}}}}, operationId: echo, output: response, parameters: {status: 200, X-Key: "${ $secrets.api }"}}}`,
		"openapi: no document":          `- a: {call: openapi, with: {document: {endpoint: "${ \"URL/500?k=\" + ($secrets.api | @uri) }"}, operationId: echo, parameters: {x: "${ $secrets.api }"}}}`,
		"grpc: refused":                 `- a: {call: grpc, with: {proto: {endpoint: URL/echo.proto}, service: {name: test.Echo, host: 127.0.0.1, port: PORT, authentication: {basic: {use: db}}}, method: Fail, arguments: {code: 7, message: "${ $secrets.long }"}}}`,
		"grpc: an echo":                 `- a: {call: grpc, with: {proto: {endpoint: URL/echo.proto}, service: {name: test.Echo, host: 127.0.0.1, port: PORT, authentication: {bearer: {use: api}}}, method: Say, arguments: {name: "${ $secrets.api }"}}}`,
		"grpc: what does not fit":       `- a: {call: grpc, with: {proto: {endpoint: URL/echo.proto}, service: {name: test.Echo, host: 127.0.0.1, port: PORT}, method: Types, arguments: {inner: "${ {($secrets.long): $secrets.api} }", large_number: "${ $secrets.api }"}}}`,
		"grpc: the document":            `- a: {call: grpc, with: {proto: {endpoint: {uri: "${ \"URL/echo.proto?k=\" + ($secrets.api | @uri) }", authentication: {basic: {use: db}}}}, service: {name: test.Echo, host: 127.0.0.1, port: PORT}, method: Chat, arguments: {$stream: "${ [{n: $secrets.pin}] }"}}}`,
		"mcp: refused":                  `- a: {call: mcp, with: {method: tools/call, parameters: {name: "${ $secrets.api }"}, transport: {http: {endpoint: {uri: "URL/401?k=1", authentication: {basic: {use: db}}}, headers: {X-Key: "${ $secrets.api }"}}}}}`,
		"mcp: an echo":                  `- a: {call: mcp, with: {method: tools/call, parameters: {name: x, arguments: {k: "${ $secrets.db }"}}, transport: {http: {endpoint: URL/200, headers: {X-Key: "${ $secrets.long }"}}}}}`,
		"mcp: a server that is started": `- a: {call: mcp, with: {method: tools/list, transport: {stdio: {command: sh, arguments: [-c, 'echo "$K"; echo "$K" >&2; exit 3'], environment: {K: "${ $secrets.api }"}}}}}`,
		"a2a: refused":                  `- a: {call: a2a, with: {method: message/send, server: {uri: "URL/401?k=1", authentication: {basic: {use: db}}}, parameters: {message: {parts: [{kind: text, text: "${ $secrets.api }"}]}}}}`,
		"a2a: an echo":                  `- a: {call: a2a, with: {method: message/stream, server: {uri: "${ \"URL/200?k=\" + ($secrets.api | @uri) }", authentication: {bearer: {use: api}}}, parameters: {message: {parts: [{kind: data, data: {k: "${ $secrets.db }"}}]}}}}`,
		"a2a: what does not fit":        `- a: {call: a2a, with: {method: message/send, server: URL/200, parameters: "${ {message: {parts: [{kind: $secrets.long}], ($secrets.api): 1}} }"}}`,
		"a2a: a part that is none":      `- a: {call: a2a, with: {method: message/send, server: URL/200, parameters: "${ {message: {parts: [{kind: $secrets.long}]}} }"}}`,
		"a2a: the card":                 `- a: {call: a2a, with: {method: tasks/list, agentCard: {endpoint: {uri: "${ \"URL/card.json?k=\" + ($secrets.api | @uri) }", authentication: {basic: {use: db}}}}, parameters: {k: "${ $secrets.long }"}}}`,
		"asyncapi: refused":             `- a: {call: asyncapi, with: {document: {endpoint: URL/asyncapi.json}, channel: "401", message: {payload: {k: "${ $secrets.db }"}, headers: {X-Key: "${ $secrets.api }"}}, authentication: {basic: {use: db}}}}`,
		"asyncapi: nobody there":        `- a: {call: asyncapi, with: {document: {endpoint: "${ \"URL/asyncapi.json?k=\" + ($secrets.api | @uri) }"}, channel: "401", protocol: mqtt5, message: {payload: {k: "${ $secrets.long }"}, headers: {X-Key: "${ $secrets.pin }"}}, authentication: {basic: {use: db}}}}`,
		"asyncapi: a bad variable":      `- a: {call: asyncapi, with: {document: {endpoint: URL/asyncapi.json}, channel: "401", server: {name: web, variables: {path: "${ $secrets.long }"}}, message: {headers: {X-Key: "${ $secrets.key }"}}}}`,
		"asyncapi: a subscription":      `- a: {call: asyncapi, with: {document: {endpoint: "${ \"URL/asyncapi.json?k=\" + ($secrets.api | @uri) }"}, channel: "401", server: {name: web}, subscription: {filter: "${ .payload == $secrets.long }", consume: {while: "${ length < ($secrets.pin | length) }"}}, authentication: {bearer: {token: "${ $secrets.api }"}}}}`,
		"redirect: its Location":        `- a: {call: http, with: {method: get, redirect: true, endpoint: URL/away, headers: {X-Key: "${ $secrets.db.password }"}}}`,
		"redirect: elsewhere":           `- a: {call: http, with: {method: post, redirect: true, endpoint: URL/elsewhere, headers: {X-Key: "${ $secrets.db.password }"}, body: "${ $secrets.api }"}}`,
		"redirect: nobody there":        `- a: {call: http, with: {method: get, redirect: true, endpoint: URL/nowhere, headers: {X-Key: "${ $secrets.db.password }"}}}`,
		"redirect: not a URL":           `- a: {call: http, with: {method: get, redirect: true, endpoint: URL/odd, headers: {X-Key: "${ $secrets.long }"}}}`,
		"redirect: without end":         `- a: {call: http, with: {method: get, redirect: true, endpoint: URL/round, query: {k: "${ $secrets.api }"}, headers: {X-Key: "${ $secrets.db.password }"}}}`,
		"redirect: not followed":        `- a: {call: http, with: {method: get, output: response, endpoint: URL/away, headers: {X-Key: "${ $secrets.db.password }"}}}`,
		"a child and its secrets":       `- a: {run: {workflow: {namespace: demo, name: child, version: 1.0.0}}}`,
		"a child that fails":            `- a: {try: [{b: {run: {workflow: {namespace: demo, name: child, version: 1.0.0, input: {fail: true}}}}}], catch: {as: err, do: [{w: {wait: {milliseconds: 1}}}, {c: {set: "${ $err }"}}]}}`,
		"a function":                    `- a: {call: echo, with: {k: "${ $secrets.api }"}}` + "\n" + `- b: {wait: {milliseconds: 1}}`,
		"$task and $workflow":           `- a: {input: {from: "${ $secrets.api }"}, set: {t: "${ $task }", w: "${ $workflow }", r: "${ $runtime }"}}` + "\n" + `- b: {wait: {milliseconds: 1}}`,
		"jq debug":                      `- a: {set: {x: "${ $secrets.api | debug | debug(\"of \" + .) | length }"}}`,
		"shell: stderr":                 `- a: {run: {shell: {command: 'echo "$K" >&2; exit 3', environment: {K: "${ $secrets.api }"}}}}`,
		"shell: arguments":              `- a: {run: {shell: {command: 'echo "$1"; exit 0', arguments: ["${ $secrets.long }"]}}}`,
		"shell: the command":            `- a: {run: {shell: {command: "${ \"exit 3; # \" + $secrets.long }"}}}`,
		"shell: lines":                  `- a: {run: {shell: {command: 'cat >&2; exit 1', stdin: "${ $secrets.key }"}}}`,
		"shell: much stderr":            `- a: {run: {shell: {command: 'i=0; while [ $i -lt 4000 ]; do echo "$K $i" >&2; i=$((i+1)); done; exit 3', environment: {K: "${ $secrets.long }"}}}}`,
		"container: stderr":             `- a: {run: {container: {image: alpine, command: 'echo "$K" >&2; exit 3', environment: {K: "${ $secrets.api }"}}}}`,
		"container: the command":        `- a: {run: {container: {image: alpine, command: "${ \"no-such-\" + $secrets.pin }", arguments: ["${ $secrets.long }"]}}}`,
		"container: its name":           `- a: {run: {container: {image: alpine, name: "${ \"-\" + $secrets.long }", command: "true"}}}`,
		"script":                        `- a: {run: {script: {language: js, code: "console.log(process.argv[2]); throw new Error(process.argv[2])", arguments: ["${ $secrets.api }"]}}}`,
		"extension":                     `- a: {set: {x: 1}, metadata: {extended: true}}`,
		"listen":                        `- a: {listen: {to: {one: {with: {type: canary, data: "${ $secrets.api }"}, correlate: {k: {from: .data, expect: "${ $secrets.api }"}}}}}, timeout: {after: {milliseconds: 1}}}`,
		"encodings":                     `- a: {set: "${ $secrets.api | [@base64, @uri, @json, @html, @sh, @csv \"\\([.])\", ascii_upcase, ascii_downcase, (\"u:\" + . | @base64), tojson, ([.] | tojson | tojson)] }"}` + "\n" + `- b: {wait: {milliseconds: 1}}`,
	}
}

const canaryDocument = `document: {dsl: 1.0.3, namespace: demo, name: NAME, version: 1.0.0}
use:
  secrets: [api, db, pin, key, long]
  functions: {echo: {set: {k: "${ .k }"}}}
  extensions:
  - e: {extend: set, when: "${ $task.metadata.extended == true }", before: [{x: {set: "${ $secrets.api }"}}], after: [{y: {wait: {milliseconds: 1}}}]}
timeout: {after: PT20S}
output: {as: "${ {o: ., again: $secrets.db} }"}
do:
`

const canaryChild = `document: {dsl: 1.0.3, namespace: demo, name: child, version: 1.0.0}
use: {secrets: [api, db]}
do:
- a: {set: {k: "${ $secrets.api }", fail: "${ .fail }"}, export: {as: "${ $secrets.db }"}}
- b: {wait: {milliseconds: 1}}
- c: {if: "${ .fail }", raise: {error: {type: "https://x.test/no", status: 500, detail: "${ .k }", title: "${ $context.password }"}}}
`

// TestNoSecretLeavesARun puts canaries into every place that a value can reach, and then searches every byte of output: the data of the store in
// memory and on disk, the printed and logged text, and the output of all verbs about the run.
func TestNoSecretLeavesARun(t *testing.T) {
	c := newCanaryCage(t, canaries())
	c.add("child", canaryChild)
	all := canaryTasks()
	for n, name := range slices.Sorted(maps.Keys(all)) {
		if n%everyNth == 0 {
			c.add(slug(name), places(c.echo).Replace(strings.ReplaceAll(canaryDocument, "NAME", slug(name))+all[name]+"\n"))
		}
	}
	c.runAll()
}

// TestEveryKindIsGivenASecret: the test above uses each kind of task that can run.
func TestEveryKindIsGivenASecret(t *testing.T) {
	seen := map[dsl.Kind]bool{}
	for name, list := range canaryTasks() {
		w, found := dsl.Parse("canary.yaml", []byte(canaryDocument+places("http://canary.test:80").Replace(list)+"\n"))
		if w == nil {
			t.Fatalf("%s: %v", name, found)
		}
		dsl.Walk(w, func(task dsl.Task) bool {
			seen[task.Kind()] = true
			return true
		})
	}
	for _, kind := range tasks.All(tasks.Config{}) {
		if !seen[kind.Kind] {
			t.Errorf("no task of canaryTasks is a %s: add one that is given a secret", kind.Kind.Words())
		}
	}
}

// places replaces the placeholders of the server in the workflows.
func places(server string) *strings.Replacer {
	return strings.NewReplacer("URL", server, "PORT", server[strings.LastIndexByte(server, ':')+1:])
}

// slug converts the name of a place into the name of a workflow.
func slug(name string) string {
	words := strings.FieldsFunc(strings.ToLower(name), func(r rune) bool { return r < 'a' || r > 'z' })
	return strings.Join(words, "-")
}
