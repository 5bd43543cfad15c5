package tasks

import (
	"context"
	"fmt"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"path"
	"strings"
	"sync"

	"github.com/swrun/swrun/errors"
	"github.com/swrun/swrun/interpreter"
)

// defaultCatalog reads the content of the default catalog: a folder or a URL, and the deployed functions.
type defaultCatalog struct {
	Sources
	servers *servers

	mu       sync.Mutex
	deployed map[string]map[string][]byte // the files of functions that were read, by name:version
}

func newDefaultCatalog(s Sources, servers *servers) *defaultCatalog {
	return &defaultCatalog{Sources: s, servers: servers, deployed: map[string]map[string][]byte{}}
}

// load reads a file of the catalog. All files of a function come from the source of its function.yaml: first the folder or URL, then the deployed
// functions.
func (c *defaultCatalog) load(ctx context.Context, file string) ([]byte, error) {
	file = strings.TrimPrefix(path.Clean("/"+file), "/")
	named, name, isFunctions := functionOf(file)
	if files := c.known(named); files != nil {
		return fileOf(named, name, files)
	}
	data, err := c.configured(ctx, file)
	if c.Functions == nil || !isFunctions || !isMissing(err) {
		return data, err
	}
	if name != functionName {
		if _, whole := c.configured(ctx, inCatalogs(named)); !isMissing(whole) {
			return nil, err
		}
	}
	files, err := c.Functions(ctx, named)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, c.notDeployed(named)
	}
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	c.deployed[named] = files
	c.mu.Unlock()
	return fileOf(named, name, files)
}

func (c *defaultCatalog) known(named string) map[string][]byte {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.deployed[named]
}

func fileOf(named, name string, files map[string][]byte) ([]byte, error) {
	data, ok := files[name]
	if !ok {
		return nil, fmt.Errorf("the function %s has no file %s", named, name)
	}
	return data, nil
}

// errNoCatalog is the error if neither a folder nor a URL is configured as the default catalog.
var errNoCatalog = &missingError{"there is no default catalog here: --catalog names one, a Go program sets Host.Catalog; " +
	"deployed functions are available to commands that use a store or a server, such as swrun deploy"}

// missingError reports that the default catalog lacks a file.
type missingError struct{ text string }

func (e *missingError) Error() string { return e.text }

// Unwrap returns fs.ErrNotExist.
func (e *missingError) Unwrap() error { return fs.ErrNotExist }

// configured reads a file of the folder or URL.
func (c *defaultCatalog) configured(ctx context.Context, file string) ([]byte, error) {
	if c.Catalog == "" {
		return nil, errNoCatalog
	}
	if base, err := url.Parse(c.Catalog); err == nil && (base.Scheme == "http" || base.Scheme == "https") {
		found, err := c.servers.load(ctx, rawURL(base).JoinPath(file))
		return found.Data, err // a redirect moves no name of the catalog: the references of a function lead into the catalog, too
	}
	return loadWithin(c.Catalog, file)
}

// isMissing reports whether a catalog lacks the file. A catalog that does not answer may contain the file.
func isMissing(err error) bool {
	var answered *answerError
	if errors.As(err, &answered) {
		return answered.status == http.StatusNotFound || answered.status == http.StatusGone
	}
	return errors.Is(err, fs.ErrNotExist)
}

// notDeployed is the error of a function that neither the folder or URL nor the deployed functions contain.
func (c *defaultCatalog) notDeployed(named string) error {
	besides := ""
	if c.Catalog != "" {
		besides = ", and the default catalog " + errors.MaskURL(c.Catalog) + " does not have it"
	}
	return &missingError{fmt.Sprintf("no function %s is deployed%s: swrun function deploy %s FILE deploys it", named, besides, named)}
}

// loadWithin reads a file in a folder, and no file outside.
func loadWithin(folder, file string) ([]byte, error) {
	root, err := os.OpenRoot(folder)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	return ReadWithin(root, file)
}

// ReadWithin reads a file of a folder that is a resource.
func ReadWithin(root *os.Root, file string) ([]byte, error) {
	info, err := root.Stat(file)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is not a regular file", file)
	}
	opened, err := root.Open(file)
	if err != nil {
		return nil, err
	}
	defer opened.Close()
	return readResource(opened)
}

// FunctionLoader returns a loader for the resources of one function of the default catalog, name:version. It reads the files below the function's
// folder with read. It does not fetch other resources, because the caller of the function does that.
func FunctionLoader(named string, read func(name string) ([]byte, error)) interpreter.Loader {
	return func(_ context.Context, reference string) (interpreter.Resource, error) {
		u, err := url.Parse(interpreter.RelativeFile(reference))
		if err != nil {
			return interpreter.Resource{}, err
		}
		of, name, ok := functionOf(strings.TrimPrefix(path.Clean("/"+u.Path), "/"))
		switch {
		case u.Scheme == "http", u.Scheme == "https":
			return interpreter.Resource{}, interpreter.ErrNotFetched
		case u.Scheme == catalogScheme && ok && of == named:
			data, err := read(name)
			return interpreter.Resource{Data: data}, err
		case u.Scheme == catalogScheme && ok && name == functionName: // another function, which it calls
			return interpreter.Resource{}, interpreter.ErrNotFetched
		}
		return interpreter.Resource{}, errors.New("a function that is deployed refers to files below its own folder, and to URLs by http and https")
	}
}
