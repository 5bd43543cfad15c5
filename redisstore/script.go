package redisstore

import (
	"crypto/sha1"
	"embed"
	"encoding/hex"
	"strconv"
	"strings"
)

//go:embed scripts/*.lua
var sources embed.FS

// script is one transition.
type script struct {
	name, source, sha string
	several           bool // it answers the requests of several callers at once, whose keys and arguments stand one after the other
}

// scripts are all transitions. Those that only go on with what is there, or make room, also run when memory is full.
type scripts struct {
	start, claim, commit, commits, renew, promote, deliver, command, relay, scrub, remove, probe, hold, vouch, drift script
	claimBegun, commandEnd                                                                                           script // when memory is full
}

// full is what a script begins with that also runs when memory is full; the others need room.
const full, room = "#!lua flags=allow-oom\n", "#!lua\n"

func newScripts() scripts {
	return scripts{
		start: newScript("start", room), claim: newScript("claim", room), deliver: newScript("deliver", room),
		command: newScript("command", room),
		commit:  newScript("commit", full), commits: newScript("commits", full), renew: newScript("renew", full), promote: newScript("promote", full),
		relay: newScript("relay", full), scrub: newScript("scrub", full), remove: newScript("remove", full), probe: newScript("probe", full), hold: newScript("hold", full),
		vouch: newScript("vouch", full), drift: newScript("drift", full), claimBegun: newScript("claim", full), commandEnd: newScript("command", full),
	}
}

func (s *scripts) all() []script {
	return []script{s.start, s.claim, s.commit, s.commits, s.renew, s.promote, s.deliver, s.command, s.relay, s.scrub, s.remove, s.probe, s.hold, s.vouch, s.drift, s.claimBegun, s.commandEnd}
}

// arguments returns EVALSHA's arguments up to those of the script itself, with room for so many of them; address fills
// in the rest.
func (s *script) arguments(room int, keys ...any) []any {
	args := make([]any, 0, 6+len(keys)+room)
	args = append(args, nil, nil, len(keys))
	args = append(args, keys...)
	return append(args, nil, nil, nil)
}

// address fills in what clock.lua asks for.
func (s *script) address(args []any, seen int64, echo string, expected int64) {
	first := 3 + args[2].(int)
	args[first], args[first+1], args[first+2] = seen, echo, expected
}

func newScript(name, first string) script {
	own := strings.Replace(mustSource(name), includeRecord, mustSource("record"), 1)
	source := first + "local STOPS, FULL = " + stops(name) + ", " + strconv.FormatBool(first == full) + "\n" + mustSource("clock") + own
	sum := sha1.Sum([]byte(source))
	return script{name: name, source: source, sha: hex.EncodeToString(sum[:]), several: name == "commits"}
}

// includeRecord is where a script wants what deals with records.
const includeRecord = "-- include record\n"

// stops says whether a script stops at once if the partition has lost writes. The others decide themselves.
func stops(name string) string {
	switch name {
	case "scrub", "commits", "vouch":
		return "false"
	}
	return "true"
}

func mustSource(name string) string {
	source, err := sources.ReadFile("scripts/" + name + ".lua")
	if err != nil {
		panic(err) // it is embedded
	}
	return string(source)
}
