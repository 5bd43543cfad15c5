// Package processtest lets the binary of a test be its own supervisor of processes.
package processtest

import (
	"fmt"
	"os"
	"testing"

	"github.com/swrun/swrun/process"
)

// supervise is the argument that makes a test's binary a supervisor.
const supervise = "supervise-process"

// Main is the TestMain of a package whose tests run processes.
func Main(m *testing.M) {
	if len(os.Args) == 2 && os.Args[1] == supervise {
		if err := process.Supervise(os.Stdin, os.Stdout); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

// NewPool returns a pool whose supervisors are this binary.
func NewPool() *process.Pool {
	return process.NewPool(process.Starter{Path: os.Args[0], Arguments: []string{os.Args[0], supervise}})
}

// Pool returns a pool for the time of a test.
func Pool(t testing.TB) *process.Pool {
	p := NewPool()
	t.Cleanup(p.Close)
	return p
}
