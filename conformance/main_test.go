package conformance

import (
	"fmt"
	"os"
	"testing"

	"github.com/swrun/swrun/internal/pacetest"
	"github.com/swrun/swrun/process/processtest"
)

func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == mcpCommand {
		serveMCP()
		return
	}
	remove, err := installMCP()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	pacetest.WaitMuch()
	code := processtest.Run(m)
	remove()
	brokers.close()
	os.Exit(code)
}
