// Package redistest starts real Redis servers for tests, each on a free port and in a folder of its own.
package redistest

import (
	"context"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
)

// Server is a redis-server that belongs to a test.
type Server struct {
	Addr string // host:port

	t       testing.TB
	dir     string
	args    []string
	env     []string
	command *exec.Cmd
	clock   string // the file that moves its clock
	ahead   time.Duration
}

// Start starts a server; args are further arguments, for example "--appendonly", "yes". The test fails if there is no
// redis-server: install Debian's redis-server package.
func Start(t testing.TB, args ...string) *Server {
	t.Helper()
	return start(t, "", nil, args...)
}

func start(t testing.TB, clock string, env []string, args ...string) *Server {
	t.Helper()
	s := &Server{t: t, clock: clock, env: env, dir: t.TempDir(), Addr: "127.0.0.1:" + strconv.Itoa(freePort(t))}
	_, port, _ := net.SplitHostPort(s.Addr)
	s.args = append([]string{
		"--port", port, "--bind", "127.0.0.1", "--dir", s.dir, "--save", "", "--daemonize", "no", "--logfile", filepath.Join(s.dir, "log"),
	}, args...)
	s.Run()
	t.Cleanup(s.Kill)
	return s
}

// FreePort returns a port that no other test takes until this test ends.
func FreePort(t testing.TB) string { return strconv.Itoa(freePort(t)) }

// freePort returns a port that is reserved for the test until it ends, together with the port 10,000 above it, which a cluster's server
// uses too. Neither is in the system's range for outgoing connections (from 32768). The test listens at a port 5,000 above it, to show
// tests of all processes that the port is taken: between two runs of a server nothing listens at the port itself.
func freePort(t testing.TB) int {
	t.Helper()
	for range 1000 {
		port := 10000 + rand.IntN(5000)
		taken, err := listen(port + 5000)
		if err != nil {
			continue
		}
		if isFree(port) && isFree(port+10000) {
			t.Cleanup(func() { taken.Close() }) // nothing is ever sent there
			return port
		}
		taken.Close() // the same
	}
	t.Fatal("no free port")
	return 0
}

func listen(port int) (net.Listener, error) {
	return net.Listen("tcp", "127.0.0.1:"+strconv.Itoa(port))
}

func isFree(port int) bool {
	l, err := listen(port)
	if err != nil {
		return false
	}
	return l.Close() == nil
}

// URL returns redis://host:port.
func (s *Server) URL() string { return "redis://" + s.Addr }

// Folder returns the folder of the server's files.
func (s *Server) Folder() string { return s.dir }

// Run starts the server again after Kill, on the same data, and returns when it answers.
func (s *Server) Run() {
	s.t.Helper()
	s.command = exec.Command("redis-server", s.args...)
	s.command.Env = append(os.Environ(), s.env...)
	if err := s.command.Start(); err != nil {
		s.t.Fatalf("start redis-server (install the package redis-server): %v", err)
	}
	client := redis.NewClient(&redis.Options{Addr: s.Addr, DisableIdentity: true})
	defer client.Close() // it is only asked whether the server is there
	for deadline := time.Now().Add(20 * time.Second); ; {
		if err := client.Ping(context.Background()).Err(); err == nil {
			return
		} else if time.Now().After(deadline) {
			s.t.Fatalf("redis-server does not answer: %v", err)
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// Kill ends the server immediately, as kill -9 does.
func (s *Server) Kill() {
	if s.command.Process != nil {
		s.command.Process.Kill() // it may be gone
		s.command.Wait()         // it was killed on purpose
	}
}

// Process returns the server's process id.
func (s *Server) Process() int { return s.command.Process.Pid }

// Cluster starts servers that form a cluster without replicas, and returns its URL.
func Cluster(t testing.TB, n int) string {
	t.Helper()
	servers := make([]*Server, n)
	addrs := make([]string, n)
	for i := range servers {
		servers[i] = Start(t, "--cluster-enabled", "yes", "--cluster-node-timeout", "1000")
		addrs[i] = servers[i].Addr
	}
	args := append([]string{"--cluster", "create"}, addrs...)
	out, err := exec.Command("redis-cli", append(args, "--cluster-yes")...).CombinedOutput()
	if err != nil {
		t.Fatalf("make a cluster: %v\n%s", err, out)
	}
	waitForCluster(t, addrs)
	return "redis+cluster://" + addrs[0] + "?addr=" + strings.Join(addrs[1:], "&addr=")
}

func waitForCluster(t testing.TB, addrs []string) {
	t.Helper()
	for _, addr := range addrs {
		client := redis.NewClient(&redis.Options{Addr: addr, DisableIdentity: true})
		for deadline := time.Now().Add(30 * time.Second); ; {
			info, err := client.ClusterInfo(context.Background()).Result()
			if err == nil && strings.Contains(info, "cluster_state:ok") {
				break
			}
			if time.Now().After(deadline) {
				t.Fatalf("the cluster does not form: %v\n%s", err, info)
			}
			time.Sleep(20 * time.Millisecond)
		}
		client.Close() // it was only to ask
	}
}
