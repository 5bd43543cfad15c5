package main

import (
	"bufio"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestKilledAndStartedAgain kills the program with SIGKILL while its run waits. The second program only does the remaining work.
func TestKilledAndStartedAgain(t *testing.T) {
	program := filepath.Join(t.TempDir(), "durable")
	if out, err := exec.Command("go", "build", "-o", program, ".").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	file := filepath.Join(t.TempDir(), "orders.db")

	first := exec.Command(program, file)
	output, err := first.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := first.Start(); err != nil {
		t.Fatal(err)
	}
	paid := 0
	for lines := bufio.NewScanner(output); lines.Scan(); {
		if strings.HasPrefix(lines.Text(), "paying") {
			paid++
		}
		if lines.Text() == "task.waiting /do/1/pack" {
			break
		}
	}
	if err := first.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = first.Wait() // it was killed
	if paid != 1 {
		t.Fatalf("it paid %d times before it was killed", paid)
	}

	second, err := exec.Command(program, file).Output()
	if err != nil {
		t.Fatal(err)
	}
	want := `task.completed /do/1/pack
task.started /do/2/ship
effect.started /do/2/ship
effect.finished /do/2/ship
task.completed /do/2/ship
workflow.completed 
the order is map[shipped:true]
`
	if diff := cmp.Diff(want, string(second)); diff != "" {
		t.Error(diff)
	}
}
