package swrun

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"runtime/debug"
	"slices"

	"github.com/swrun/swrun/dsl"
	"github.com/swrun/swrun/errors"
	"github.com/swrun/swrun/internal/machine"
	"github.com/swrun/swrun/interpreter"
	"github.com/swrun/swrun/limits"
	"github.com/swrun/swrun/process"
	"github.com/swrun/swrun/runtime/definition"
	"github.com/swrun/swrun/runtime/presence"
	"github.com/swrun/swrun/tasks"
)

// Host is what workflows may use of this program and its machine. The zero value is for documents that you trust: their calls
// reach the whole network. They cannot start processes, and have no secrets.
type Host struct {
	// Secrets returns a secret's value, which is read when it is needed; nil has none. See Secrets.
	Secrets func(name string) (value any, ok bool)
	// FormerSecrets returns the values that a secret had before while the program ran: tasks that have begun with them may still name them, and
	// they are hidden too. Nil is for secrets that do not change. See Secrets.Former.
	FormerSecrets func(name string) []any
	// AllowSecret reports whether workflows of a namespace may use a secret: a task of any other one that names it fails with `authorization`. Nil lets all
	// workflows use all secrets. See Secrets.Allows.
	AllowSecret func(namespace, name string) bool
	// Calls performs `call` tasks in Go, by the value of `call`: a protocol, such as http or grpc, or the name of a function of the
	// default catalog as documents write it, such as charge:1.0.0@default. A document that names one that is not here is refused. A
	// run in a store waits for a process that has all performers of its document; its deadlines hold meanwhile.
	Calls map[string]Performer
	// Catalog is the default catalog, a folder or a URL: the function log:1.0.0@default is in its file functions/log/1.0.0/function.yaml.
	// Functions are read when a document is loaded or deployed, and kept with it. Empty has none.
	Catalog string
	// Functions returns the files of a function of the default catalog, name:version, that Catalog does not have: its definition as function.yaml, and what
	// that refers to. The error of one that is not there wraps fs.ErrNotExist. Nil has none, but an Engine has those that are deployed in its store.
	Functions func(ctx context.Context, named string) (map[string][]byte, error)
	// Network is what calls may reach: NetworkAny (also if empty), NetworkPublic, NetworkDeny, or address prefixes besides public
	// addresses, such as 10.0.0.0/8,fd00::/8. An Engine on a Redis never lets them reach that.
	Network string
	// Proxy is the URL of the proxy that calls by HTTP go through, ProxyNone for none. Where it is named, it decides what is reached by a name; Network is held to
	// addresses only, and NetworkDeny still denies all. If it is empty, HTTP_PROXY, HTTPS_PROXY and NO_PROXY of the environment count, but only if Network is NetworkAny: a
	// proxy dials in the place of this program, so that no policy could be held to.
	Proxy string
	// Processes runs shell commands and scripts: what Supervise has returned. Nil refuses them.
	Processes *process.Pool
	// Containers lets tasks run containers; nil refuses them.
	Containers *Containers
	// Node runs JavaScript with Node from PATH instead of the embedded engine.
	Node bool
	// Files lets tasks read files whose location only a run knows. What stands in the document itself is read when it is loaded.
	Files bool
	// Publish takes the events that workflows emit; nil drops them. If it returns an error, or panics, a run in memory ends with that
	// error; a run in a store goes on, and its event is published again until there is no error.
	Publish func(ctx context.Context, event map[string]any) error

	// ErrorBase is the base of the standard types of errors that tasks raise: errors.Base, also if empty, or another one under which they are
	// published. Filters know them all.
	ErrorBase string
	// ErrorAliases are old types of errors, each with the type that it is read as where errors are caught and runs are listed: those of
	// runs that go on since before a type was renamed, or of services that still use it.
	ErrorAliases errors.Aliases

	Limits limits.Set   // the zero value is the defaults
	Memory int64        // bytes that all answers of calls may take; default a quarter of the machine's memory
	Log    *slog.Logger // default discards
}

// Check returns an *OptionError if something in h is not allowed. Whatever takes a Host checks it too.
func (h Host) Check() error {
	e, err := h.environment(0, nil)
	if err == nil {
		e.close()
	}
	return err
}

// grants returns what tasks may use.
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
	proofs    *tasks.Credentials // that calls have got, of whatever workflow
	reaches   func(address string) bool
	engine    *tasks.Containers                                     // where containers run; nil for nowhere
	scripts   *tasks.ScriptHost                                     // what runs them here
	publish   func(ctx context.Context, event map[string]any) error // of runs in memory; a worker publishes what is stored
}

// close lets go of connections that nobody uses.
func (e *environment) close() {
	e.transport.CloseIdleConnections()
	e.proofs.Close()
	if e.engine != nil {
		e.engine.Engine.Close()
	}
}

// environment checks the configuration. Connections is how many calls there may be at a time; 0 for not many. Places are those of the store, if there is
// one: nothing that is granted reaches them.
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
		dial:    dial, transport: transport, proofs: &tasks.Credentials{},
	}, nil
}

// secretsOf returns the secrets that workflows of a namespace may use, and whether one is refused to them.
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

// loading is what a document is compiled with: where its relative references start, in which namespace it is, and what reads its resources.
type loading struct {
	base, namespace string
	load            interpreter.Loader
}

// config returns how documents are compiled here.
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
		Limits: e.host.Limits, ErrorBase: e.host.ErrorBase, ErrorAliases: e.host.ErrorAliases,
		Runtime: map[string]any{"name": "swrun", "version": Version()},
	}
}

// grants returns what tasks may use here.
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

// compileHere is compile for what is not left to other workers.
func (e *environment) compileHere(d definition.Definition) (*interpreter.Program, error) {
	return e.compile(d, false)
}

// compile makes a definition ready to run: with its own resources, and nothing else that could change. Performers that are missing
// here do not keep it from that: the program says which.
// If leaves is true, it leaves tasks to other workers whose secrets are missing here.
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

// OptionError is an invalid option of a configuration, or an argument that is missing.
type OptionError struct {
	Option string // its name, for example Network
	Detail string
}

func (e *OptionError) Error() string { return fmt.Sprintf("%s: %s", e.Option, e.Detail) }
