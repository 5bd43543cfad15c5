package process

import (
	"bytes"
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// maxMemory is how many bytes a script may add to the memory of its process: its heap, and copies of its data that pass
// between the engine and its host.
const maxMemory = maxHeap + 256<<20

// limitMemory makes the kernel refuse this process more memory than a script may use, in case the engine's own limit fails.
// The function that it returns ends that.
func limitMemory() (func(), error) {
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return nil, err
	}
	_, after, _ := bytes.Cut(status, []byte("VmData:"))
	used, err := strconv.ParseUint(string(bytes.TrimSpace(after[:bytes.IndexByte(after, 'k')])), 10, 64)
	if err != nil {
		return nil, err
	}
	var before unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_DATA, &before); err != nil {
		return nil, err
	}
	limit := unix.Rlimit{Cur: min(used<<10+maxMemory, before.Max), Max: before.Max}
	if err := unix.Setrlimit(unix.RLIMIT_DATA, &limit); err != nil {
		return nil, err
	}
	return func() {
		_ = unix.Setrlimit(unix.RLIMIT_DATA, &before) // it was allowed before
	}, nil
}
