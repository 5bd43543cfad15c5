package activity_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os/exec"
	"path"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/swrun/swrun/redisstore/redistest"
)

// program is a process whose output is read line by line.
type program struct {
	*exec.Cmd
	lines chan string
}

// start starts a program that is killed when the test ends.
func start(t *testing.T, c *exec.Cmd, of func(*exec.Cmd) (io.ReadCloser, error)) *program {
	t.Helper()
	output, err := of(c)
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	p := &program{c, make(chan string, 1000)}
	read := make(chan struct{})
	go func() {
		defer close(read)
		defer close(p.lines)
		for lines := bufio.NewScanner(output); lines.Scan(); {
			p.lines <- lines.Text()
		}
	}()
	t.Cleanup(func() {
		_ = c.Process.Kill() // it may be ended
		<-read
		_ = c.Wait() // it may be ended
	})
	return p
}

// await returns the rest of the first line that contains a text.
func (p *program) await(t *testing.T, text string) string {
	t.Helper()
	var before []string
	for line := range p.lines {
		if _, rest, found := strings.Cut(line, text); found {
			return rest
		}
		before = append(before, line)
	}
	t.Fatalf("%q was not said, but\n%s", text, strings.Join(before, "\n"))
	return ""
}

// api is a server, with the requests of the test.
type api string

func (a api) ask(t *testing.T, method, path, body string, into any) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), method, string(a)+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Content-Type", "application/json")
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	answer, err := io.ReadAll(response.Body)
	if err != nil || response.StatusCode >= 300 {
		t.Fatalf("%s %s: %s %v\n%s", method, path, response.Status, err, answer)
	}
	if err := json.NewDecoder(bytes.NewReader(answer)).Decode(into); err != nil {
		t.Fatalf("%s %s: %v\n%s", method, path, err, answer)
	}
}

// start starts a run, and returns its id.
func (a api) start(t *testing.T, input string) string {
	t.Helper()
	var run struct{ ID string }
	a.ask(t, "POST", "/v1/runs", `{"workflow": "demo/thumbnail", "input": `+input+`}`, &run)
	return run.ID
}

// output waits for the output of a run.
func (a api) output(t *testing.T, id string) map[string]any {
	t.Helper()
	for range 10 {
		var output map[string]any
		a.ask(t, "GET", "/v1/runs/demo/"+id+"/output?wait=10s", "", &output)
		if output["status"] == nil { // not the problem about a run in progress
			return output
		}
	}
	t.Fatalf("the run %s does not end", id)
	return nil
}

// serve starts a server of the example's workflow.
func serve(t *testing.T) api {
	t.Helper()
	swrun := filepath.Join(t.TempDir(), "swrun")
	if out, err := exec.Command("go", "build", "-o", swrun, "../../cmd/swrun").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	redis := redistest.Start(t)
	served := start(t, exec.Command(swrun, "serve", ".", "--store", redis.URL(), "--listen", "127.0.0.1:0"), (*exec.Cmd).StderrPipe)
	return api(served.await(t, "listening on "))
}

// work starts the example with the number of seconds for a tenth of its work.
func work(t *testing.T, server api, seconds string) *program {
	t.Helper()
	c := exec.Command("python3", "-u", "worker.py", string(server))
	c.Env = append(c.Environ(), "WORK_SECONDS="+seconds, "PYTHONDONTWRITEBYTECODE=1")
	return start(t, c, (*exec.Cmd).StdoutPipe)
}

// TestPythonWorker: the example does its work. If it is killed, or stopped for longer than the server waits for a heartbeat, its work continues elsewhere.
func TestPythonWorker(t *testing.T) {
	server := serve(t)
	worker := func(seconds string) *program { return work(t, server, seconds) }

	first := worker("0")
	done, none := server.start(t, `{"width": 4000, "height": 3000}`), server.start(t, `{"width": 0, "height": 1}`)
	if got := fmt.Sprint(server.output(t, done)); got != "map[attempt:1 height:120 width:160]" {
		t.Errorf("the activity comes to %s", got)
	}
	if got := fmt.Sprint(server.output(t, none)); got != "map[because:an image has a width and a height thumbnail:<nil>]" {
		t.Errorf("an activity that fails for good comes to %s", got)
	}
	if err := first.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	for range first.lines { // it ends on its own
	}

	for name, stop := range map[string]syscall.Signal{"killed": syscall.SIGKILL, "standing still": syscall.SIGSTOP} {
		slow := worker("0.2")
		run := server.start(t, `{"width": 400, "height": 300}`)
		server.awaitProgress(t, run)
		if err := slow.Process.Signal(stop); err != nil {
			t.Fatal(err)
		}
		other := worker("0")
		if got := server.output(t, run); fmt.Sprint(got["height"]) != "120" || fmt.Sprint(got["attempt"]) == "1" {
			t.Errorf("%s: the activity comes to %v", name, got)
		}
		_ = slow.Process.Signal(syscall.SIGCONT) // a killed process ignores it
		if stop == syscall.SIGSTOP {
			slow.await(t, "is not wanted any more")
		}
		_ = other.Process.Kill()
		_ = slow.Process.Kill()
	}
}

// TestPythonWorkerIsRefused: after an answer of something between the worker and its server, in any form, the worker retries; a refused result is a
// failure that the run receives.
func TestPythonWorkerIsRefused(t *testing.T) {
	server := serve(t)
	behind, err := url.Parse(string(server))
	if err != nil {
		t.Fatal(err)
	}
	forward := httputil.NewSingleHostReverseProxy(behind)
	var polls, completes atomic.Int64
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		answer := func(status int, text string) {
			w.WriteHeader(status)
			_, _ = io.WriteString(w, text) // the worker may have disconnected
		}
		switch path.Base(r.URL.Path) {
		case "poll":
			switch polls.Add(1) {
			case 1:
				answer(502, "<html>bad gateway</html>")
				return
			case 2:
				answer(200, "<html>welcome</html>")
				return
			case 3:
				answer(503, "[]")
				return
			case 4:
				panic(http.ErrAbortHandler)
			}
		case "complete":
			if completes.Add(1) == 1 {
				answer(413, "<html>too large</html>")
				return
			}
		}
		forward.ServeHTTP(w, r)
	}))
	defer proxy.Close()
	run := server.start(t, `{"width": 400, "height": 300}`)
	worker := work(t, api(proxy.URL), "0")
	worker.await(t, "failed: Refused: the server refuses complete")
	if got := fmt.Sprint(server.output(t, run)["attempt"]); got != "2" {
		t.Errorf("it comes to attempt %s", got)
	}
}

// awaitProgress waits until a heartbeat of the activity has arrived.
func (a api) awaitProgress(t *testing.T, run string) {
	t.Helper()
	for {
		var described struct {
			Open []struct {
				Activity *struct{ Progress map[string]any }
			}
		}
		a.ask(t, "GET", "/v1/runs/demo/"+run, "", &described)
		if len(described.Open) == 1 && described.Open[0].Activity != nil && described.Open[0].Activity.Progress != nil {
			return
		}
	}
}
