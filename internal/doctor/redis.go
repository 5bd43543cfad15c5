package doctor

import (
	"fmt"
	"net"
	"net/url"
	"strings"

	"github.com/Masterminds/semver/v3"

	"github.com/swrun/swrun/internal/terminal"
	"github.com/swrun/swrun/redisstore"
)

func persistence(f redisstore.Facts) Finding {
	servers := "one server"
	if f.Servers > 0 {
		servers = fmt.Sprintf("a cluster of %d", f.Servers)
	}
	what := fmt.Sprintf("Redis %s, %s with %s, durability %s, maxmemory-policy %s", f.Version, servers, terminal.Counted(f.Replicas, "replica"), f.Durability, f.Policy)
	switch f.Durability {
	case redisstore.DurabilityMemory:
		return Finding{"SD002", Warning, what + ": a crash of the server loses all writes since the last save", "set appendonly yes"}
	case redisstore.DurabilityEverysec:
		return Finding{"SD002", OK, what + ": a crash of the machine may lose the last second", ""}
	}
	return Finding{"SD002", OK, what + ": confirmed writes are on the disk", ""}
}

func room(f redisstore.Facts) Finding {
	if f.MaxMemory == 0 {
		return Finding{"SD003", Warning, fmt.Sprintf("%d MB in use, without a limit", f.Memory>>20), "set maxmemory below the machine's memory, so that the server refuses writes before the machine kills it"}
	}
	what := fmt.Sprintf("%d of %d MB in use", f.Memory>>20, f.MaxMemory>>20)
	if f.Used() > 0.7 { // above redisstore.Full, an ailment reports it
		return Finding{"SD003", Warning, what, "raise maxmemory soon"}
	}
	return Finding{"SD003", OK, what, ""}
}

// exposure reports settings that give others access to the server.
func exposure(f redisstore.Facts, location string) (found []Finding) {
	if !patched(f.Version) {
		found = append(found, Finding{"SD007", Warning, "Redis " + f.Version + " lacks the corrections of CVE-2025-49844: a user with the right to run scripts can take over the server",
			"use 7.2.11, 7.4.6, 8.0.4, 8.2.2 or later, or check whether your distribution has corrected this version"})
	}
	u, err := url.Parse(location)
	if err != nil || strings.HasPrefix(u.Scheme, "rediss") {
		return found
	}
	if address := net.ParseIP(u.Hostname()); u.Hostname() != "localhost" && (address == nil || !address.IsLoopback()) {
		found = append(found, Finding{"SD008", Warning, "the connection to the server is not encrypted", "use rediss://, unless the server and the workers are alone on their network"})
	}
	return found
}

// patched reports whether a version of Redis has the corrections of CVE-2025-49844.
func patched(version string) bool {
	v, err := semver.NewVersion(version)
	if err != nil {
		return true // unknown versions are not reported
	}
	for _, corrected := range []string{">=8.2.2", ">=8.0.4 <8.1", ">=7.4.6 <7.5", ">=7.2.11 <7.3"} {
		if c, err := semver.NewConstraint(corrected); err == nil && c.Check(v) {
			return true
		}
	}
	return false
}
