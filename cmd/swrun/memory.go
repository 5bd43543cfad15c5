package main

import (
	"math"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"strconv"
	"strings"

	"github.com/dustin/go-humanize"
)

// This file decides how much memory a worker takes.

// effectMemory returns how many bytes what effects read may take together: what the flag or SWRUN_EFFECT_MEMORY says, or a
// quarter of what this process may have.
func (p *program) effectMemory(given string) (int64, error) {
	source := "--effect-memory"
	if fromEnv, _ := p.env("SWRUN_EFFECT_MEMORY"); given == "" && fromEnv != "" {
		given, source = fromEnv, "SWRUN_EFFECT_MEMORY"
	}
	if given == "" {
		return machineMemory() / 4, nil
	}
	n, err := humanize.ParseBytes(given)
	if err != nil || n < 1<<20 || n > math.MaxInt64 {
		return 0, usagef("for example 512MiB or 2GiB", "%s must be a size of at least 1MiB, got %q", source, given)
	}
	return int64(n), nil
}

// unknownMemory is what a machine is taken to have that does not tell.
const unknownMemory = 2 << 30

// machineMemory returns how many bytes this process may have: what the machine has, or its control group may have.
func machineMemory() int64 {
	limit := int64(unknownMemory)
	if total, ok := totalMemory("/proc/meminfo"); ok {
		limit = total
	}
	groups, _ := os.ReadFile("/proc/self/cgroup") // none on other systems
	for line := range strings.Lines(string(groups)) {
		parts := strings.SplitN(strings.TrimSpace(line), ":", 3)
		if len(parts) != 3 {
			continue
		}
		switch {
		case parts[1] == "":
			limit = min(limit, groupMemory("/sys/fs/cgroup", parts[2], "memory.max"))
		case strings.Contains(parts[1], "memory"):
			limit = min(limit, groupMemory("/sys/fs/cgroup/memory", parts[2], "memory.limit_in_bytes"))
		}
	}
	return limit
}

// groupMemory returns the least that a control group and those around it may have. In a container the group's own path may
// be that of the machine, and not be there: the root is its own then.
func groupMemory(root, group, file string) int64 {
	limit := int64(math.MaxInt64)
	for {
		text, err := os.ReadFile(filepath.Join(root, group, file))
		if n, bad := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64); err == nil && bad == nil && n > 0 { // max is no number
			limit = min(limit, n)
		}
		if group == "/" || group == "." {
			return limit
		}
		group = path.Dir(group)
	}
}

// totalMemory returns what /proc/meminfo tells of the machine.
func totalMemory(file string) (int64, bool) {
	text, err := os.ReadFile(file)
	if err != nil {
		return 0, false
	}
	for line := range strings.Lines(string(text)) {
		if fields := strings.Fields(line); len(fields) == 3 && fields[0] == "MemTotal:" {
			kb, err := strconv.ParseInt(fields[1], 10, 64)
			return kb << 10, err == nil && kb > 0
		}
	}
	return 0, false
}

// collectLess trades memory, of which a worker needs little, for less work of the garbage collector. GOGC says
// otherwise.
func (p *program) collectLess() {
	if _, set := p.env("GOGC"); !set {
		pace(0)
	}
}

// defaultPace is how much garbage, in percent of what lives, may gather at most.
const defaultPace = 400

// littleHeap is how much has to live, in bytes, before less garbage may gather: large answers would cost five times their
// size.
const littleHeap = 64 << 20

// pace sets how much garbage may gather, and does so again after each collection. now is what was set by then.
func pace(now int) {
	live := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	metrics.Read(live)
	next := min(defaultPace, max(50, int(defaultPace*littleHeap/max(1, live[0].Value.Uint64()))))
	if next < now*9/10 || next > now*11/10 {
		debug.SetGCPercent(next)
		now = next
	}
	runtime.AddCleanup(new([64]byte), pace, now) // nobody holds it: it goes with the next collection
}
