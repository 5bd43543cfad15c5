// Package machine finds the memory limit of this process. It also sets the pace of the garbage collector in the process of a worker. Hosts of
// workflows use it for their defaults.
package machine

import (
	"math"
	"os"
	"path"
	"path/filepath"
	"strconv"
	"strings"
)

// unknownMemory is assumed if the memory is not known.
const unknownMemory = 2 << 30

// Memory returns the memory limit of this process in bytes: the memory of the machine, or the limit of its control group.
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

// groupMemory returns the minimum of the limits of a control group and its parents. In a container the group's own path may be the path on the
// machine, and may not exist: then the root is the group.
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

// totalMemory returns the memory of the machine from /proc/meminfo.
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
