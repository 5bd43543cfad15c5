package container

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/containerd/errdefs"
	"github.com/distribution/reference"
	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/api/types/jsonstream"
	"github.com/moby/moby/api/types/mount"
	"github.com/moby/moby/api/types/network"
	"github.com/moby/moby/client"
)

// Job is a container to run to its end.
type Job struct {
	Key       string // of the effect, which has at most one container at a time
	Name      string
	Image     string
	Pull      Pull
	Command   []string // instead of the image's entrypoint, if there is one
	Arguments []string
	Stdin     *string

	Environment map[string]string
	Ports       []Port
	Mounts      []Mount

	Cleanup   Cleanup
	After     time.Duration // of CleanupEventually
	KillAfter time.Duration // between SIGTERM and SIGKILL
	MaxOutput int           // bytes of each stream
	Deadline  time.Time     // zero for no deadline
	Labels    map[string]string
}

// Pull specifies when an image is fetched.
type Pull string

// The policies.
const (
	PullMissing Pull = "ifNotPresent"
	PullAlways  Pull = "always"
	PullNever   Pull = "never"
)

// Cleanup specifies the fate of a container after its end.
type Cleanup string

// The cleanups.
const (
	CleanupNever      Cleanup = "never"
	CleanupAlways     Cleanup = "always"
	CleanupEventually Cleanup = "eventually"
)

// Port publishes a port of the container.
type Port struct {
	Container string // 80 or 80/tcp
	Address   string // of the engine's machine; empty for all
	Host      string
}

// Mount gives the container a folder of the engine's machine, or a volume of the engine.
type Mount struct {
	Source, Target string
	Volume         bool
	ReadOnly       bool
}

// Run runs a job to its end. When ctx ends first, the container gets SIGTERM, and SIGKILL after KillAfter. Run then returns the cause after the end
// of the container, or when the engine no longer answers. An existing container with the same key is removed first, because the attempt that started
// it is lost.
func (e *Engine) Run(ctx context.Context, j Job) (End, error) {
	end, err := e.run(ctx, j)
	if err != nil && ctx.Err() != nil { // the end of ctx is then the cause, regardless of err
		return End{}, context.Cause(ctx)
	}
	return end, err
}

func (e *Engine) run(ctx context.Context, j Job) (End, error) {
	if _, err := reference.ParseNormalizedNamed(j.Image); err != nil {
		return End{}, &RefusedError{fmt.Sprintf("%q is no reference of an image: %s", short(j.Image), err)}
	}
	c, err := e.connect()
	if err != nil {
		return End{}, err
	}
	e.sweepFirst(ctx)
	defer e.performs(j.Key)()
	r := &running{client: c.answers, streams: c.streams, job: j, engine: e}
	if err := r.create(ctx); err != nil {
		r.forget()
		return End{}, err
	}
	defer r.leave()
	return r.run(ctx)
}

// running is one container.
type running struct {
	engine *Engine
	client *client.Client
	// streams is the client for requests without a limit as a whole.
	streams *client.Client
	job     Job
	id      string
	begun   start
	ended   bool
}

// start is the progress of the start of a container.
type start int

const (
	startRefused start = iota // or not tried: the container never runs
	startUnknown              // the engine has not answered
	startDone
)

// create makes the container, and fetches its image first if necessary.
func (r *running) create(ctx context.Context) error {
	if r.job.Pull == PullAlways {
		if err := r.pull(ctx); err != nil {
			return err
		}
	}
	err := r.createOnce(ctx)
	if errdefs.IsConflict(err) || errdefs.IsInternal(err) { // Podman before 4.4 answers this for a used name
		if err := r.replace(ctx); err != nil {
			return err
		}
		err = r.createOnce(ctx)
	}
	if errdefs.IsNotFound(err) && r.job.Pull == PullMissing && r.lacksImage(ctx) {
		if err := r.pull(ctx); err != nil {
			return err
		}
		err = r.createOnce(ctx)
	}
	if err != nil {
		return failed("a container of "+r.job.Image+" cannot be made", err)
	}
	return nil
}

