package tasks

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"strings"
	"time"

	"github.com/swrun/swrun/errors"
	"github.com/swrun/swrun/interpreter"
)

// Bounds of an external resource: its size, and how long its server may take.
const (
	maxResource = 4 << 20
	maxLoading  = 10 * time.Second
)

// errNoFiles is the error about a file where files are not granted.
var errNoFiles = errors.New("files may not be read here")

// Loader reads external resources by http and https through transport, and files, which a server does not grant. Without a
// transport, nothing is fetched: interpreter.ErrNotFetched.
// What the default catalog holds is read from catalog, a folder or a URL, also where other files are not granted; empty has none.
// Relative references are resolved against the document's own file, or its URL if it came from one (semantics 1.9).
func Loader(document string, transport http.RoundTripper, files bool, catalog string) interpreter.Loader {
	client := &http.Client{Transport: authorizing{transport}, CheckRedirect: followResource}
	proofs := &Credentials{} // of policies in the document
	return func(ctx context.Context, reference string) ([]byte, error) {
		u, err := locate(document, reference)
		if err != nil {
			return nil, err
		}
		if u.Scheme == catalogScheme {
			if u, err = inCatalog(catalog, u.Path); err != nil {
				return nil, err
			}
			if u.Scheme == "file" {
				return loadWithin(catalog, u.Path)
			}
		}
		switch u.Scheme {
		case "http", "https":
			if transport == nil {
				return nil, interpreter.ErrNotFetched
			}
			if ctx, err = withPolicy(ctx, Config{Transport: transport, Credentials: proofs}); err != nil {
				return nil, err
			}
			return loadURL(ctx, client, u)
		case "file":
			if !files {
				return nil, errNoFiles
			}
			return loadFile(u.Path)
		}
		return nil, fmt.Errorf("resources cannot be read by %q: use file, http or https", u.Scheme)
	}
}

// locate makes a reference absolute.
func locate(document, reference string) (*url.URL, error) {
	base, err := url.Parse(document)
	if err != nil || base.Scheme != "http" && base.Scheme != "https" {
		absolute, err := filepath.Abs(document)
		if err != nil {
			return nil, err
		}
		base = &url.URL{Scheme: "file", Path: absolute}
	}
	return base.Parse(reference)
}

func loadURL(ctx context.Context, client *http.Client, u *url.URL) ([]byte, error) {
	slow := fmt.Errorf("the server has not sent it within %s", maxLoading)
	ctx, cancel := context.WithTimeoutCause(ctx, maxLoading, slow)
	defer cancel()
	data, err := fetch(ctx, client, u)
	if err != nil && context.Cause(ctx) == slow {
		return nil, &unansweredError{slow}
	}
	return data, err
}

func fetch(ctx context.Context, client *http.Client, u *url.URL) ([]byte, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), http.NoBody)
	if err != nil {
		return nil, err
	}
	response, err := client.Do(request)
	if err != nil {
		return nil, &unansweredError{err}
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return nil, &answerError{response.StatusCode, response.Status}
	}
	data, err := readResource(response.Body)
	if err != nil && !errors.As(err, new(*interpreter.TooLargeError)) {
		err = &unansweredError{err}
	}
	return data, err
}

func loadFile(path string) ([]byte, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() { // a pipe or device could block for ever
		return nil, fmt.Errorf("%s is not a regular file", path)
	}
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	return readResource(file)
}

// inCatalog returns where the default catalog has a file: below a folder as a path, or at a URL.
func inCatalog(catalog, file string) (*url.URL, error) {
	if catalog == "" {
		return nil, fmt.Errorf("there is no default catalog here: --catalog names one, a Go program sets Host.Catalog")
	}
	file = strings.TrimPrefix(path.Clean("/"+file), "/")
	if base, err := url.Parse(catalog); err == nil && (base.Scheme == "http" || base.Scheme == "https") {
		return rawURL(base).JoinPath(file), nil
	}
	return &url.URL{Scheme: "file", Path: file}, nil
}

// loadWithin reads a file of a folder, and none outside.
func loadWithin(folder, file string) ([]byte, error) {
	root, err := os.OpenRoot(folder)
	if err != nil {
		return nil, err
	}
	defer root.Close()
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

func readResource(r io.Reader) ([]byte, error) {
	data, err := io.ReadAll(io.LimitReader(r, maxResource+1))
	if err == nil && len(data) > maxResource {
		return nil, &interpreter.TooLargeError{Max: maxResource}
	}
	return data, err
}
