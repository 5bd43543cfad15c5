package api

import (
	"fmt"
	"net/url"
	"strings"
)

// NameError is a name that no path can contain.
type NameError struct{ Name string }

func (e *NameError) Error() string {
	return fmt.Sprintf("%q is not a valid name: it means a folder in a URL", e.Name)
}

// CheckPath returns a *NameError if a segment of a path is "." or "..", also in percent-encoding. Clients and proxies remove these segments from URLs,
// so that a request reaches another resource. Callers check the path before they send a request, and servers before they carry it out.
func CheckPath(escaped string) error {
	for segment := range strings.SplitSeq(escaped, "/") {
		if name, err := url.PathUnescape(segment); err == nil && (name == "." || name == "..") {
			return &NameError{name}
		}
	}
	return nil
}
