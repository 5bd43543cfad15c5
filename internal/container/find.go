package container

import (
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/hex"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
)

// find returns the address of the engine, in the order of its clients: DOCKER_HOST, CONTAINER_HOST of Podman, the context that Docker's client uses,
// and the sockets of engines.
func find(lookup func(string) (string, bool)) (host string, secure *tls.Config, err error) {
	value := func(name string) string {
		v, _ := lookup(name)
		return v
	}
	host = value("DOCKER_HOST")
	if host == "" {
		host = value("CONTAINER_HOST")
	}
	if host == "" {
		host = contextHost(value("DOCKER_CONTEXT"), dockerFolder(value))
	}
	if host == "" {
		host = socketHost(value("XDG_RUNTIME_DIR"))
	}
	if strings.HasPrefix(host, "ssh://") {
		return "", nil, &RefusedError{"the container engine is at " + host + ": a connection by SSH is not supported; forward its socket, and name that in DOCKER_HOST"}
	}
	if folder := value("DOCKER_CERT_PATH"); folder != "" {
		if secure, err = certificates(folder); err != nil {
			return "", nil, &RefusedError{"the container engine cannot be used: " + short(err.Error())}
		}
	}
	return host, secure, nil
}

// certificates reads the certificates of a folder, with the file names of Docker's clients.
func certificates(folder string) (*tls.Config, error) {
	authority, err := os.ReadFile(filepath.Join(folder, "ca.pem"))
	if err != nil {
		return nil, err
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(authority) {
		return nil, errors.New(filepath.Join(folder, "ca.pem") + " holds no certificate")
	}
	own, err := tls.LoadX509KeyPair(filepath.Join(folder, "cert.pem"), filepath.Join(folder, "key.pem"))
	if err != nil {
		return nil, err
	}
	return &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: pool, Certificates: []tls.Certificate{own}}, nil
}

func dockerFolder(value func(string) string) string {
	if folder := value("DOCKER_CONFIG"); folder != "" {
		return folder
	}
	return filepath.Join(value("HOME"), ".docker")
}

// contextHost returns the address of a context of Docker's client; empty if the context has no address. Without a name it uses the present context.
func contextHost(name, folder string) string {
	if name == "" {
		var config struct{ CurrentContext string }
		readJSON(filepath.Join(folder, "config.json"), &config)
		name = config.CurrentContext
	}
	if name == "" || name == "default" {
		return ""
	}
	var meta struct {
		Endpoints map[string]struct{ Host string }
	}
	id := sha256.Sum256([]byte(name))
	readJSON(filepath.Join(folder, "contexts", "meta", hex.EncodeToString(id[:]), "meta.json"), &meta)
	return meta.Endpoints["docker"].Host
}

// readJSON reads a file that may be missing.
func readJSON(path string, to any) {
	if data, err := os.ReadFile(path); err == nil {
		_ = json.Unmarshal(data, to) // Docker's client reports such a file
	}
}

// socketHost returns the first socket that exists, or the usual path of Docker's socket.
func socketHost(runtime string) string {
	const docker = "/var/run/docker.sock"
	sockets := []string{docker, "/run/podman/podman.sock"}
	if runtime != "" {
		sockets = append(sockets, filepath.Join(runtime, "docker.sock"), filepath.Join(runtime, "podman", "podman.sock"))
	}
	for _, socket := range sockets {
		if _, err := os.Stat(socket); err == nil {
			return "unix://" + socket
		}
	}
	return "unix://" + docker
}
