// Package enginetest serves the Docker Engine API for tests: its containers are processes of this machine, in the folder of the test, with their own
// environment. Images are names; Images specifies their default commands.
package enginetest

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

// Engine is a container engine. Its fields may be set before its first use.
type Engine struct {
	Images    map[string][]string // available images, with their default commands
	Pullable  map[string][]string // images that can be pulled
	Intercept func(w http.ResponseWriter, r *http.Request, what string) bool

	once  sync.Once
	calls chan net.Conn

	mu         sync.Mutex
	last       int
	containers map[string]*Container
	pulls      int
}

// Container is a container of the engine.
type Container struct {
	ID, Name, Image string
	Labels          map[string]string
	State           string // created, running or exited
	ExitCode        int
	FinishedAt      time.Time
	Request         Request

	argv    []string
	command *exec.Cmd
	output  net.Conn
	log     *bytes.Buffer // the frames of the output
	stdin   *os.File
	ended   chan struct{}
}

// Request is the relevant part of a container's creation request.
type Request struct {
	Image           string
	Entrypoint, Cmd []string
	Env             []string
	OpenStdin       bool
	Labels          map[string]string
	HostConfig      struct {
		PortBindings map[string][]struct{ HostIp, HostPort string } //nolint:revive // as the API has it
		Mounts       []struct {
			Type, Source, Target string
			ReadOnly             bool
		}
		Privileged bool
	}
}

// New returns an engine with the image hello-world, and alpine and busybox, which run commands of this machine.
func New() *Engine {
	hello := []string{"echo", "Hello from Docker!"}
	return &Engine{
		Images:     map[string][]string{"alpine": {"true"}, "busybox": {"true"}, "hello-world": hello},
		Pullable:   map[string][]string{"hello-world": hello, "pulled": {"echo", "pulled"}},
		containers: map[string]*Container{},
	}
}

// Dial connects to the engine.
func (e *Engine) Dial(ctx context.Context) (net.Conn, error) {
	e.once.Do(func() {
		e.calls = make(chan net.Conn)
		go func() { _ = e.server().Serve(listener{e.calls}) }() // for the lifetime of the test's process
	})
	here, there, err := pair()
	if err != nil {
		return nil, err
	}
	select {
	case e.calls <- there:
		return here, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// Listen serves the engine at a socket until stop is called.
func (e *Engine) Listen(path string) (stop func(), err error) {
	l, err := net.Listen("unix", path)
	if err != nil {
		return nil, err
	}
	return e.Serve(l), nil
}

// Serve serves the engine at a listener until stop is called.
func (e *Engine) Serve(l net.Listener) (stop func()) {
	server := e.server()
	go func() { _ = server.Serve(l) }() // until it is closed
	return func() { _ = server.Close() }
}

// All returns all containers.
func (e *Engine) All() []Container {
	e.mu.Lock()
	defer e.mu.Unlock()
	var all []Container
	for _, c := range e.containers {
		all = append(all, *c)
	}
	return all
}

// Pulls returns the number of pulled images.
func (e *Engine) Pulls() int {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.pulls
}

// listener accepts the connections of Dial.
type listener struct{ calls chan net.Conn }

func (l listener) Accept() (net.Conn, error) { return <-l.calls, nil }
func (l listener) Close() error              { return nil }
func (l listener) Addr() net.Addr            { return &net.UnixAddr{Name: "engine", Net: "unix"} }

// pair returns two ends of a connection, each of which can be closed for writing separately.
func pair() (here, there net.Conn, err error) {
	ends, err := syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, nil, err
	}
	var all [2]net.Conn
	for i, end := range ends {
		f := os.NewFile(uintptr(end), "engine")
		all[i], err = net.FileConn(f)
		_ = f.Close() // the connection has its own descriptor
		if err != nil {
			return nil, nil, err
		}
	}
	return all[0], all[1], nil
}

func (e *Engine) server() *http.Server {
	mux := http.NewServeMux()
	for pattern, handle := range map[string]http.HandlerFunc{
		"/_ping":                         e.ping,
		"GET /version":                   e.ping,
		"POST /images/create":            e.pull,
		"GET /images/{name...}":          e.image,
		"POST /containers/create":        e.create,
		"GET /containers/json":           e.list,
		"GET /containers/{name}/json":    e.inspect,
		"POST /containers/{name}/attach": e.attach,
		"POST /containers/{name}/start":  e.start,
		"GET /containers/{name}/logs":    e.logs,
		"POST /containers/{name}/wait":   e.wait,
		"POST /containers/{name}/stop":   e.stop,
		"DELETE /containers/{name}":      e.remove,
	} {
		what := pattern[strings.LastIndexByte(pattern, '/')+1:]
		if strings.HasPrefix(pattern, "DELETE") {
			what = "remove"
		}
		if strings.Contains(pattern, "/images/create") {
			what = "pull"
		}
		mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
			if e.Intercept == nil || !e.Intercept(w, r, what) {
				handle(w, r)
			}
		})
	}
	return &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if parts := strings.SplitN(r.URL.Path, "/", 3); len(parts) == 3 && strings.HasPrefix(parts[1], "v1.") {
			r.URL.Path = "/" + parts[2]
		}
		mux.ServeHTTP(w, r)
	})}
}

