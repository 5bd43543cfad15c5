package tasks

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"maps"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/swrun/swrun/dsl"
	"github.com/swrun/swrun/errors"
	"github.com/swrun/swrun/expr"
	"github.com/swrun/swrun/internal/container"
	"github.com/swrun/swrun/internal/lazyregexp"
	"github.com/swrun/swrun/interpreter"
	"github.com/swrun/swrun/limits"
)

// Containers is the engine for containers, and the parts of its machine that they may use.
type Containers struct {
	Engine *container.Engine
	// Volumes are the folders, and the names of volumes, that containers may use; / is all of them.
	Volumes []string
}

func runContainer(c Config) interpreter.Kind {
	return told(interpreter.Kind{Kind: dsl.KindRunContainer, Compile: compileRunContainer, Perform: c.performContainer})
}

func compileRunContainer(b *interpreter.Builder, t dsl.Task) interpreter.Body {
	task := t.(*dsl.RunContainer)
	at := task.Pointer.Key("run").Key("container")
	r := &runContainerBody{
		processBody: compileProcessNeeding(b, interpreter.NeedContainers, task.RunBase, task.Process), task: task,
		image: b.Value(task.Image), command: b.Value(task.Command), name: b.Value(task.Container), after: b.Duration(task.CleanupAfter),
	}
	for _, name := range slices.Sorted(maps.Keys(task.Ports)) {
		p, err := parsePort(name, task.Ports[name])
		if err != "" {
			b.Report("SW804", at.Key("ports").Key(name), err)
		}
		r.ports = append(r.ports, p)
	}
	for _, source := range slices.Sorted(maps.Keys(task.Volumes)) {
		m, err := parseMount(source, task.Volumes[source])
		if err != "" {
			b.Report("SW804", at.Key("volumes").Key(source), err)
			continue
		}
		r.mounts = append(r.mounts, m)
		b.Needs(interpreter.NeedVolume(m.Source))
	}
	return r
}

type runContainerBody struct {
	processBody
	task                 *dsl.RunContainer
	image, command, name *expr.Template
	after                *interpreter.Duration
	ports                []container.Port
	mounts               []container.Mount
}

type containerRequest struct {
	processRequest
	Image   string            `json:"image"`
	Name    string            `json:"name,omitempty"`
	Command string            `json:"command,omitempty"`
	Pull    string            `json:"pull"`
	Cleanup string            `json:"cleanup"`
	After   time.Duration     `json:"after,omitempty"`
	Ports   []container.Port  `json:"ports,omitempty"`
	Mounts  []container.Mount `json:"mounts,omitempty"`
	// Workflow and Namespace of the document are parts of the container's name.
	Workflow  string `json:"workflow"`
	Namespace string `json:"namespace"`
}

func (r *runContainerBody) Enter(s *interpreter.Scope) interpreter.Next {
	prepared, err := r.prepare(s)
	if err != nil {
		return interpreter.Fail(err)
	}
	prepared.Arguments = append(prepared.Arguments, pairs(r.names(prepared.Globals), prepared.Globals)...)
	prepared.Globals = nil
	d := s.Workflow().Document
	request := containerRequest{
		processRequest: prepared, Pull: r.task.PullPolicy, Cleanup: r.task.Cleanup,
		Ports: r.ports, Mounts: r.mounts, Workflow: d.Name, Namespace: d.Namespace,
	}
	if err := r.fill(s, &request); err != nil {
		return interpreter.Fail(err)
	}
	if r.after != nil {
		after, err := span(s, r.after)
		if err != nil {
			return interpreter.Fail(err)
		}
		request.After = after
	}
	return r.next(s, request)
}

// fill evaluates the description of the container.
func (r *runContainerBody) fill(s *interpreter.Scope, request *containerRequest) (err *errors.Error) {
	if request.Image, err = evalText(s, r.image, "the image"); err != nil {
		return err
	}
	if r.command != nil {
		if request.Command, err = evalText(s, r.command, "the command"); err != nil {
			return err
		}
		if strings.Contains(request.Command, nul) {
			return s.WithExpression(errors.Expressionf("the command must not hold the character NUL"), r.command)
		}
	}
	if r.name == nil {
		return nil
	}
	if request.Name, err = evalText(s, r.name, "the name"); err != nil {
		return err
	}
	if !containerName().MatchString(request.Name) {
		return s.WithExpression(errors.Expressionf("%q is no name of a container: letters, digits, _, . and -, not one of the last three first", request.Name), r.name)
	}
	return nil
}

func (r *runContainerBody) Finish(s *interpreter.Scope, result any) interpreter.Next {
	return r.finish(s, result)
}

var (
	containerName = lazyregexp.New(`^[a-zA-Z0-9][a-zA-Z0-9_.-]{1,127}$`)
	notInName     = lazyregexp.New(`[^a-zA-Z0-9_.-]+`)
	portName      = lazyregexp.New(`^[0-9]{1,5}(/(tcp|udp|sctp))?$`)
)