func (r *running) lacksImage(ctx context.Context) bool {
	_, err := ask(ctx, func(ctx context.Context) (client.ImageInspectResult, error) {
		return r.client.ImageInspect(ctx, r.job.Image)
	})
	return errdefs.IsNotFound(err)
}

func (r *running) createOnce(ctx context.Context) error {
	options, err := r.options()
	if err != nil {
		return err
	}
	made, err := ask(ctx, func(ctx context.Context) (client.ContainerCreateResult, error) {
		return r.client.ContainerCreate(ctx, options)
	})
	if err == nil && made.ID == "" {
		err = &UnreachableError{"the container engine has not said which container it has made"}
	}
	r.id = made.ID
	return err
}

func (r *running) options() (client.ContainerCreateOptions, error) {
	j := r.job
	config := &container.Config{
		Image: j.Image, Entrypoint: j.Command, Cmd: j.Arguments, Labels: r.labels(),
		AttachStdout: true, AttachStderr: true, AttachStdin: j.Stdin != nil, OpenStdin: j.Stdin != nil, StdinOnce: j.Stdin != nil,
	}
	for _, name := range slices.Sorted(maps.Keys(j.Environment)) {
		config.Env = append(config.Env, name+"="+j.Environment[name])
	}
	host := &container.HostConfig{PortBindings: network.PortMap{}}
	config.ExposedPorts = network.PortSet{}
	for _, p := range j.Ports {
		port, err := network.ParsePort(p.Container)
		if err != nil {
			return client.ContainerCreateOptions{}, &RefusedError{fmt.Sprintf("%q is no port of a container: %s", p.Container, err)}
		}
		binding := network.PortBinding{HostPort: p.Host}
		if p.Address != "" {
			if binding.HostIP, err = netip.ParseAddr(p.Address); err != nil {
				return client.ContainerCreateOptions{}, &RefusedError{fmt.Sprintf("%q is no address: %s", p.Address, err)}
			}
		}
		config.ExposedPorts[port] = struct{}{}
		host.PortBindings[port] = append(host.PortBindings[port], binding)
	}
	for _, m := range j.Mounts {
		kind := mount.TypeBind
		if m.Volume {
			kind = mount.TypeVolume
		}
		host.Mounts = append(host.Mounts, mount.Mount{Type: kind, Source: m.Source, Target: m.Target, ReadOnly: m.ReadOnly})
	}
	return client.ContainerCreateOptions{Config: config, HostConfig: host, Name: j.Name}, nil
}

// replace removes the container with the same name, if it belongs to a lost attempt of the same effect, or if Sweep would remove it.
func (r *running) replace(ctx context.Context) error {
	there, err := inspect(ctx, r.client, r.job.Name)
	switch {
	case errdefs.IsNotFound(err):
		return nil // it was removed before
	case err != nil:
		return failed("the container "+r.job.Name+" is there, and cannot be looked at", err)
	case there.Config == nil || there.Config.Labels[LabelKey] != r.job.Key && !r.engine.isLeftover(there):
		return &RefusedError{fmt.Sprintf("a container is called %s already: remove it, give this one another name, or have it removed with lifetime.cleanup", r.job.Name)}
	}
	return remove(ctx, r.client, there.ID)
}

// pull fetches the image.
func (r *running) pull(ctx context.Context) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	silent := time.AfterFunc(maxSilent, func() {
		cancel(&UnreachableError{fmt.Sprintf("the image %s cannot be pulled: silence for %s", r.job.Image, maxSilent)})
	})
	defer silent.Stop()
	stream, err := r.streams.ImagePull(ctx, r.job.Image, client.ImagePullOptions{})
	if err == nil {
		defer stream.Close()
		body := &boundedReader{Reader: stream}
		for messages := json.NewDecoder(body); err == nil; silent.Reset(maxSilent) {
			var message jsonstream.Message
			body.left = mostBody
			if err = messages.Decode(&message); err == nil && message.Error != nil {
				err = brokenPull(message.Error.Message)
			}
		}
	}
	if err == io.EOF {
		err = nil
	}
	if ctx.Err() != nil { // it was too silent
		return context.Cause(ctx)
	}
	if err != nil {
		return failed("the image "+r.job.Image+" cannot be pulled", err)
	}
	return nil
}

