package swrun_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/swrun/swrun"
	"github.com/swrun/swrun/errors"
)

// attack is a file of testdata/attack: hostile input, and the error that it must cause. The documents of a file are NAME.yaml, each with its expected
// result: NAME.err is the error, NAME.diag a diagnostic, NAME.out the output. Each line of addresses.txt and urls.txt is tried in every place where a
// document may name an address or a URL (attackDoors); the expected error is in refused.err. host.json contains the grants of the host, and
// resources/ the resources that documents refer to.
type attack struct {
	files map[string]string
	host  attackHost
	world *attackWorld
}

// attackHost is the configuration of the host. The default network policy is public addresses.
type attackHost struct {
	Network    string
	Processes  bool
	Containers bool
	Catalog    bool // the default catalog is a folder, with a function that is a link out of it
	Sent       bool // the document is from another party, as the documents that a server deploys
	Store      bool // runs are in the attacked Redis
}

// TestAttacks (reliability B32 to B49): hostile addresses, answers, files and commands cause a typed error, and a forbidden address gets no
// connection: not when a document is loaded, not when the address comes from an expression, and not when a resource of the document contains it.
func TestAttacks(t *testing.T) {
	files, err := filepath.Glob("testdata/attack/*.txtar")
	if err != nil || len(files) < 18 {
		t.Fatalf("%d files of attacks, %v", len(files), err)
	}
	t.Setenv("ATTACK_CANARY", "canary-of-the-environment")
	world := newAttackWorld(t)
	world.keepRuns(t)
	if conn, err := net.Dial("tcp", "127.0.0.1:"+world.port); err != nil {
		t.Fatal(err)
	} else if _, err := conn.Read(make([]byte, 1)); err != io.EOF || world.connections.Swap(0) != 1 {
		t.Fatal("the canary sees nothing, so that nothing is shown")
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			archive, err := txtar.ParseFile(file)
			if err != nil {
				t.Fatal(err)
			}
			a := attack{files: map[string]string{}, world: world}
			for _, f := range archive.Files {
				a.files[f.Name] = world.fill(string(f.Data))
			}
			if text, given := a.files["host.json"]; given {
				if err := json.Unmarshal([]byte(text), &a.host); err != nil {
					t.Fatal(err)
				}
			}
			if ran := a.documents(t) + a.doors(t); ran == 0 {
				t.Error("nothing was tried")
			}
			if n := world.connections.Swap(0); n > 0 {
				t.Errorf("the canary was reached %d times", n)
			}
			if left := runningWith(attackMark); len(left) > 0 {
				t.Errorf("still running: %q", left)
			}
		})
	}
}

const attackHead = "document: {dsl: 1.0.3, namespace: test, name: attack, version: 1.0.0}\n"

// documents runs the documents of the file.
func (a attack) documents(t *testing.T) (ran int) {
	for name, text := range a.files {
		base, isDocument := strings.CutSuffix(name, ".yaml")
		if !isDocument || strings.Contains(name, "/") {
			continue
		}
		resources := map[string][]byte(nil)
		for name, text := range a.files {
			if within, ok := strings.CutPrefix(name, "resources/"); ok {
				if resources == nil {
					resources = map[string][]byte{}
				}
				resources[within] = []byte(text)
			}
		}
		output, err := a.run(t, attackHead+text, nil, resources)
		a.verify(t, base, output, err)
		ran++
	}
	return ran
}

// doors tries each address and URL of the file in every place where a document may name one.
func (a attack) doors(t *testing.T) (tried int) {
	for _, address := range strings.Fields(a.files["addresses.txt"]) {
		tried += a.visit(t, "http://"+address+"/x")
		servers := map[string][]byte{"pets.yaml": []byte("{openapi: 3.1.0, servers: [{url: 'http://" + address + "'}], paths: {/x: {get: {operationId: x}}}}")}
		_, err := a.run(t, attackHead+"do: [{a: {call: openapi, with: {document: {endpoint: pets.yaml}, operationId: x}}}]\n", nil, servers)
		a.verify(t, "refused", nil, err)
		if host, port, err := net.SplitHostPort(address); err == nil && !strings.Contains(host, ":") {
			service := map[string][]byte{"a.proto": []byte("syntax = 'proto3'; package a; message M {} service S { rpc C(M) returns (M); }")}
			_, err := a.run(t, fmt.Sprintf("%sdo: [{a: {call: grpc, with: {proto: {endpoint: a.proto}, service: {name: a.S, host: '%s', port: %s}, method: C}}}]\n", attackHead, host, port), nil, service)
			a.verify(t, "refused", nil, err)
		}
	}
	for _, url := range strings.Fields(a.files["urls.txt"]) {
		tried += a.visit(t, url)
	}
	return tried
}

