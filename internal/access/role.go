// Package access contains the rights of callers: roles, the namespaces that a caller sees, and the tokens that identify callers. The registry of the
// store contains the tokens, as hashes. The package knows no requests: package server asks it about each request.
package access

import "slices"

// Role is the minimum rank of a caller for an operation. Each role includes the rights of the roles before it.
type Role string

// The roles.
const (
	RoleOpen     Role = "open"     // without a caller: the operation returns nothing about runs or workflows
	RoleViewer   Role = "viewer"   // reads workflows and runs
	RoleAuthor   Role = "author"   // deploys workflows and starts runs
	RoleOperator Role = "operator" // commands runs and deletes them
	RoleAdmin    Role = "admin"    // administers the deployment
)

// Roles returns all roles, the weakest first.
func Roles() []Role { return []Role{RoleOpen, RoleViewer, RoleAuthor, RoleOperator, RoleAdmin} }

// Granted returns the roles that a token may have.
func Granted() []Role { return Roles()[1:] }

// Allows reports whether a caller of this role may use an operation that needs another; an unknown role allows nothing.
func (r Role) Allows(need Role) bool {
	mine, needed := slices.Index(Roles(), r), slices.Index(Roles(), need)
	return needed >= 0 && (need == RoleOpen || mine >= needed)
}

// Caller is the sender of a request. The zero value may use only open operations.
type Caller struct {
	Name       string // for the records of commands
	Role       Role
	Namespaces []string // namespaces whose workflows and runs the caller sees
	Everywhere bool     // the caller sees all namespaces
	HidesData  bool     // the caller sees no data of runs: see api.HideData
	Since      string   // creation time of the caller's token: another token of the same name is another caller; empty without a token
}

// Local is the caller on an address that only this machine reaches.
func Local() Caller { return Caller{Name: LocalName, Role: RoleAdmin, Everywhere: true} }

// LocalName is the name of callers without a token.
const LocalName = "local"

// Sees reports whether the caller sees the workflows and runs of a namespace.
func (c Caller) Sees(namespace string) bool {
	return c.Everywhere || slices.Contains(c.Namespaces, namespace)
}

// Audience returns the namespaces that events of the caller may reach: nil for all of them.
func (c Caller) Audience() []string {
	if c.Everywhere {
		return nil
	}
	return append([]string{}, c.Namespaces...) // never nil, which would mean all
}