// brokenPull is the error of a pull that an engine began. Only then Podman reports a missing image, in the words of the registry.
func brokenPull(message string) error {
	for _, words := range []string{"unknown", "denied", "unauthorized", "no matching manifest", "no image found", "not found"} {
		if strings.Contains(strings.ToLower(message), words) {
			return errdefs.ErrNotFound.WithMessage(message)
		}
	}
	return errors.New(message)
}

// run starts the container and waits for its end.
func (r *running) run(ctx context.Context) (End, error) {
	streams, err := r.attach(ctx)
	if err != nil {
		return End{}, err
	}
	defer streams.close()
	if err := r.start(ctx); err != nil {
		return End{}, err
	}
	go streams.copy(r.job)
	select {
	case err := <-streams.done:
		if err != nil {
			return End{}, err
		}
	case <-ctx.Done():
		return End{}, context.Cause(ctx)
	}
	code, err := r.wait(ctx)
	if err != nil {
		return End{}, err
	}
	out := &streams.output
	if out.lost {
		if out, err = r.logged(ctx, out); err != nil {
			return End{}, err
		}
	}
	return End{code, out.stdout.data.Bytes(), out.stderr.data.Bytes()}, nil
}

// start starts the container. Engines report a missing command with different statuses.
func (r *running) start(ctx context.Context) error {
	_, err := ask(ctx, func(ctx context.Context) (client.ContainerStartResult, error) {
		return r.client.ContainerStart(ctx, r.id, client.ContainerStartOptions{})
	})
	what := "the container of " + r.job.Image + " cannot be started"
	switch {
	case err == nil:
		r.begun = startDone
		return nil
	case ctx.Err() != nil, client.IsErrConnectionFailed(err), isUnreachable(err):
		r.begun = startUnknown
		return failed(what, err)
	}
	return &RefusedError{what + ": " + short(err.Error())}
}

const (
	attachTries = 3
	attachPause = 200 * time.Millisecond
)

// attach connects to the container before it starts, so that no output is lost. Podman prepares the container then. On a busy machine it sometimes
// cannot do so, and succeeds a moment later.
func (r *running) attach(ctx context.Context) (*streams, error) {
	attached, err := r.askToAttach(ctx)
	for try := 1; isUnprepared(err) && try < attachTries; try++ {
		select {
		case <-time.After(attachPause):
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
		attached, err = r.askToAttach(ctx)
	}
	if err != nil {
		return nil, r.unattached(ctx, err)
	}
	return &streams{connection: attached.HijackedResponse, output: newOutput(r.job.MaxOutput, true), done: make(chan error, 1)}, nil
}

func (r *running) askToAttach(ctx context.Context) (client.ContainerAttachResult, error) {
	return ask(ctx, func(ctx context.Context) (client.ContainerAttachResult, error) {
		return r.streams.ContainerAttach(ctx, r.id, client.ContainerAttachOptions{Stream: true, Stdin: r.job.Stdin != nil, Stdout: true, Stderr: true})
	})
}

// isUnprepared reports whether the engine answered that a container is not ready for attaching.
func isUnprepared(err error) bool {
	return err != nil && strings.HasSuffix(err.Error(), "received 409")
}

// unattached is the error of a container to which the client cannot attach. Podman prepares the container for its start at that moment, and the
// client drops Podman's message about a failed preparation. Podman repeats the message when it starts the container.
func (r *running) unattached(ctx context.Context, err error) error {
	if isUnprepared(err) {
		if refused := r.start(ctx); refused != nil {
			return refused
		}
	}
	return failed("the container of "+r.job.Image+" cannot be attached to", err)
}
