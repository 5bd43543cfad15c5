package api

import (
	"fmt"
	"net/url"
	"strings"
)

// NameError is a name that no path can contain.
type NameError struct{ Name string }

func (e *NameError) Error() string {
	return fmt.Sprintf("%q is not a valid name: it means a folder in a URL; use a name with a letter or a digit", e.Name)
}

// CheckNames returns a *NameError if a name is "." or "..".
func CheckNames(names ...string) error {
	for _, name := range names {
		if name == "." || name == ".." {
			return &NameError{name}
		}
	}
	return nil
}

// CheckPath returns a *NameError if a segment of a path is "." or "..", also in percent-encoding. Clients and proxies remove these segments from URLs,
// so that a request reaches another resource. Callers check the path before they send a request, and servers before they carry it out.
func CheckPath(escaped string) error {
	for segment := range strings.SplitSeq(escaped, "/") {
		name, err := url.PathUnescape(segment)
		if err != nil {
			continue
		}
		if err := CheckNames(name); err != nil {
			return err
		}
	}
	return nil
}
