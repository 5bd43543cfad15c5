package swrun_test

import (
	"os"
	"testing"

	"github.com/swrun/swrun"
	"github.com/swrun/swrun/process"
)

// processes runs the commands of examples.
var processes *process.Pool

func TestMain(m *testing.M) {
	processes = swrun.Supervise()
	code := m.Run()
	processes.Close()
	os.Exit(code)
}
