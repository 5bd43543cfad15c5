package faults

import (
	"bufio"
	"bytes"
	"encoding/json"
	"os/exec"
	"testing"

	"github.com/swrun/swrun/redisstore/redistest"
)

// TestBench: every scenario of swrun bench completes on a small scale, and loses, repeats and hastens nothing. The test does not measure speed.
func TestBench(t *testing.T) {
	server := redistest.Start(t, "--appendonly", "yes")
	bench := exec.Command(binary, "bench", "--size", "0.01", "--store", server.URL(), "-o", "json")
	out, err := bench.Output()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	scenarios := 0
	for lines := bufio.NewScanner(bytes.NewReader(out)); lines.Scan(); scenarios++ {
		var m struct {
			Scenario                      string
			Runs, Lost, Duplicates, Early int
		}
		if err := json.Unmarshal(lines.Bytes(), &m); err != nil {
			t.Fatalf("%v in %s", err, lines.Bytes())
		}
		if m.Runs == 0 || m.Lost != 0 || m.Duplicates != 0 || m.Early != 0 {
			t.Errorf("%s", lines.Bytes())
		}
	}
	if scenarios != 11 {
		t.Errorf("%d scenarios:\n%s", scenarios, out)
	}
}