// parsePort reads a port of the container, and the port of the machine at which it is published, with or without an address before it.
func parsePort(name string, value any) (p container.Port, problem string) {
	p = container.Port{Container: name, Host: stringify(value)}
	if i := strings.LastIndexByte(p.Host, ':'); i >= 0 {
		p.Address, p.Host = strings.Trim(p.Host[:i], "[]"), p.Host[i+1:]
	}
	number, err := strconv.ParseUint(p.Host, 10, 16)
	inside, _, _ := strings.Cut(name, "/")
	_, outOfRange := strconv.ParseUint(inside, 10, 16)
	switch {
	case !portName().MatchString(name) || outOfRange != nil:
		return p, fmt.Sprintf("`%s` is no port of a container: write 80, 80/tcp or 53/udp", name)
	case err != nil:
		return p, fmt.Sprintf("`%s` is no port of the machine: write 8080 or 127.0.0.1:8080, 0 for a free one", stringify(value))
	}
	p.Host = strconv.FormatUint(number, 10)
	return p, ""
}

// parseMount reads a folder of the machine or the name of a volume, and its path in the container.
func parseMount(source string, value any) (m container.Mount, problem string) {
	m = container.Mount{Source: source, Target: stringify(value), Volume: !strings.HasPrefix(source, "/")}
	m.Target, m.ReadOnly = strings.CutSuffix(m.Target, ":ro")
	switch {
	case m.Volume && !containerName().MatchString(source):
		return m, fmt.Sprintf("`%s` is neither a folder, which begins with /, nor the name of a volume", source)
	case !path.IsAbs(m.Target) || strings.Contains(m.Target, ":"):
		return m, fmt.Sprintf("`%s` is no place in a container: write /data, or /data:ro to keep it from being written", stringify(value))
	}
	if !m.Volume {
		m.Source = path.Clean(source)
	}
	return m, ""
}

// errNoContainers is the error of a task if containers are not granted.
func errNoContainers() *errors.Error {
	return errors.Configurationf("running containers is not granted here; a worker grants it with --allow-containers, a Go program with Host.Containers")
}

func (c Config) performContainer(ctx context.Context, r interpreter.Request) (any, error) {
	var request containerRequest
	if err := json.Unmarshal(r.Body, &request); err != nil {
		return nil, err
	}
	if c.Containers == nil {
		return nil, errNoContainers()
	}
	for _, m := range request.Mounts {
		if !c.Containers.allows(m) {
			return nil, errors.Configurationf("containers may not have %s of this machine; a worker grants it with --allow-volume, a Go program with Host.Containers", m.Source)
		}
	}
	end, err := c.Containers.Engine.Run(ctx, c.containerJob(request, r))
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	var refused *container.RefusedError
	var limit *container.LimitError
	var unreachable *container.UnreachableError
	switch {
	case errors.As(err, &refused):
		return nil, errors.Configurationf("%s", refused)
	case errors.As(err, &limit):
		return nil, limits.Exceeded(limits.Name(limit.Stream))
	case errors.As(err, &unreachable):
		return nil, errors.Communicationf("%s", unreachable)
	case err != nil:
		return nil, err
	}
	return ended{end.ExitCode, string(end.Stdout), string(end.Stderr)}.result(request.Return)
}

func (c Config) containerJob(request containerRequest, r interpreter.Request) container.Job {
	j := container.Job{
		Key: r.Key, Name: request.Name, Image: request.Image, Pull: container.Pull(request.Pull), Stdin: request.Stdin,
		Environment: request.Environment, Ports: request.Ports, Mounts: request.Mounts, Cleanup: container.Cleanup(request.Cleanup), After: request.After,
		KillAfter: c.killAfter(), MaxOutput: limits.Set{}.Max(limits.Stdout), Deadline: r.Deadline,
		Labels: map[string]string{"swrun.run": request.Namespace + "/" + r.Instance, "swrun.task": string(r.Pointer)},
	}
	if j.Arguments = request.Arguments; request.Command != "" {
		argv := shellArgv(request.Command, request.Arguments)
		j.Command, j.Arguments = argv[:1], argv[1:]
	}
	if j.Name == "" {
		j.Name = defaultName(request, r)
	}
	return j
}

// defaultName returns {workflow}-{uuid}.{namespace}-{task} (semantics 10.6). The UUID belongs to the effect, so that the engine itself prevents two
// attempts from running at the same time.
func defaultName(request containerRequest, r interpreter.Request) string {
	sum := sha256.Sum256([]byte(r.Key))
	id, _ := uuid.FromBytes(sum[:16]) // 16 bytes are always a UUID
	task := string(r.Pointer)
	name := fmt.Sprintf("%s-%s.%s-%s", request.Workflow, id, request.Namespace, task[strings.LastIndexByte(task, '/')+1:])
	return strings.TrimLeft(notInName().ReplaceAllString(name, "_"), "_.-")
}

// allows reports whether containers may use the source of a mount. A folder must be below a granted folder after all links are followed, as far as
// the engine runs on this machine.
func (c *Containers) allows(m container.Mount) bool {
	if slices.Contains(c.Volumes, "/") {
		return true
	}
	if m.Volume {
		return slices.Contains(c.Volumes, m.Source)
	}
	real, err := filepath.EvalSymlinks(m.Source)
	if err != nil {
		real = m.Source
	}
	return within(c.Volumes, m.Source) && within(c.Volumes, real)
}

// within reports whether a path is one of some folders, or in one of them.
func within(folders []string, p string) bool {
	return slices.ContainsFunc(folders, func(folder string) bool {
		real, err := filepath.EvalSymlinks(folder)
		return interpreter.VolumeWithin(folder, p) || err == nil && interpreter.VolumeWithin(real, p)
	})
}
