// Package machine finds out how much memory this process may have. It also paces the garbage collector of a process that
// is a worker. Hosts of workflows use it for their defaults.
package machine

import (
	"math"
	"os"
	"path"
	"path/filepath"
	"strconv"
	"strings"
)

// unknownMemory is assumed where nothing says how much there is.
const unknownMemory = 2 << 30

// Memory returns how many bytes this process may have: what the machine has, or its control group may have.
func Memory() int64 {
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
		if n, bad := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64); err == nil && bad == nil && n > 0 { // max is not a number
			limit = min(limit, n)
		}
		if group == "/" || group == "." {
			return limit
		}
		group = path.Dir(group)
	}
}

// totalMemory returns what /proc/meminfo says of the machine.
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
