// Package access says who may ask what of a deployment: roles, the namespaces that a caller sees, and the tokens by which callers are known.
// Tokens are kept in the registry of the store, as hashes. The package knows no requests: package server asks it about each of them.
package access

import "slices"

// Role is what a caller must at least be to use an operation. Each role may do what those before it may.
type Role string

// The roles.
const (
	RoleOpen     Role = "open"     // nobody in particular: the operation tells nothing about runs or workflows
	RoleViewer   Role = "viewer"   // looks at workflows and runs
	RoleAuthor   Role = "author"   // deploys workflows and starts runs
	RoleOperator Role = "operator" // commands runs and deletes them
	RoleAdmin    Role = "admin"    // looks after the deployment
)

// Roles returns all of them, the weakest first.
func Roles() []Role { return []Role{RoleOpen, RoleViewer, RoleAuthor, RoleOperator, RoleAdmin} }

// Granted returns the roles that a token may have.
func Granted() []Role { return Roles()[1:] }

// Allows reports whether a caller of this role may use what needs another; an unknown role may nothing.
func (r Role) Allows(need Role) bool {
	mine, needed := slices.Index(Roles(), r), slices.Index(Roles(), need)
	return needed >= 0 && (need == RoleOpen || mine >= needed)
}

// Caller is who asks. The zero value may use nothing but what is open.
type Caller struct {
	Name       string // for the records of commands
	Role       Role
	Namespaces []string // whose workflows and runs the caller sees
	Everywhere bool     // the caller sees all namespaces
	HidesData  bool     // the caller sees no data of runs: see api.HideData
	Since      string   // when the caller's token was made: another token of the same name is another caller; empty without a token
}

// Local is whoever asks where only this machine can ask.
func Local() Caller { return Caller{Name: LocalName, Role: RoleAdmin, Everywhere: true} }

// LocalName is the name of callers without a token.
const LocalName = "local"

// Sees reports whether the caller sees the workflows and runs of a namespace.
func (c Caller) Sees(namespace string) bool {
	return c.Everywhere || slices.Contains(c.Namespaces, namespace)
}

// Audience returns the namespaces that what the caller sends may reach: nil for all of them.
func (c Caller) Audience() []string {
	if c.Everywhere {
		return nil
	}
	return append([]string{}, c.Namespaces...) // never nil, which would be all
}
