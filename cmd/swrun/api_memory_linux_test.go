package main

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

// mostOfAPI is the maximum memory of a server whose requests may use 128 MiB, and its effects as much. A server without these bounds takes more than
// twice as much for the inputs, and for the outputs that clients do not read.
const mostOfAPI = 2 << 30

// largeDocuments are workflows whose runs are large: an output of 3 MB that takes 25 MB as values, and a history of ten times that text.
const largeDocuments = `document: {dsl: 1.0.3, namespace: demo, name: large, version: 1.0.0}
do:
- a: {set: {a: '${ [range(60000) | {a: "xxxxxxxxxxxxxxxxxxxxxxxxxxxxx", b: .}] }'}}
- b: {set: {a: '${ .a }', c: 1}}
`

// TestMemoryOfTheAPI: a server process keeps its bound of memory while many callers send large inputs, request large exports, lists and outputs at
// the same time, or do not read their answers. A caller without an answer is asked to retry.
func TestMemoryOfTheAPI(t *testing.T) {
	s := startServerProcess(t, largeDocuments, "--effect-memory", "128MiB")
	for _, id := range []string{"one", "two"} {
		if got := s.ask(t, "POST", "/v1/runs", `{"workflow": "demo/large", "id": "`+id+`"}`); got != http.StatusCreated {
			t.Fatalf("start: %d", got)
		}
		if got := s.ask(t, "GET", "/v1/runs/demo/"+id+"/output?wait=2m", ""); got != http.StatusOK {
			t.Fatalf("output: %d", got)
		}
	}
	body := `{"workflow": "demo/none", "input": [` + strings.Repeat("{},", 1_390_000) + `{}]}`
	for _, c := range []struct {
		name     string
		requests int
		ask      func() int
	}{
		{"inputs", 16, func() int { return s.ask(t, "POST", "/v1/runs", body) }},
		{"exports", 20, func() int { return s.ask(t, "GET", "/v1/runs/demo/one/export", "") }},
		{"history", 40, func() int { return s.ask(t, "GET", "/v1/runs/demo/one/history?limit=1000", "") }},
		{"outputs", 100, func() int { return s.ask(t, "GET", "/v1/runs/demo/two/output?wait=5s", "") }},
		{"slow", 150, func() int { return s.askSlowly(t, "/v1/runs/demo/two/output") }},
	} {
		t.Run(c.name, func(t *testing.T) {
			s.bounded(t, func() {
				var answers sync.Map
				var all sync.WaitGroup
				for range c.requests {
					all.Go(func() { answers.Store(c.ask(), true) })
				}
				all.Wait()
				answers.Range(func(status, _ any) bool {
					switch status {
					case http.StatusOK, http.StatusNotFound, http.StatusTooManyRequests, http.StatusServiceUnavailable, cutOff:
						return true
					}
					t.Errorf("an answer has the status %v", status)
					return true
				})
			})
		})
	}
}

// serverProcess is a swrun serve in a process of its own.
type serverProcess struct {
	*exec.Cmd
	url string
}

// startServerProcess starts a server that serves a document, on a file store, and ends it with the test.
func startServerProcess(t *testing.T, document string, flags ...string) *serverProcess {
	t.Helper()
	folder := t.TempDir()
	if err := os.WriteFile(filepath.Join(folder, "a.yaml"), []byte(document), 0o600); err != nil {
		t.Fatal(err)
	}
	args := append([]string{"serve", folder, "--listen", "127.0.0.1:0", "--store", "file:" + filepath.Join(t.TempDir(), "runs.db")}, flags...)
	s := &serverProcess{Cmd: command(t, args...)}
	said, err := s.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Start(); err != nil {
		t.Fatal(err)
	}
	lines, read := bufio.NewScanner(said), make(chan struct{})
	for s.url == "" && lines.Scan() {
		if found := listeningOn.FindStringSubmatch(lines.Text()); found != nil {
			s.url = found[1]
		}
	}
	if s.url == "" {
		t.Fatal("it does not listen")
	}
	go func() {
		defer close(read)
		for lines.Scan() { // a full pipe would block it
			continue
		}
	}()
	t.Cleanup(func() {
		_ = s.Process.Signal(syscall.SIGTERM)
		<-read
		_ = s.Wait() // another test covers its end after a signal
	})
	return s
}

// cutOff represents the status of an incomplete answer.
const cutOff = 0

// ask sends a request and reads the whole answer. It returns the status.
func (s *serverProcess) ask(t *testing.T, method, path, body string) int {
	r, err := http.NewRequestWithContext(t.Context(), method, s.url+path, strings.NewReader(body))
	if err != nil {
		return cutOff
	}
	r.Header.Set("Content-Type", "application/json")
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		return cutOff
	}
	defer answer.Body.Close()
	if _, err := io.Copy(io.Discard, answer.Body); err != nil {
		return cutOff
	}
	return answer.StatusCode
}

// askSlowly sends a request, reads the header of the answer when it arrives, and nothing more until all others have read their answers.
func (s *serverProcess) askSlowly(t *testing.T, path string) int {
	c, err := net.Dial("tcp", strings.TrimPrefix(s.url, "http://"))
	if err != nil {
		return cutOff
	}
	t.Cleanup(func() { c.Close() })
	_ = c.(*net.TCPConn).SetReadBuffer(4096) // a larger one makes the test weaker, but not wrong
	fmt.Fprintf(c, "GET %s HTTP/1.1\r\nHost: localhost\r\n\r\n", path)
	answer, err := http.ReadResponse(bufio.NewReaderSize(c, 512), nil)
	if err != nil {
		return cutOff
	}
	return answer.StatusCode
}

// bounded reports an error if the process exceeds its own memory bound during happens.
func (s *serverProcess) bounded(t *testing.T, happens func()) {
	t.Helper()
	var most atomic.Int64
	done, sampled := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(sampled)
		for {
			most.Store(max(most.Load(), s.ownMemory(t)))
			select {
			case <-done:
				return
			case <-time.After(2 * time.Millisecond):
			}
		}
	}()
	happens()
	close(done)
	<-sampled
	t.Logf("%d MiB", most.Load()>>20)
	if most.Load() > mostOfAPI {
		t.Errorf("the server took %d MiB, and may take %d", most.Load()>>20, mostOfAPI>>20)
	}
}

// ownMemory returns the memory of a process without pages of files, in bytes.
func (s *serverProcess) ownMemory(t *testing.T) int64 {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", s.Process.Pid))
	if err != nil {
		t.Errorf("the server has ended: %v", err)
		return 0
	}
	for line := range strings.Lines(string(text)) {
		if rest, ok := strings.CutPrefix(line, "RssAnon:"); ok {
			kb, err := strconv.ParseInt(strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(rest), "kB")), 10, 64)
			if err != nil {
				t.Error(err)
			}
			return kb << 10
		}
	}
	return 0
}
