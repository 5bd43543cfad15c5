package swrun

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"runtime"
	"runtime/debug"
	"slices"

	"github.com/swrun/swrun/dsl"
	"github.com/swrun/swrun/errors"
	"github.com/swrun/swrun/expr"
	"github.com/swrun/swrun/internal/machine"
	"github.com/swrun/swrun/interpreter"
	"github.com/swrun/swrun/limits"
	"github.com/swrun/swrun/process"
	"github.com/swrun/swrun/runtime/definition"
	"github.com/swrun/swrun/runtime/presence"
	"github.com/swrun/swrun/tasks"
)

// Host specifies which parts of this program and its machine workflows may use. The zero value is for documents that you trust: their calls reach the
// whole network. They cannot start processes, and have no secrets.
type Host struct {
	// Secrets returns the value of a secret. It is called when a task needs the secret; nil provides no secrets. See Secrets.
	Secrets func(name string) (value any, ok bool)
	// FormerSecrets returns the former values of a secret in this process. Tasks that began with them may still name them, and they are hidden too. Nil
	// is for secrets that do not change. See Secrets.Former.
	FormerSecrets func(name string) []any
	// AllowSecret reports whether workflows of a namespace may use a secret: a task of any other namespace that names it fails with `authorization`. Nil
	// lets all workflows use all secrets. See Secrets.Allows.
	AllowSecret func(namespace, name string) bool
	// Calls performs `call` tasks in Go, by the value of `call`: a protocol, such as http or grpc, or the name of a function of the default catalog as
	// documents write it, such as charge:1.0.0@default. A document that names a function which is not here is refused. A run in a store waits for a
	// process that has all performers of its document; its deadlines hold during that wait.
	Calls map[string]Performer
	// Catalog is the default catalog, a folder or a URL: the function log:1.0.0@default is in its file functions/log/1.0.0/function.yaml. Functions are
	// read when a document is loaded or deployed, and kept with it. Empty is no catalog.
	Catalog string
	// Functions returns the files of a function of the default catalog, name:version, that Catalog does not have: its definition as function.yaml, and
	// the files to which it refers. The error of a missing function wraps fs.ErrNotExist. Nil provides no functions, but an Engine also has the
	// functions that are deployed in its store.
	Functions func(ctx context.Context, named string) (map[string][]byte, error)
	// Network is the policy for the addresses of calls: NetworkAny (also if empty), NetworkPublic, NetworkDeny, or address prefixes besides public
	// addresses, such as 10.0.0.0/8,fd00::/8. An Engine on a Redis never lets calls reach that Redis.
	Network string
	// Proxy is the URL of the proxy that calls by HTTP go through, ProxyNone for no proxy. A named proxy decides which names are reached; Network then
	// restricts addresses only, and NetworkDeny still denies all. If Proxy is empty, HTTP_PROXY, HTTPS_PROXY and NO_PROXY of the environment count, but
	// only if Network is NetworkAny: a proxy dials in the place of this program, so that no other policy could be enforced.
	Proxy string
	// Processes runs shell commands and scripts. It is the result of Supervise. Nil refuses them.
	Processes *process.Pool
	// Containers lets tasks run containers; nil refuses them.
	Containers *Containers
	// Node runs JavaScript with Node from PATH instead of the embedded engine.
	Node bool
	// Files lets tasks read files whose location is known only at run time. A file that the document itself names is read when the document is loaded.
	Files bool
	// Publish receives the events that workflows emit; nil drops them. If it returns an error, or panics, a run in memory ends with that error; a run in
	// a store continues, and its event is published again until there is no error.
	Publish func(ctx context.Context, event map[string]any) error

	// ErrorBase is the base of the standard types of errors that tasks raise: errors.Base (also if empty), or another base under which they are
	// published. Filters know them all.
	ErrorBase string
	// ErrorAliases maps old types of errors to the types as which they are read where errors are caught and runs are listed. Old types occur in runs
	// that began before a type was renamed, and in errors of services that still use them.
	ErrorAliases errors.Aliases

	Limits limits.Set   // the zero value is the defaults
	Memory int64        // maximum size of all answers of calls, in bytes; default a quarter of the machine's memory
	Log    *slog.Logger // default: no log
}

