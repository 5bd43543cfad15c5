package definition

import (
	"fmt"
	"strings"
)

// Reference names a workflow.
type Reference struct {
	Namespace, Name, Version string
}

// String returns namespace/name:version.
func (r Reference) String() string { return r.Namespace + "/" + r.Name + ":" + r.Version }

// ParseReference reads namespace/name or namespace/name:version; without a version it is latest.
func ParseReference(s string) (Reference, error) {
	name, version, ok := strings.Cut(s, ":")
	if !ok {
		version = Latest
	}
	namespace, name, ok := strings.Cut(name, "/")
	if !ok || namespace == "" || name == "" || version == "" {
		return Reference{}, fmt.Errorf("%q names no workflow: it must be namespace/name or namespace/name:version", s)
	}
	return Reference{namespace, name, version}, nil
}

// Latest is the version that stands for the highest one.
const Latest = "latest"

// MarshalText writes what String returns.
func (r Reference) MarshalText() ([]byte, error) { return []byte(r.String()), nil }

// UnmarshalText reads what MarshalText wrote.
func (r *Reference) UnmarshalText(text []byte) (err error) {
	*r, err = ParseReference(string(text))
	return err
}
