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
	several           bool // it answers the requests of several callers in one run; their keys and arguments follow one another
	changes           bool // it makes changes for its caller, not only notes of the store itself
}

// scripts are all scripts. apply has two variants: the variant for changes that only continue existing runs, or free memory, also runs when
// memory is full.
type scripts struct {
	apply, applyFull, renew, forget, adopt, page, probe, correct, confirm, register, permit, listeners script
}

// full is the first line of a script that also runs when memory is full; the others need room.
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

// changes reports whether a script makes changes for its caller.
func changes(name string) bool {
	return name == "apply" || name == "forget" || name == "register"
}

// stops reports whether a script stops immediately if the partition lost writes. The others decide this themselves.
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