// visit tries a URL in every place where documents may have one.
func (a attack) visit(t *testing.T, url string) int {
	quoted := "'" + url + "'"
	doors := []string{
		"do: [{a: {call: http, with: {method: get, endpoint: " + quoted + "}}}]\n",
		"do: [{a: {call: http, with: {method: get, endpoint: '${ .url }'}}}]\n",
		"do: [{a: {call: http, with: {method: post, body: x, redirect: true, endpoint: {uri: '${ .url }', authentication: {bearer: {token: t}}}}}}]\n",
		"do: [{a: {call: openapi, with: {document: {endpoint: '${ .url }'}, operationId: x}}}]\n",
		"do: [{a: {call: grpc, with: {proto: {endpoint: '${ .url }'}, service: {name: a.S, host: a.example}, method: C}}}]\n",
		"do: [{a: {call: mcp, with: {method: tools/list, transport: {http: {endpoint: '${ .url }'}}}}}]\n",
		"do: [{a: {call: " + quoted + "}}]\n",
		"do: [{a: {call: 'f:1.0.0@c'}}]\nuse: {catalogs: {c: {endpoint: " + quoted + "}}}\n",
		"input: {schema: {resource: {endpoint: " + quoted + "}}}\ndo: [{a: {set: {b: 1}}}]\n",
		"use: {functions: {f: {do: [{a: {call: http, with: {method: get, endpoint: '${ .url }'}}}]}}}\ndo: [{a: {call: f, with: {url: '${ .url }'}}}]\n",
	}
	for _, door := range doors {
		_, err := a.run(t, attackHead+door, map[string]any{"url": url}, nil)
		if !a.refuses(err, "refused") {
			t.Errorf("%s\nends with %v, want %s", strings.ReplaceAll(door, ".url", url), err, a.files["refused.err"])
		}
	}
	return len(doors)
}

// run runs a document with the configuration of the file's host.
func (a attack) run(t *testing.T, text string, input any, resources map[string][]byte) (any, error) {
	d, err := swrun.Parse("", []byte(text))
	if err != nil {
		return nil, err
	}
	d.Resources, d.NoFiles = resources, a.host.Sent
	host := swrun.Host{Network: swrun.NetworkPublic}
	if a.host.Network != "" {
		host.Network = a.host.Network
	}
	if a.host.Processes {
		host.Processes = processes
	}
	if a.host.Containers {
		host.Containers = &swrun.Containers{Volumes: []string{a.world.folder}}
	}
	if a.host.Catalog {
		host.Catalog = a.world.folder
	}
	if a.host.Store {
		return a.world.runStored(t, d, input, host)
	}
	result, err := d.Run(t.Context(), input, swrun.RunConfig{Host: host})
	return result.Output, err
}

// verify compares the result of a document with the expected result in the file.
func (a attack) verify(t *testing.T, name string, output any, err error) {
	t.Helper()
	if text, given := a.files[name+".out"]; given {
		var want any
		if err := json.Unmarshal([]byte(text), &want); err != nil {
			t.Fatal(err)
		}
		got, _ := json.Marshal(output) // a document yields data
		if expected, _ := json.Marshal(want); err != nil || string(got) != string(expected) {
			t.Errorf("%s yields %s, %v, want %s", name, got, err, expected)
		}
		return
	}
	if !a.refuses(err, name) {
		t.Errorf("%s ends with %v, want %s%s", name, err, a.files[name+".err"], a.files[name+".diag"])
	}
}

// refuses reports whether an error is the error that the file names. An address in the document itself, or in a resource that is loaded with it, is
// refused when the document is loaded.
func (a attack) refuses(err error, name string) bool {
	var want struct {
		Type   string
		Status int
		Detail string // a part of the expected detail
	}
	if text, given := a.files[name+".diag"]; given {
		code, message, _ := strings.Cut(strings.TrimSpace(text), " ")
		return err != nil && strings.Contains(err.Error(), code) && strings.Contains(err.Error(), message)
	}
	if json.Unmarshal([]byte(a.files[name+".err"]), &want) != nil || err == nil {
		return false
	}
	fault := errors.AsError(err)
	if fault == nil {
		return name == "refused" && strings.Contains(err.Error(), want.Detail) // the address was refused by a diagnostic
	}
	return strings.HasSuffix(fault.Type, "/"+want.Type) && fault.Status == want.Status && strings.Contains(fault.Detail, want.Detail)
}

// attackMark is in the command line of each process that an attack leaves behind.
const attackMark = "4747.4747"

// runningWith returns the processes of this machine with a text in their command line.
func runningWith(text string) (found []string) {
	all, _ := filepath.Glob("/proc/[0-9]*/cmdline") // the pattern is valid
	for _, file := range all {
		if line, err := os.ReadFile(file); err == nil && strings.Contains(string(line), text) {
			found = append(found, string(line))
		}
	}
	return found
}
