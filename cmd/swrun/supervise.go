package main

import (
	"fmt"
	"os"

	"github.com/swrun/swrun/process"
)

// superviseArgument makes this program the supervisor of one process of a workflow. It is no verb: nobody types it.
const superviseArgument = "supervise-process"

// supervisor is how supervisors are started: as this program itself, also when its file has been replaced meanwhile.
func supervisor() process.Starter {
	s := process.Starter{Path: "/proc/self/exe", Arguments: []string{"swrun", superviseArgument}}
	if _, err := os.Stat(s.Path); err == nil {
		return s
	}
	if path, err := os.Executable(); err == nil {
		s.Path = path
		return s
	}
	s.Path = os.Args[0] // starting it says what is wrong
	return s
}

// superviseProcesses is the main of a supervisor.
func superviseProcesses(s streams) int {
	if err := process.Supervise(s.in, s.out); err != nil {
		fmt.Fprintln(s.err, err)
		return exitInternal
	}
	return exitOK
}
