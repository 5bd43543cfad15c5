package tasks

import (
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"

	"github.com/swrun/swrun/interpreter"
)

// maxResource bounds an external resource: 4 MiB.
const maxResource = 4 << 20

// Loader reads external resources by http and https through transport, and files, which a server does not grant.
// Relative references are resolved against the document's own file, or its URL if it came from one (semantics 1.9).
func Loader(document string, transport http.RoundTripper, files bool) interpreter.Loader {
	client := &http.Client{Transport: transport}
	return func(reference string) ([]byte, error) {
		u, err := locate(document, reference)
		if err != nil {
			return nil, err
		}
		switch u.Scheme {
		case "http", "https":
			return loadURL(client, u)
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

func loadURL(client *http.Client, u *url.URL) ([]byte, error) {
	response, err := client.Get(u.String())
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
		return nil, fmt.Errorf("%s is no regular file", path)
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
		return nil, fmt.Errorf("it is larger than %d bytes", maxResource)
	}
	return data, err
}