func (e *Engine) ping(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Api-Version", "1.45")
	w.Header().Set("Ostype", "linux")
	answer(w, http.StatusOK, map[string]string{"ApiVersion": "1.45", "MinAPIVersion": "1.24"})
}

func answer(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(v) // the caller may be gone
}

// Fail answers with an error in the form of engines.
func Fail(w http.ResponseWriter, status int, message string) {
	answer(w, status, map[string]string{"message": message})
}

func (e *Engine) pull(w http.ResponseWriter, r *http.Request) {
	name := strings.TrimPrefix(strings.TrimPrefix(r.URL.Query().Get("fromImage"), "docker.io/"), "library/")
	if tag := r.URL.Query().Get("tag"); tag != "" && tag != "latest" {
		name += ":" + tag
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	run, ok := e.Pullable[name]
	if strings.HasPrefix(name, "127.0.0.1:1/") {
		Fail(w, http.StatusInternalServerError, "dial tcp 127.0.0.1:1: connect: connection refused")
		return
	}
	if !ok {
		Fail(w, http.StatusNotFound, "pull access denied for "+name+", repository does not exist")
		return
	}
	e.pulls++
	e.Images[name] = run
	answer(w, http.StatusOK, map[string]string{"status": "Pulling from " + name})
}

func (e *Engine) image(w http.ResponseWriter, r *http.Request) {
	name := strings.TrimSuffix(r.PathValue("name"), "/json")
	e.mu.Lock()
	defer e.mu.Unlock()
	if _, ok := e.Images[name]; !ok {
		Fail(w, http.StatusNotFound, "No such image: "+name)
		return
	}
	answer(w, http.StatusOK, map[string]string{"Id": name})
}

func (e *Engine) create(w http.ResponseWriter, r *http.Request) {
	var request Request
	if err := json.NewDecoder(r.Body).Decode(&request); err != nil {
		Fail(w, http.StatusBadRequest, err.Error())
		return
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	run, ok := e.Images[request.Image]
	name := r.URL.Query().Get("name")
	switch {
	case !ok:
		Fail(w, http.StatusNotFound, "No such image: "+request.Image)
		return
	case e.find(name) != nil:
		Fail(w, http.StatusConflict, fmt.Sprintf("Conflict. The container name %q is already in use", "/"+name))
		return
	}
	for _, m := range request.HostConfig.Mounts {
		if _, err := os.Stat(m.Source); m.Type == "bind" && err != nil {
			Fail(w, http.StatusBadRequest, "invalid mount config for type \"bind\": bind source path does not exist: "+m.Source)
			return
		}
	}
	argv := append(append([]string{}, request.Entrypoint...), request.Cmd...)
	if len(argv) == 0 {
		argv = run
	}
	e.last++
	c := &Container{ID: strconv.Itoa(e.last), Name: name, Image: request.Image, Labels: request.Labels, State: "created", Request: request, argv: argv, log: &bytes.Buffer{}, ended: make(chan struct{})}
	e.containers[c.ID] = c
	answer(w, http.StatusCreated, map[string]any{"Id": c.ID, "Warnings": []string{}})
}

// find returns a container by its name or id; nil for an unknown one.
func (e *Engine) find(name string) *Container {
	if c, ok := e.containers[name]; ok {
		return c
	}
	for _, c := range e.containers {
		if name != "" && c.Name == name {
			return c
		}
	}
	return nil
}

// with answers for an existing container.
func (e *Engine) with(w http.ResponseWriter, r *http.Request, do func(*Container)) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if c := e.find(r.PathValue("name")); c != nil {
		do(c)
		return
	}
	Fail(w, http.StatusNotFound, "No such container: "+r.PathValue("name"))
}

func (e *Engine) list(w http.ResponseWriter, r *http.Request) {
	var filters map[string]map[string]bool
	_ = json.Unmarshal([]byte(r.URL.Query().Get("filters")), &filters) // no filter means all
	e.mu.Lock()
	defer e.mu.Unlock()
	all := []map[string]any{}
	for _, c := range e.containers {
		if c.has(filters["label"]) {
			all = append(all, map[string]any{"Id": c.ID, "Names": []string{"/" + c.Name}, "Labels": c.Labels, "State": c.State})
		}
	}
	answer(w, http.StatusOK, all)
}

func (c *Container) has(labels map[string]bool) bool {
	for label := range labels {
		name, value, exact := strings.Cut(label, "=")
		if got, ok := c.Labels[name]; !ok || exact && got != value {
			return false
		}
	}
	return true
}

func (e *Engine) inspect(w http.ResponseWriter, r *http.Request) {
	e.with(w, r, func(c *Container) {
		answer(w, http.StatusOK, map[string]any{
			"Id": c.ID, "Name": "/" + c.Name, "Config": map[string]any{"Labels": c.Labels},
			"HostConfig": map[string]any{"PortBindings": c.Request.HostConfig.PortBindings},
			"State":      map[string]any{"Status": c.State, "ExitCode": c.ExitCode, "FinishedAt": c.FinishedAt.Format(time.RFC3339Nano)},
		})
	})
}

// Frame returns a part of a stream in the form of attached connections and of logs.
func Frame(stream byte, data []byte) []byte {
	return append([]byte{stream, 0, 0, 0, byte(len(data) >> 24), byte(len(data) >> 16), byte(len(data) >> 8), byte(len(data))}, data...)
}
