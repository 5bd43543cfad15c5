package enginetest

import (
	"archive/tar"
	"bytes"
	"context"
	"fmt"
	"io"
	"log"
	"net"
	"net/http/httptest"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/google/go-containerregistry/pkg/registry"
)

// Podman is a real engine, with its own folders. It has the images of New, and a registry in this process to pull from.
type Podman struct {
	folder   string
	registry *httptest.Server
	service  *exec.Cmd
}

// podmanConfig lets Podman run containers where limits of processes cannot be raised, and only Podman itself is installed.
const podmanConfig = `[containers]
default_ulimits=["nofile=1024:1024","nproc=1024:1024"]
[network]
network_backend="netavark"
[engine]
runtime="runc"
cgroup_manager="cgroupfs"
events_logger="file"
`

// NewPodman starts Podman in a folder. It fails if Podman is not installed (Debian: podman, runc, netavark, iptables and busybox-static), or cannot
// run containers.
func NewPodman(folder string) (*Podman, error) {
	for _, program := range []string{"podman", "runc", "busybox"} {
		if _, err := exec.LookPath(program); err != nil {
			return nil, err
		}
	}
	p := &Podman{folder: folder, registry: httptest.NewServer(registry.New(registry.Logger(log.New(io.Discard, "", 0))))}
	for _, step := range []func() error{p.configure, p.fill, p.probe, p.serve} {
		if err := step(); err != nil {
			p.Close()
			return nil, err
		}
	}
	return p, nil
}

// Close ends the engine and its containers.
func (p *Podman) Close() {
	_ = p.Clear() // the folder is deleted
	if p.service != nil {
		_ = p.service.Process.Kill() // it may be gone
		_ = p.service.Wait()         // the same
	}
	p.registry.Close()
}

// pulled is the image that has to be pulled.
const pulled = "docker.io/library/pulled"

// Sleep stops the process that serves the API until wake is called. Its containers run on.
func (p *Podman) Sleep() (wake func(), err error) {
	return func() { _ = p.service.Process.Signal(syscall.SIGCONT) }, p.service.Process.Signal(syscall.SIGSTOP) // it may be gone
}

// Wait waits for the end of a container, without the API.
func (p *Podman) Wait(name string) error { return p.run("wait", name) }

// Clear deletes all containers, and the pulled image.
func (p *Podman) Clear() error {
	if err := p.run("rm", "--all", "--force", "--time", "0"); err != nil {
		return err
	}
	return p.run("rmi", "--force", "--ignore", pulled)
}

// Dial connects to the engine.
func (p *Podman) Dial(ctx context.Context) (net.Conn, error) {
	return new(net.Dialer).DialContext(ctx, "unix", p.socket())
}

// Host is the value of DOCKER_HOST with which a process finds this engine.
func (p *Podman) Host() string { return "unix://" + p.socket() }

func (p *Podman) socket() string { return filepath.Join(p.folder, "socket") }

// configure writes the configuration of Podman: the registry replaces Docker's.
func (p *Podman) configure() error {
	registries := fmt.Sprintf("[[registry]]\nprefix=\"docker.io\"\nlocation=%q\ninsecure=true\n", p.registry.Listener.Addr())
	for name, text := range map[string]string{
		"containers.conf": podmanConfig, "registries.conf": registries, "policy.json": `{"default": [{"type": "insecureAcceptAnything"}]}`,
	} {
		if err := os.WriteFile(filepath.Join(p.folder, name), []byte(text), 0o600); err != nil {
			return err
		}
	}
	return nil
}

func (p *Podman) command(args ...string) *exec.Cmd {
	in := func(name string) string { return filepath.Join(p.folder, name) }
	folders := []string{"--root", in("root"), "--runroot", in("runroot"), "--tmpdir", in("tmp"), "--network-config-dir", in("networks"), "--storage-driver", "vfs"}
	c := exec.Command("podman", append(folders, args...)...)
	c.Env = append(os.Environ(), "CONTAINERS_CONF="+in("containers.conf"), "CONTAINERS_REGISTRIES_CONF="+in("registries.conf"))
	return c
}

func (p *Podman) run(args ...string) error {
	if out, err := p.command(args...).CombinedOutput(); err != nil {
		return fmt.Errorf("podman %s: %w\n%s", strings.Join(args, " "), err, out)
	}
	return nil
}

// fill imports the images, and pushes the image that can be pulled.
func (p *Podman) fill() error {
	files, err := busybox()
	if err != nil {
		return err
	}
	tarball := filepath.Join(p.folder, "busybox.tar")
	if err := os.WriteFile(tarball, files, 0o600); err != nil {
		return err
	}
	for name, command := range map[string]string{
		"alpine": `["true"]`, "busybox": `["true"]`, "hello-world": `["echo", "Hello from Docker!"]`, "pulled": `["echo", "pulled"]`,
	} {
		if err := p.run("import", "--change", "CMD "+command, tarball, "docker.io/library/"+name); err != nil {
			return err
		}
	}
	if err := p.run("push", "--tls-verify=false", pulled, p.registry.Listener.Addr().String()+"/library/pulled"); err != nil {
		return err
	}
	return p.Clear()
}

// busybox returns the files of an image that contains only busybox.
func busybox() ([]byte, error) {
	file, err := exec.LookPath("busybox")
	if err != nil {
		return nil, err
	}
	program, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	names, err := exec.Command(file, "--list").Output()
	if err != nil {
		return nil, err
	}
	var files bytes.Buffer
	w := tar.NewWriter(&files)
	all := []tar.Header{{Name: "tmp", Typeflag: tar.TypeDir, Mode: 0o1777}, {Name: "bin/busybox", Typeflag: tar.TypeReg, Mode: 0o755, Size: int64(len(program))}}
	for name := range strings.FieldsSeq(string(names)) {
		if name != "busybox" {
			all = append(all, tar.Header{Name: path.Join("bin", name), Typeflag: tar.TypeSymlink, Linkname: "busybox"})
		}
	}
	for _, header := range all {
		if err := w.WriteHeader(&header); err != nil {
			return nil, err
		}
		if header.Typeflag == tar.TypeReg {
			if _, err := w.Write(program); err != nil {
				return nil, err
			}
		}
	}
	return files.Bytes(), w.Close()
}

// probe runs a container, which some machines do not allow.
func (p *Podman) probe() error { return p.run("run", "--rm", "docker.io/library/alpine", "true") }

// serve starts the API. It also ends after a while without requests, because this process may be killed.
func (p *Podman) serve() error {
	p.service = p.command("system", "service", "--time", "120", p.Host())
	if err := p.service.Start(); err != nil {
		return err
	}
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(5 * time.Millisecond) {
		connection, err := net.Dial("unix", p.socket())
		if err == nil {
			return connection.Close()
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("podman does not serve its API: %w", err)
		}
	}
}
