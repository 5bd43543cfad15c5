package api

import "github.com/swrun/swrun/internal/access"

// Operation is one thing that callers ask of a deployment. In has its parameters, as fields with the tag path, query or header, and its body, as the field
// Body. Out is the body of its answer. The server, the command and the description of the API read the same row.
type Operation[In, Out any] struct {
	ID           string // unique; the operationId of the description
	Method, Path string
	Role         access.Role // the least one that may ask
	Tag, Summary string
	Description  string
}

// None is the input of an operation without parameters.
type None struct{}

// Audited is an input of a change whose subject and reason the audit log contains.
type Audited interface {
	// AuditSubject returns the changed object, with the values that it gets.
	AuditSubject() string
	// AuditReason returns the reason that the caller gave; empty for none.
	AuditReason() string
}
