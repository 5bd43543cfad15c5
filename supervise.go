package swrun

import (
	"fmt"
	"os"

	"github.com/swrun/swrun/process"
)

// superviseArgument makes a program the supervisor of one process of a workflow.
const superviseArgument = "supervise-process"

// Supervise lets the workflows of this program run shell commands and scripts: what it returns goes to Host.Processes. Call it first
// in main. Each process of a workflow runs below a supervisor that ends all that it has started, whatever happens to this program;
// that supervisor is this program itself, started anew, and in it Supervise does its work and never returns. Close ends the
// supervisors that are left.
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

// executable returns where this program can be started from, also when its file has been replaced meanwhile.
func executable() string {
	const self = "/proc/self/exe"
	if _, err := os.Stat(self); err == nil {
		return self
	}
	if path, err := os.Executable(); err == nil {
		return path
	}
	return os.Args[0] // starting it says what is wrong
}
