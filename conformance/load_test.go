package conformance

import (
	"context"
	"net"
	"strings"
	"sync"
	"testing"

	"github.com/swrun/swrun/dsl"
	"github.com/swrun/swrun/errors"
	"github.com/swrun/swrun/internal/container"
	"github.com/swrun/swrun/internal/enginetest"
	"github.com/swrun/swrun/interpreter"
	"github.com/swrun/swrun/process/processtest"
	"github.com/swrun/swrun/tasks"
)

// load parses, checks and compiles a document.
func load(file, text string, config interpreter.Config) (*interpreter.Program, dsl.Diagnostics) {
	w, diagnostics := dsl.Parse(file, []byte(text))
	if diagnostics.Err() == nil {
		diagnostics = append(diagnostics, interpreter.Check(w)...)
	}
	if diagnostics.Err() != nil {
		return nil, diagnostics.Errors()
	}
	p, found := interpreter.Compile(w, config)
	return p, found.Errors()
}

// processes runs the commands and scripts of all cases.
var processes = sync.OnceValue(processtest.NewPool)

// brokers are for all cases.
var brokers = newStandInBrokers()

// outside is the outside world of a case, in both directions.
type outside struct {
	config interpreter.Config

	worker func() []interpreter.Kind // the kinds of another worker; nil if they are the same as this worker's

	mu     sync.Mutex
	events []any // emitted events
	conns  []net.Conn
}

// dialEngine connects to an engine of containers.
type dialEngine func(ctx context.Context) (net.Conn, error)

// containers returns an engine that connects by the given function, and the grants of containers on this machine.
func containers(engine dialEngine) *tasks.Containers {
	return &tasks.Containers{Engine: container.New(container.Config{Dial: engine}), Volumes: []string{"/"}}
}

// newOutside returns an outside in which the files of a case are external resources, and containers are processes of this machine.
func newOutside(files map[string]string) *outside {
	return newOutsideWith(files, enginetest.New().Dial)
}

func newOutsideWith(files map[string]string, engine dialEngine) *outside {
	o, feed := &outside{}, newFeed(files)
	fetch := tasks.Loader("workflow.yaml", tasks.Sources{Transport: standIn()})
	read := func(ctx context.Context, uri string) (found interpreter.Resource, err error) {
		if text, ok := files[strings.TrimPrefix(uri, "http://files.test/")]; ok {
			found.Data = []byte(text)
			return found, nil
		}
		if uri == "app/greet.proto" { // used by the specification's example
			found.Data = []byte(greeterDocument)
			return found, nil
		}
		if strings.Contains(uri, "://") {
			return fetch(ctx, uri)
		}
		return found, errors.New("there is no such file")
	}
	config := tasks.Config{
		Transport: standIn(), Dial: o.dial, Processes: processes(), Containers: containers(engine), Secrets: secrets, Publish: o.publish, Load: feed.naming(read),
	}
	worker := func() []interpreter.Kind { return feed.feeding(tasks.All(config)) }
	if feed.survivesReconnecting() {
		o.worker = worker
	}
	o.config = interpreter.Config{
		Kinds:   worker(),
		Secrets: secrets,
		Runtime: map[string]any{"name": "swrun", "version": "test"},
		Load:    read,
	}
	return o
}

// dial connects, until the worker is lost.
func (o *outside) dial(ctx context.Context, network, address string) (net.Conn, error) {
	conn, err := dialOutside(ctx, network, address)
	if err == nil {
		o.mu.Lock()
		defer o.mu.Unlock()
		o.conns = append(o.conns, conn)
	}
	return conn, err
}

// lose closes the connections of the worker, and replaces its kinds of tasks as another worker would.
func (o *outside) lose() {
	if o.worker == nil {
		return
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, conn := range o.conns {
		conn.Close() // it may be closed already
	}
	o.conns, o.config.Kinds = nil, o.worker()
}

func (o *outside) publish(_ context.Context, event map[string]any) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.events = append(o.events, event)
	return nil
}

// secrets returns the secrets that cases may use.
func secrets(name string) (any, bool) {
	if v, ok := oauthSecrets()[name]; ok {
		return v, true
	}
	v, ok := map[string]any{
		"api":   map[string]any{"username": "ada", "password": "lovelace", "token": "t0ken"},
		"plain": "s3cret",
		"words": map[string]any{ // words that any document and any data may contain
			"scheme": "https", "kind": "timeout", "errors": "errors", "database": "orders", "user": "admin", "user2": "orders", "port": 5432,
			"on": "true", "one": "1", "format": "json", "name": "name", "input": "input", "namespace": "test", "root": "/do/",
		},
	}[name]
	return v, ok
}

// mustProgram loads the case's document, which must have no errors.
func (c testCase) mustProgram(t *testing.T, o *outside) *interpreter.Program {
	t.Helper()
	p, diagnostics := load("workflow.yaml", c.files["workflow.yaml"], o.config)
	if err := diagnostics.Err(); err != nil {
		t.Fatal(err)
	}
	return p
}

// workflows finds the other documents of the case.
func (c testCase) workflows(o *outside) func(namespace, name, version string) (*interpreter.Program, *errors.Error) {
	return func(_, name, _ string) (*interpreter.Program, *errors.Error) {
		text, ok := c.files[name+".child.yaml"]
		if !ok {
			return nil, errors.Configurationf("the workflow %s is not known here", name)
		}
		p, diagnostics := load(name+".child.yaml", text, o.config)
		if diagnostics.Err() != nil {
			return nil, errors.Configurationf("%s", diagnostics)
		}
		return p, nil
	}
}
