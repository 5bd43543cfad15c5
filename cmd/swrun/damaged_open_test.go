//go:build unix

package main

import (
	"bytes"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestDamagedWhileServed: a server whose file is damaged ends with the reason, and neither by a panic nor as if nothing had happened. The file is
// refused afterwards, and doctor reports why.
func TestDamagedWhileServed(t *testing.T) {
	for name, change := range map[string]func(f *os.File, whole []byte){
		"pages overwritten":    func(f *os.File, whole []byte) { f.WriteAt(bytes.Repeat([]byte{0xff}, len(whole)-2*4096), 2*4096) },
		"header overwritten":   func(f *os.File, _ []byte) { f.WriteAt(make([]byte, 2*4096), 0) },
		"text written over it": func(f *os.File, _ []byte) { f.WriteAt(bytes.Repeat([]byte("hello\n"), 4096), 0) },
		"emptied":              func(f *os.File, _ []byte) { f.Truncate(0) },
		"cut":                  func(f *os.File, whole []byte) { f.Truncate(int64(len(whole)) / 2) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "runs.db")
			h := &hosted{t, "file:" + path}
			h.exits(exitOK, "deploy", mustWriteFile(t, "nap.yaml", napText))
			read := func() []byte {
				data, err := os.ReadFile(path)
				if err != nil {
					t.Fatal(err)
				}
				return data
			}
			cmd, s := h.started("the worker is ready", "serve", "--listen", "127.0.0.1:0")
			big := mustWriteFile(t, "big.json", `{"text": "`+strings.Repeat("x", 100_000)+`"}`)
			for range 5 {
				h.exits(exitOK, "start", "demo/nap", "--input", "@"+big)
			}
			h.answers(s, "/readyz", http.StatusOK, "")
			f, err := os.OpenFile(path, os.O_RDWR, 0)
			if err != nil {
				t.Fatal(err)
			}
			defer f.Close() // the data is already written
			ended := make(chan struct{})
			go func() { defer close(ended); _ = cmd.Wait() }() // the test checks its exit code
			// A write at that moment may repair a header, or restore the size of a truncated file: the file is damaged until the server notices it.
			for whole, tick := read(), time.NewTicker(20*time.Millisecond); ; {
				change(f, whole)
				select {
				case <-ended:
				case <-tick.C:
					continue
				}
				tick.Stop()
				break
			}
			if code := cmd.ProcessState.ExitCode(); code != exitStore || !strings.Contains(s.err.String(), "is damaged: ") || strings.Contains(s.err.String(), "goroutine ") {
				t.Errorf("it ends with %d:\n%s", code, s.err)
			}
			for _, verb := range []string{"doctor", "ls"} {
				if code, out := h.says(verb); code != exitStore || !strings.Contains(out, path) {
					t.Errorf("%s ends with %d:\n%s", verb, code, out)
				}
			}
		})
	}
}
