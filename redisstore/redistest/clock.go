package redistest

import (
	_ "embed"
	"encoding/binary"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"
)

//go:embed testdata/clock.c
var clockSource []byte

// StartWithClock starts a server whose clock can jump. The test fails if there is no C compiler: install Debian's gcc
// package.
func StartWithClock(t testing.TB, args ...string) *Server {
	t.Helper()
	dir := t.TempDir()
	source, library, ahead := filepath.Join(dir, "clock.c"), filepath.Join(dir, "clock.so"), filepath.Join(dir, "ahead")
	for path, data := range map[string][]byte{source: clockSource, ahead: make([]byte, 8)} {
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if out, err := exec.Command("cc", "-shared", "-fPIC", "-O2", "-o", library, source).CombinedOutput(); err != nil {
		t.Fatalf("make a clock that jumps (install the package gcc): %v\n%s", err, out)
	}
	return start(t, ahead, []string{"LD_PRELOAD=" + library, "SWRUN_CLOCK=" + ahead}, args...)
}

// Jump moves the server's clock.
func (s *Server) Jump(d time.Duration) {
	s.t.Helper()
	s.ahead += d
	file, err := os.OpenFile(s.clock, os.O_WRONLY, 0)
	if err != nil {
		s.t.Fatalf("the server was not started with a clock: %v", err)
	}
	defer file.Close() // the result of the write counts
	if _, err := file.Write(binary.NativeEndian.AppendUint64(nil, uint64(s.ahead.Microseconds()))); err != nil {
		s.t.Fatal(err)
	}
}