// Check returns an *OptionError if h contains an invalid option. Every function that takes a Host checks it too.
func (h Host) Check() error {
	e, err := h.environment(0, nil)
	if err == nil {
		e.close()
	}
	return err
}

// grants returns the grants to tasks.
func (h *Host) grants() presence.Grants {
	return presence.Grants{
		Processes: h.Processes != nil, Containers: h.Containers != nil, Volumes: h.Containers.volumes(),
		Files: h.Files, Network: cmp.Or(h.Network, NetworkAny), Calls: slices.Sorted(maps.Keys(h.Calls)),
	}
}

// environment is a Host that has been checked.
type environment struct {
	host      Host
	calls     calls
	transport *http.Transport
	dial      tasks.Dial
	proofs    *tasks.Credentials // of calls, for all workflows
	places    *expr.Places       // of evaluations
	reaches   func(address string) bool
	engine    *tasks.Containers                                     // runs containers; nil for no containers
	scripts   *tasks.ScriptHost                                     // runs scripts here
	publish   func(ctx context.Context, event map[string]any) error // of runs in memory; a worker publishes the stored events
}

// close closes idle connections.
func (e *environment) close() {
	e.transport.CloseIdleConnections()
	e.proofs.Close()
	if e.engine != nil {
		e.engine.Engine.Close()
	}
}

// environment checks the configuration. Connections is the expected number of concurrent calls; 0 for a small number. Places are the addresses of the
// store, if there is one: no grant includes them.
func (h Host) environment(connections int, places storePlaces) (*environment, error) {
	control, err := networkControl(h.Network)
	if err != nil {
		return nil, err
	}
	if err := (calls{performers: h.Calls}).check(); err != nil {
		return nil, err
	}
	if h.ErrorBase != "" && !errors.IsBase(h.ErrorBase) {
		return nil, &OptionError{"ErrorBase", fmt.Sprintf("must be a base under which the standard types are published, such as %s or %s, got %q", errors.Base, errors.BaseOpenWorkflow, h.ErrorBase)}
	}
	if err := h.ErrorAliases.Check(); err != nil {
		return nil, &OptionError{"ErrorAliases", "are wrong: " + err.Error()}
	}
	if h.Memory < 0 {
		return nil, &OptionError{"Memory", fmt.Sprintf("must not be negative, got %d", h.Memory)}
	}
	if h.Memory == 0 {
		h.Memory = machine.Memory() / 4
	}
	if h.Log == nil {
		h.Log = slog.New(slog.DiscardHandler)
	}
	if publish := h.Publish; publish != nil {
		h.Publish = func(ctx context.Context, event map[string]any) error {
			return withoutPanic(h.Log, "Host.Publish", func() error { return publish(ctx, event) })
		}
	}
	reaching := tasks.TransportConfig{Control: withoutStore(places, control), Connections: connections}
	if err := h.proxies(&reaching, places, control); err != nil {
		return nil, err
	}
	dial, transport := connect(h.Network, reaching)
	return &environment{
		host: h, scripts: &tasks.ScriptHost{Node: h.Node}, engine: h.Containers.engine(h.Log),
		calls:   calls{performers: h.Calls, log: h.Log, catalog: h.Catalog, deployed: h.Functions != nil},
		reaches: reaches(h.Network, reaching.Control),
		dial:    dial, transport: transport, proofs: &tasks.Credentials{}, places: expr.NewPlaces(max(2, runtime.GOMAXPROCS(0))),
	}, nil
}

