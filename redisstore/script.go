package redisstore

import (
	"crypto/sha1"
	"embed"
	"encoding/hex"
	"strings"
)

//go:embed scripts/*.lua
var sources embed.FS

// script is one of those in scripts/.
type script struct {
	name, source, sha string
	several           bool // it answers the requests of several callers at once, whose keys and arguments stand one after the other
	changes           bool // it changes something for its caller, and not only what the store notes for itself
}

// scripts are all of them. Apply has two forms: that for what only goes on with what is there, or makes room, also runs when
// memory is full.
type scripts struct {
	apply, applyFull, renew, forget, adopt, page, probe, correct, confirm, register, permit, listeners script
}

// full is what a script begins with that also runs when memory is full; the others need room.
const full, room = "#!lua flags=allow-oom\n", "#!lua\n"

func newScripts() scripts {
	return scripts{
		apply: newScript("apply", room), applyFull: newScript("apply", full), renew: newScript("renew", full),
		forget: newScript("forget", full), adopt: newScript("adopt", full),
		page: newScript("page", full), probe: newScript("probe", full), correct: newScript("correct", full), confirm: newScript("confirm", full),
		register: newScript("register", full), permit: newScript("permit", full), listeners: newQuery("listeners"),
	}
}

func newScript(name, first string) script {
	source := first + "local STOPS = " + stops(name) + "\n" + mustSource("clock") + mustSource(name)
	sum := sha1.Sum([]byte(source))
	return script{name: name, source: source, sha: hex.EncodeToString(sum[:]), several: name == "apply", changes: changes(name)}
}

// newQuery returns a script that changes nothing, and knows no time.
func newQuery(name string) script {
	source := "#!lua flags=no-writes\n" + mustSource(name)
	sum := sha1.Sum([]byte(source))
	return script{name: name, source: source, sha: hex.EncodeToString(sum[:])}
}

// changes says whether a script changes something for its caller.
func changes(name string) bool {
	return name == "apply" || name == "forget" || name == "register"
}

// stops says whether a script stops at once if the partition has lost writes. The others decide themselves.
func stops(name string) string {
	switch name {
	case "adopt", "apply", "renew", "confirm", "register", "permit":
		return "false"
	}
	return "true"
}

func mustSource(name string) string {
	source, err := sources.ReadFile("scripts/" + name + ".lua")
	if err != nil {
		panic(err) // it is embedded
	}
	return strings.TrimLeft(string(source), "\n")
}
