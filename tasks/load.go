package tasks

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"time"

	"github.com/swrun/swrun/interpreter"
)

// Bounds of an external resource: its size, and how long its server may take.
const (
	maxResource = 4 << 20
	maxLoading  = 10 * time.Second
)

// Loader reads external resources by http and https through transport, and files, which a server does not grant. Without a
// transport, nothing is fetched: interpreter.ErrNotFetched.
// Relative references are resolved against the document's own file, or its URL if it came from one (semantics 1.9).
func Loader(document string, transport http.RoundTripper, files bool) interpreter.Loader {
	client := &http.Client{Transport: transport}
	return func(ctx context.Context, reference string) ([]byte, error) {
		u, err := locate(document, reference)
		if err != nil {
			return nil, err
		}
		switch u.Scheme {
		case "http", "https":
			if transport == nil {
				return nil, interpreter.ErrNotFetched
			}
			return loadURL(ctx, client, u)
		case "file":
			if !files {
				return nil, fmt.Errorf("files may not be read here")
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
		return nil, slow
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
		return nil, err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("the server answers %s", response.Status)
	}
	return readResource(response.Body)
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

func readResource(r io.Reader) ([]byte, error) {
	data, err := io.ReadAll(io.LimitReader(r, maxResource+1))
	if err == nil && len(data) > maxResource {
		return nil, &interpreter.TooLargeError{Max: maxResource}
	}
	return data, err
}
