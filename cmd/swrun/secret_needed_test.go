package main

import (
	"os"
	"path/filepath"
	"testing"
)

const secretText = `document: {dsl: 1.0.3, namespace: demo, name: sec, version: 0.1.0}
use: {secrets: [api, other]}
do:
- size: {set: {n: "${ ($secrets.api | length) + ($secrets.other | length) }"}}
`

// TestSecretsThatAWorkerLacks (promises 139 to 141): describe and doctor agree about a run that waits for secrets that no worker reports; a worker
// with one of two secrets does not claim it. After its end neither reports it as waiting.
func TestSecretsThatAWorkerLacks(t *testing.T) {
	t.Parallel()
	h := newHosted(t)
	h.work("--secrets", mustWriteFile(t, "s.yaml", "api: value-of-one\n"))
	h.exits(exitOK, "deploy", mustWriteFile(t, "sec.yaml", secretText))
	h.exits(exitOK, "start", "demo/sec", "--id", "x")
	const waits = "waits for a worker that has the secret api and has the secret other; none has taken it, for "
	h.until(waits, "describe", "x")
	contains(t, h.exits(exitOK, "doctor"), "!no run waits for a worker", "SD022  only workers and servers know their secrets")
	h.until("waiting, because no worker has taken them: 1 run; 1 run, for up to ", "doctor")
	contains(t, h.exits(exitOK, "doctor"), "for one that has the secret api and has the secret other")
	contains(t, h.exits(exitOK, "queue", "ls", "-o", "json", "--jq", ".[] | select(.name == \"default\") | .runs"), "1")
	h.work("--secrets", mustWriteFile(t, "s.yaml", "api: value-of-one\nother: value-of-two\n"))
	h.exits(exitOK, "wait", "x")
	contains(t, h.exits(exitOK, "describe", "x"), "it has ended (completed)", "!waits for")
	contains(t, h.exits(exitOK, "doctor"), "no run waits for a missing worker")
	contains(t, h.exits(exitOK, "queue", "ls", "-o", "json", "--jq", ".[] | select(.name == \"default\") | .runs"), "0")
	contains(t, h.exits(exitOK, "repair", "--dry-run"), "0 differences")
}

// TestASecretThatComesLater: a run on Redis that waits for a secret continues as soon as a file in the folder of its worker contains the secret.
func TestASecretThatComesLater(t *testing.T) {
	t.Parallel()
	h, folder := newHosted(t), t.TempDir()
	add := func(name, value string) {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(value), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	add("api", "value-of-one")
	h.work("--secrets", folder)
	h.exits(exitOK, "deploy", mustWriteFile(t, "sec.yaml", secretText))
	for _, id := range []string{"x", "y"} {
		h.exits(exitOK, "start", "demo/sec", "--id", id)
	}
	for _, id := range []string{"x", "y"} {
		h.until("waits for a worker that has the secret api and has the secret other; none has taken it", "describe", id)
	}
	add("other", "value-of-two")
	for _, id := range []string{"x", "y"} {
		h.exits(exitOK, "wait", id, "--timeout", "60s")
		contains(t, h.exits(exitOK, "output", id), `24`)
	}
	contains(t, h.exits(exitOK, "doctor"), "no run waits for a missing worker")
}

const reachText = `document: {dsl: 1.0.3, namespace: demo, name: reach, version: 0.1.0}
use: {secrets: [api]}
do:
- reach: {call: http, with: {method: get, endpoint: 'http://127.0.0.1:9/', headers: {X-Key: "${ $secrets.api }"}}}
`

// TestWhatAWorkerLacksIsTold: describe names the missing secrets of a worker that tried, and not the secret that it has.
func TestWhatAWorkerLacksIsTold(t *testing.T) {
	t.Parallel()
	h := newHosted(t)
	h.work("--secrets", mustWriteFile(t, "s.yaml", "api: value-of-one\n"), "--network", "public")
	h.exits(exitOK, "deploy", mustWriteFile(t, "reach.yaml", reachText))
	h.exits(exitOK, "start", "demo/reach", "--id", "x")
	h.until("waits for a worker that may call 127.0.0.1:9;", "describe", "x")
	h.exits(exitOK, "cancel", "x")
}
