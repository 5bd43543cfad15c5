package main

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/swrun/swrun/redisstore"
)

// untilIdle is how long a worker may work before it counts as idle.
const untilIdle = 3 * time.Second

// idle measures what a worker costs that has nothing to do, while runs sleep.
func (b *bench) idle() (*measured, error) {
	m := &measured{Instances: b.of(1000)}
	r, err := b.deploy("sleeper", "do:\n- nap: {wait: P7D}\n")
	if err != nil {
		return nil, err
	}
	pid, stop, err := b.apart()
	if err != nil {
		return nil, err
	}
	defer stop()
	if err := b.start(r, m.Instances, numbered); err != nil {
		return nil, err
	}
	if err := b.asleep(); err != nil {
		return nil, err
	}
	time.Sleep(untilIdle)
	operations, err := b.operations()
	if err != nil {
		return nil, err
	}
	began, used := time.Now(), cpuOf(pid)
	time.Sleep(max(time.Second, time.Duration(b.flags.size*float64(20*time.Second))))
	m.WorkerCPU = 100 * (cpuOf(pid) - used).Seconds() / time.Since(began).Seconds()
	after, err := b.operations()
	if err != nil {
		return nil, err
	}
	m.took(time.Since(began), 0)
	m.StoreOpsPerS = float64(after-operations) / m.Seconds
	m.WorkerRSS = residentOf(pid)
	return m, b.endAll()
}

// operations returns how many commands the store's servers have run; 0 where that is not told.
func (b *bench) operations() (int64, error) {
	s, ok := b.store.Store.Store.(*redisstore.Store)
	if !ok {
		return 0, nil
	}
	facts, err := s.Facts(b.ctx)
	return facts.Commands, err
}

// cpuOf returns how long a process has computed, to the hundredth of a second, or 0 where that is not told.
func cpuOf(pid int) time.Duration {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0
	}
	fields := strings.Fields(string(data[strings.LastIndexByte(string(data), ')')+1:]))
	if len(fields) < 13 {
		return 0
	}
	user, _ := strconv.ParseInt(fields[11], 10, 64) // 0 if it is not told
	system, _ := strconv.ParseInt(fields[12], 10, 64)
	return time.Duration(user+system) * 10 * time.Millisecond
}
