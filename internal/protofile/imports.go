package protofile

import (
	"fmt"
	"net/url"
	"path"
	"slices"
	"strings"

	"github.com/swrun/swrun/internal/shorten"
)

// imported loads an import of a document, from the first place that contains it.
func (s *source) imported(name string) ([]byte, error) {
	if !isPath(name) {
		return nil, fmt.Errorf("the import of %s is refused: an import is a path below the folder of the .proto document, without ..", shorten.Quoted(name))
	}
	var failed error
	for _, place := range places(s.uri, name) {
		data, err := s.load(place)
		if err == nil {
			return data, nil
		}
		if failed == nil {
			failed = err
		}
	}
	return nil, &ImportError{Name: name, Err: failed}
}

// ImportError reports that an import of a document cannot be read.
type ImportError struct {
	Name string
	Err  error
}

// Error returns the message.
func (e *ImportError) Error() string {
	return fmt.Sprintf("it imports %s, which cannot be read: %s", shorten.Quoted(e.Name), e.Err)
}

// Unwrap returns the cause.
func (e *ImportError) Unwrap() error { return e.Err }

// isPath reports whether the name of an import leads only downward: it never names another server.
func isPath(name string) bool {
	return name != "" && !strings.ContainsAny(name, `:\%?#`) && !strings.HasPrefix(name, "/") && path.Clean(name) == name &&
		!slices.Contains(strings.Split(name, "/"), "..")
}

// places returns the possible URLs of an import: beside the document, and, because imports count from the root of a tree of packages, at the root
// above the document: for a document acme/orders/v1/orders.proto, the import acme/money.proto is in the folder that contains acme.
func places(uri, name string) []string {
	base, err := url.Parse(uri)
	if err != nil {
		return []string{path.Join(path.Dir(uri), name)}
	}
	at := func(folder string) string {
		there := *base
		there.RawPath, there.RawQuery, there.ForceQuery, there.Fragment = "", "", false, ""
		there.Path = strings.TrimSuffix(folder, "/") + "/" + name
		if !strings.HasPrefix(base.Path, "/") {
			there.Path = strings.TrimPrefix(there.Path, "/")
		}
		return there.String()
	}
	folder, _ := path.Split(base.Path)
	all := []string{at(folder)}
	first, _, _ := strings.Cut(name, "/")
	parts := strings.Split(strings.TrimSuffix(folder, "/"), "/")
	for n := len(parts) - 1; n >= 0; n-- {
		if parts[n] == first {
			return append(all, at(strings.Join(parts[:n], "/")))
		}
	}
	return all
}
