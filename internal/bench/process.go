package bench

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"
)

// cpuOf returns the CPU time of a process, to the hundredth of a second, or 0 if it is not known.
func cpuOf(pid int) time.Duration {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0
	}
	fields := strings.Fields(string(data[strings.LastIndexByte(string(data), ')')+1:]))
	if len(fields) < 13 {
		return 0
	}
	user, _ := strconv.ParseInt(fields[11], 10, 64) // 0 if it cannot be read
	system, _ := strconv.ParseInt(fields[12], 10, 64)
	return time.Duration(user+system) * 10 * time.Millisecond
}

// rss returns the resident memory of this process in bytes, or 0 if it is not known.
func rss() int64 { return residentOf(os.Getpid()) }

func residentOf(pid int) int64 {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(data)) {
		if rest, ok := strings.CutPrefix(line, "VmRSS:"); ok {
			kb, _ := strconv.ParseInt(strings.TrimSuffix(strings.TrimSpace(rest), " kB"), 10, 64) // 0 if it cannot be read
			return kb << 10
		}
	}
	return 0
}