// secretsOf returns the secrets that workflows of a namespace may use, and a function that reports whether a secret is refused to them.
func (e *environment) secretsOf(namespace string) (secrets interpreter.Secrets, refuses func(name string) bool) {
	allow := e.host.AllowSecret
	if e.host.Secrets == nil || allow == nil {
		return e.host.Secrets, nil
	}
	secrets = func(name string) (any, bool) {
		if !allow(namespace, name) {
			return nil, false
		}
		return e.host.Secrets(name)
	}
	return secrets, func(name string) bool { return !allow(namespace, name) }
}

// formerOf returns the former values of the secrets that are not refused.
func (e *environment) formerOf(refuses func(name string) bool) func(name string) []any {
	former := e.host.FormerSecrets
	if former == nil || refuses == nil {
		return former
	}
	return func(name string) []any {
		if refuses(name) {
			return nil
		}
		return former(name)
	}
}

// loading is the context in which a document is compiled: the base of its relative references, its namespace, and the reader of its resources.
type loading struct {
	base, namespace string
	load            interpreter.Loader
}

// config returns the configuration with which documents are compiled here.
func (e *environment) config(of loading, performed calls) interpreter.Config {
	secrets, refuses := e.secretsOf(of.namespace)
	c := tasks.Config{
		Transport: e.transport, Dial: e.dial, Secrets: secrets,
		Load:      tasks.Loader(of.base, tasks.Sources{Transport: e.transport, Files: e.host.Files, Catalog: e.host.Catalog}),
		Processes: e.host.Processes, Publish: e.publish,
		ScriptHost: e.scripts, Containers: e.engine, Credentials: e.proofs,
	}
	return interpreter.Config{
		Kinds: performed.replace(tasks.All(c)), Secrets: secrets, FormerSecrets: e.formerOf(refuses), RefusesSecret: refuses, Load: of.load,
		Limits: e.host.Limits, Places: e.places, ErrorBase: e.host.ErrorBase, ErrorAliases: e.host.ErrorAliases,
		Runtime: map[string]any{"name": "swrun", "version": Version()},
	}
}

// grants returns the grants to tasks here.
func (e *environment) grants() presence.Grants {
	g := e.host.grants()
	g.Reaches = e.reaches
	g.Secret = func(name string) bool {
		if e.host.Secrets == nil {
			return false
		}
		_, ok := e.host.Secrets(name)
		return ok
	}
	if g.Processes {
		g.Languages = e.scripts.Languages
	}
	return g
}

// compileHere is compile for definitions that are not left to other workers.
func (e *environment) compileHere(d definition.Definition) (*interpreter.Program, error) {
	return e.compile(d, false)
}

// compile makes a definition ready to run: with its own resources, and nothing else that could change. A definition whose performers are missing here
// is compiled anyway: the program names the missing performers. If leaves is true, the program leaves tasks whose secrets are missing here to other
// workers.
func (e *environment) compile(d definition.Definition, leaves bool) (*interpreter.Program, error) {
	w, found := dsl.Parse(d.Name(), []byte(d.Document))
	if err := found.Err(); err != nil {
		return nil, err
	}
	c := e.config(loading{"definition", w.Document.Namespace, d.Load}, e.calls.orElsewhere())
	c.LeaveSecrets = leaves
	p, found := interpreter.Compile(w, c)
	return p, found.Err()
}

const module = "github.com/swrun/swrun"

// Version returns the version of this module that the program was built with.
func Version() string {
	const unknown = "(devel)"
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return unknown
	}
	version := info.Main.Version
	for _, d := range info.Deps {
		if d.Path == module {
			version = d.Version
		}
	}
	if version == "" {
		return unknown
	}
	return version
}

// OptionError is the error of an invalid option of a configuration, or of a missing argument.
type OptionError struct {
	Option string // its name, for example Network
	Detail string
}

func (e *OptionError) Error() string { return fmt.Sprintf("%s: %s", e.Option, e.Detail) }
