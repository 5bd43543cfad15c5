package store

import (
	"fmt"
	"hash/fnv"
	"strings"

	"github.com/swrun/swrun/internal/lazyregexp"
	"github.com/swrun/swrun/internal/shorten"
	"github.com/swrun/swrun/limits"
)

// Instance names a run of a deployment. IDs are unique within a namespace.
type Instance struct {
	Namespace string
	ID        string
}

// String returns namespace/id.
func (i Instance) String() string { return i.Namespace + "/" + i.ID }

// InstanceOf parses the output of String.
func InstanceOf(name string) Instance {
	namespace, id, _ := strings.Cut(name, "/")
	return Instance{Namespace: namespace, ID: id}
}

// ParseInstance reads namespace/id.
func ParseInstance(s string) (Instance, error) {
	namespace, id, ok := strings.Cut(s, "/")
	i := Instance{namespace, id}
	if !ok {
		return i, fmt.Errorf("%s does not name a run: it must be namespace/id", shorten.Quoted(s))
	}
	return i, i.Check()
}

// instanceID matches a valid run ID. The ID is part of keys of the store, of URLs and of file names.
var instanceID = lazyregexp.New(`^[A-Za-z0-9]([A-Za-z0-9._~:-]*[A-Za-z0-9])?$`)

// namespaceName matches a valid namespace of a document (dsl.IsName).
var namespaceName = lazyregexp.New(`^[A-Za-z0-9]([A-Za-z0-9-]*[A-Za-z0-9])?$`)

// CheckNamespace returns an error if a namespace has no valid name.
func CheckNamespace(name string) error {
	if err := (limits.Set{}).Check(limits.Namespace, len(name)); err != nil {
		return err
	}
	if !namespaceName().MatchString(name) {
		return fmt.Errorf("%s is not a namespace: it must be letters, digits and inner hyphens", shorten.Quoted(name))
	}
	return nil
}

// CheckSize reports a name that is too long.
func (i Instance) CheckSize() error {
	if err := (limits.Set{}).Check(limits.Namespace, len(i.Namespace)); err != nil {
		return err
	}
	if err := (limits.Set{}).Check(limits.ID, len(i.ID)); err != nil {
		return err
	}
	return nil
}

// Check returns an error if the name is not valid.
func (i Instance) Check() error {
	if err := i.CheckSize(); err != nil {
		return err
	}
	if err := CheckNamespace(i.Namespace); err != nil {
		return err
	}
	if !instanceID().MatchString(i.ID) || strings.Contains(i.ID, "..") {
		return fmt.Errorf("%q is not the id of a run: it must be letters and digits, with . _ ~ : - inside, without ..", i.ID)
	}
	return nil
}

// Partition returns which of n partitions the run belongs to.
func (i Instance) Partition(n int) int {
	h := fnv.New64a()
	h.Write([]byte(i.Namespace))
	h.Write([]byte{'/'})
	h.Write([]byte(i.ID))
	sum := h.Sum64()
	return int((sum ^ sum>>32) % uint64(n))
}
