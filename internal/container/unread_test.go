package container_test

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/swrun/swrun/internal/container"
	"github.com/swrun/swrun/internal/enginetest"
)

// ignoresInput: the output of a container that ends before it read its input is complete, even if Podman is slow when the container ends.
func ignoresInput(t *testing.T, e underTest) {
	if e.podman == nil {
		t.Skip("TestUnreadInput tests it")
	}
	folder := t.TempDir()
	j := job("head -c 5; touch /data/begun; until [ -e /data/end ]; do sleep 0.01; done; printf 'out\\n\\000'; printf err >&2; exit 3")
	j.Mounts = []container.Mount{{Source: folder, Target: "/data"}}
	long := strings.Repeat("0123456789abcdef\n", 1<<15)
	j.Stdin = &long
	go func() {
		until(t, func() bool {
			_, err := os.Stat(filepath.Join(folder, "begun"))
			return err == nil
		})
		wake, err := e.podman.Sleep()
		defer wake()
		if err := errors.Join(err, os.WriteFile(filepath.Join(folder, "end"), nil, 0o600), e.podman.Wait("one")); err != nil {
			t.Error(err)
		}
	}()
	end, err := e.run(t, j)
	if err != nil || end.ExitCode != 3 || string(end.Stdout) != "01234out\n\000" || string(end.Stderr) != "err" {
		t.Errorf("it ends with %d, %.99q, %.999q, %v", end.ExitCode, end.Stdout, end.Stderr, err)
	}
}

// podmanReport is the frame that Podman adds to stderr when a container did not read its input.
const podmanReport = "Error: write unixpacket @->/proc/self/fd/15/attach: write: connection reset by peer\n"

// closes is how an engine closes the connection of an attached container that ended.
type closes struct {
	far  bool   // the engine is at another machine
	sent []byte // before
}

// against returns an engine whose attached streams are closed in this way as soon as the input arrives.
func (c closes) against(t *testing.T, fake *enginetest.Engine) *container.Engine {
	t.Helper()
	others := fake.Intercept
	fake.Intercept = func(w http.ResponseWriter, r *http.Request, what string) bool {
		if what != "attach" {
			return others != nil && others(w, r, what)
		}
		connection, buffered, err := http.NewResponseController(w).Hijack()
		if err != nil {
			t.Error(err)
			return true
		}
		go func() {
			_, _ = io.WriteString(connection, attached)
			_, _ = buffered.ReadByte()
			_, _ = connection.Write(c.sent)
			_ = connection.Close() // with unread input: a connection over TCP is reset
		}()
		return true
	}
	network, address := "unix", t.TempDir()+"/engine.sock"
	if c.far {
		network, address = "tcp", "127.0.0.1:0"
	}
	l, err := net.Listen(network, address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(fake.Serve(l))
	return container.New(container.Config{Dial: func(ctx context.Context) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, network, l.Addr().String())
	}})
}

// TestUnreadInput: if the attached stream may have lost output because the container did not read its input, the output is read from the log.
func TestUnreadInput(t *testing.T) {
	report := enginetest.Frame(2, []byte(podmanReport))
	for name, c := range map[string]struct {
		job           container.Job
		closes        closes
		logs          string // instead of the log
		stdout, error string
	}{
		"reported":             {job: job("echo first; echo x"), closes: closes{sent: append(enginetest.Frame(1, []byte("fir")), report...)}, stdout: "first\nx\n"},
		"reset from afar":      {job: job("echo x"), closes: closes{far: true}, stdout: "x\n"},
		"a part from afar":     {job: job("echo x"), closes: closes{far: true, sent: []byte{1, 0, 0, 0, 0, 0, 0, 2, 'x'}}, stdout: "x\n"},
		"its own words":        {job: job("echo '" + podmanReport + "'"), closes: closes{sent: report}, stdout: podmanReport + "\n"},
		"a full stream":        {job: job("echo x"), closes: closes{sent: append(enginetest.Frame(2, make([]byte, most)), report...)}, stdout: "x\n"},
		"too much in the log":  {job: job("head -c 1025 /dev/zero"), closes: closes{sent: report}, error: "stdout is too long"},
		"no log":               {job: job("echo x"), closes: closes{sent: report}, logs: "refused", error: "its log cannot be read"},
		"the end of a log":     {job: job("echo x"), closes: closes{sent: append(enginetest.Frame(1, []byte("first")), report...)}, error: "its beginning was removed"},
		"a log that ends soon": {job: job("echo x"), closes: closes{sent: report}, logs: "\x01\x00\x00\x00\x00\x00\x00\x02x", error: "its log cannot be read"},
	} {
		t.Run(name, func(t *testing.T) {
			fake := enginetest.New()
			if c.logs != "" {
				fake.Intercept = func(w http.ResponseWriter, _ *http.Request, what string) bool {
					if what == "logs" && c.logs == "refused" {
						enginetest.Fail(w, http.StatusNotImplemented, "the driver none does not support reading")
					} else if what == "logs" {
						_, _ = io.WriteString(w, c.logs)
					}
					return what == "logs"
				}
			}
			long := strings.Repeat("x", 1<<20)
			c.job.Stdin = &long
			end, err := c.closes.against(t, fake).Run(t.Context(), c.job)
			if string(end.Stdout) != c.stdout || (err == nil) != (c.error == "") || err != nil && !strings.Contains(err.Error(), c.error) {
				t.Errorf("it ends with %.99q, %.99q, %v", end.Stdout, end.Stderr, err)
			}
			if all := fake.All(); len(all) != 0 {
				t.Errorf("left: %+v", all)
			}
		})
	}
}
