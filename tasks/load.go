package tasks

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/swrun/swrun/errors"
	"github.com/swrun/swrun/interpreter"
)

// Limits of an external resource: its size, and the time of its server.
const (
	maxResource = 4 << 20
	maxLoading  = 10 * time.Second
)

// errNoFiles is the error for a file if files are not granted.
var errNoFiles = errors.New("files may not be read here")

// Sources are the places from which external resources may be read. The zero value allows no place.
type Sources struct {
	Transport http.RoundTripper // sends requests; without one, nothing is fetched: interpreter.ErrNotFetched
	Files     bool              // files of this machine may be read, which a server does not grant
	// Catalog is the default catalog, a folder or a URL. Its content is read even if other files are not granted.
	Catalog string
	// Functions returns the files of a function of the default catalog, name:version, that Catalog does not contain, by their names below the function's
	// folder. If the function is missing, the error wraps fs.ErrNotExist.
	Functions func(ctx context.Context, named string) (map[string][]byte, error)
}

// Loader reads external resources by http and https, files, and the content of the default catalog. Several goroutines may use it. The files of a
// function stay the same after the first reading. Relative references are resolved against the document's own file, or its URL if it came from one
// (semantics 1.9).
func Loader(document string, s Sources) interpreter.Loader {
	servers := &servers{&http.Client{Transport: authorizing{s.Transport}, CheckRedirect: followResource}, Config{Transport: s.Transport, Credentials: &Credentials{}}}
	catalog := newDefaultCatalog(s, servers)
	return func(ctx context.Context, reference string) (found interpreter.Resource, err error) {
		u, err := locate(document, reference)
		if err != nil {
			return found, err
		}
		switch u.Scheme {
		case "http", "https":
			return servers.load(ctx, u)
		case catalogScheme:
			found.Data, err = catalog.load(ctx, u.Path)
		case "file":
			if !s.Files {
				return found, errNoFiles
			}
			if leadsOut(u) {
				return found, fmt.Errorf("%s leads out of the folder of the document: write the relative path without file:, or file:/// and an absolute path", withoutQuery(reference))
			}
			found.Data, err = loadFile(u.Path)
		default:
			err = fmt.Errorf("resources cannot be read by %q: use file, http or https", u.Scheme)
		}
		return found, err
	}
}

// leadsOut reports whether RelativeFile left a file URL unchanged although it has no absolute path.
func leadsOut(u *url.URL) bool {
	return u.Scheme == "file" && (u.Opaque != "" || u.Host != "" && !strings.EqualFold(u.Host, "localhost"))
}

// servers read resources by http and https.
type servers struct {
	client *http.Client
	config Config // with the credentials of policies in the document
}

func (s *servers) load(ctx context.Context, u *url.URL) (found interpreter.Resource, err error) {
	if s.config.Transport == nil {
		return found, interpreter.ErrNotFetched
	}
	if ctx, err = withPolicy(ctx, s.config); err != nil {
		return found, err
	}
	return loadURL(ctx, s.client, u)
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
	return base.Parse(interpreter.RelativeFile(reference))
}

func loadURL(ctx context.Context, client *http.Client, u *url.URL) (found interpreter.Resource, err error) {
	slow := fmt.Errorf("the server has not sent it within %s", maxLoading)
	ctx, cancel := context.WithTimeoutCause(ctx, maxLoading, slow)
	defer cancel()
	found, err = fetch(ctx, client, u)
	if err != nil && context.Cause(ctx) == slow {
		return found, &unansweredError{slow}
	}
	return found, err
}

func fetch(ctx context.Context, client *http.Client, u *url.URL) (found interpreter.Resource, err error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), http.NoBody)
	if err != nil {
		return found, err
	}
	response, err := client.Do(request)
	if err != nil {
		return found, &unansweredError{err}
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return found, &answerError{response.StatusCode, response.Status}
	}
	found.Data, err = readResource(response.Body)
	if err != nil && !errors.As(err, new(*interpreter.TooLargeError)) {
		err = &unansweredError{err}
	}
	found.Place = redirected(request.URL, response.Request.URL)
	return found, err
}

// redirected returns the URL to which a request was redirected, without query and fragment; "" if it was not redirected. A query may be a signature
// that expires soon, and relative references need no query. The user in the requested URL is not passed to another origin.
func redirected(asked, from *url.URL) string {
	plain := func(u *url.URL) string {
		there := *u
		there.RawQuery, there.ForceQuery, there.Fragment, there.RawFragment, there.User = "", false, "", "", nil
		if originOf(u) == originOf(asked) {
			there.User = asked.User
		}
		return there.String()
	}
	if place := plain(from); place != plain(asked) {
		return place
	}
	return ""
}

func loadFile(path string) ([]byte, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() { // a pipe or device could block forever
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
