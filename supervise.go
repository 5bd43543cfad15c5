package swrun

import (
	"fmt"
	"os"

	"github.com/swrun/swrun/process"
)

// superviseArgument is the argument with which a program becomes the supervisor of one process of a workflow.
const superviseArgument = "supervise-process"

// Supervise lets the workflows of this program run shell commands and scripts; assign its result to Host.Processes. Call it first in main. Each
// process of a workflow runs below a supervisor that ends all its descendants, whatever happens to this program. That supervisor is this program
// itself in a new process, in which Supervise does its work and never returns. Close ends the remaining supervisors.
func Supervise() *process.Pool {
	if len(os.Args) == 2 && os.Args[1] == superviseArgument {
		if err := process.Supervise(os.Stdin, os.Stdout); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	return process.NewPool(process.SupervisorCommand{Path: executable(), Arguments: []string{os.Args[0], superviseArgument}})
}

// executable returns the path from which this program can be started, even if its file was replaced in the meantime.
func executable() string {
	const self = "/proc/self/exe"
	if _, err := os.Stat(self); err == nil {
		return self
	}
	if path, err := os.Executable(); err == nil {
		return path
	}
	return os.Args[0] // starting it reports the fault
}
