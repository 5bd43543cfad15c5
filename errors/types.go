package errors

import (
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/swrun/swrun/internal/lazyregexp"
)

// The two bases of the standard types: the default of this engine, and the base of the specification since its renaming in 2026. Both name the same
// types wherever errors are compared (semantics 1.2).
const (
	Base             = "https://serverlessworkflow.io/spec/1.0.0/errors/"
	BaseOpenWorkflow = "https://open-workflow-specification.org/spec/1.0.0/errors/"
)

// The standard error types (DSL reference, "Standard Error Types").
const (
	Configuration  = Base + "configuration"
	Validation     = Base + "validation"
	Expression     = Base + "expression"
	Authentication = Base + "authentication"
	Authorization  = Base + "authorization"
	Timeout        = Base + "timeout"
	Communication  = Base + "communication"
	Runtime        = Base + "runtime"
)

// Limit is the type of errors about a size above its maximum. The specification defines no such type.
const Limit = "https://github.com/swrun/swrun/errors/limit"

// Standard is one standard type: its short name, its usual status and its title.
type Standard struct {
	Name   string
	Status int
	Title  string
}

// Standards returns the standard types in the order in which the specification lists them.
func Standards() []Standard {
	return []Standard{
		{"configuration", 400, "Invalid Configuration"},
		{"validation", 400, "Invalid Data"},
		{"expression", 400, "Invalid Expression"},
		{"authentication", 401, "Authentication Failed"},
		{"authorization", 403, "Not Authorized"},
		{"timeout", 408, "Timeout"},
		{"communication", 500, "Communication Failed"},
		{"runtime", 500, "Runtime Failure"},
	}
}

// Configurationf reports a wrong or missing configuration that the workflow needs (400).
func Configurationf(format string, args ...any) *Error { return standard(0, format, args) }

// Validationf reports data that its schema refuses (400).
func Validationf(format string, args ...any) *Error { return standard(1, format, args) }

// Expressionf reports a runtime expression that failed (400).
func Expressionf(format string, args ...any) *Error { return standard(2, format, args) }

// Authenticationf reports that no credential could be obtained, or that no credential was accepted (401).
func Authenticationf(format string, args ...any) *Error { return standard(3, format, args) }

// Authorizationf reports access that the workflow is not granted, for example to a secret (403).
func Authorizationf(format string, args ...any) *Error { return standard(4, format, args) }

// Timeoutf reports that the time of a scope is over (408).
func Timeoutf(format string, args ...any) *Error { return standard(5, format, args) }

// Communicationf reports that a remote party could not be reached or refused the call (500, or the status that it answered).
func Communicationf(format string, args ...any) *Error { return standard(6, format, args) }

// Runtimef reports any other failure at run time (500).
func Runtimef(format string, args ...any) *Error { return standard(7, format, args) }

// Limitf reports a size above its maximum (400).
func Limitf(format string, args ...any) *Error {
	return &Error{Type: Limit, Status: 400, Title: "Limit Exceeded", Detail: fmt.Sprintf(format, args...)}
}

func standard(i int, format string, args []any) *Error {
	s := Standards()[i]
	return &Error{Type: Base + s.Name, Status: s.Status, Title: s.Title, Detail: fmt.Sprintf(format, args...)}
}

var standardPath = lazyregexp.New(`^(?:/spec/\d+\.\d+\.\d+[^/]*/errors|/dsl/errors/types)/([a-z]+)$`)

// canonical returns the type that uri names: one of this package's constants for every published spelling of a
// standard type, and uri itself for all others, byte for byte.
func canonical(uri string) string {
	if name := StandardName(uri); name != "" {
		return Base + name
	}
	return uri
}

// Same reports whether two URIs name one error type.
func Same(a, b string) bool { return a == b || canonical(a) == canonical(b) }

// StandardName returns the short name of a standard type, such as "timeout", or "" for any other URI.
func StandardName(uri string) string {
	if m := standardPath().FindStringSubmatch(pathOfStandard(uri)); m != nil && StandardType(m[1]) != "" {
		return m[1]
	}
	return ""
}

// standardFolder matches the paths at which only standard types are published.
var standardFolder = lazyregexp.New(`^/(?:spec/[^/]+/errors|dsl/errors/types)/([^/]+)$`)

// InStandardFolder returns the last part of a URI in a folder that contains only standard types, "" for any other URI. The URI need not name a
// standard type: it may be misspelt.
func InStandardFolder(uri string) string {
	if m := standardFolder().FindStringSubmatch(pathOfStandard(uri)); m != nil {
		return m[1]
	}
	return ""
}

// pathOfStandard returns the path of a URI on a host that publishes standard types, "" for any other URI.
func pathOfStandard(uri string) string {
	if !strings.HasPrefix(uri, "http") {
		return ""
	}
	u, err := url.Parse(uri)
	if err != nil || u.RawQuery != "" || u.Fragment != "" || u.Host != "serverlessworkflow.io" && u.Host != "open-workflow-specification.org" {
		return ""
	}
	return u.Path
}

// StandardType returns the standard type with a short name, or "" for other names.
func StandardType(name string) string {
	if slices.ContainsFunc(Standards(), func(s Standard) bool { return s.Name == name }) {
		return Base + name
	}
	return ""
}

// Name returns the name of the type for people: the short name of a standard type, otherwise the URI.
func Name(uri string) string {
	if name := StandardName(uri); name != "" {
		return name
	}
	if uri == Limit {
		return "limit"
	}
	return uri
}

// Category returns the category of the type: the short name of a standard type, limit, or application for all others.
func Category(uri string) string {
	if name := Name(uri); name != uri {
		return name
	}
	return CategoryApplication
}

// CategoryApplication is the category of the types that workflows and the called services define.
const CategoryApplication = "application"

// Rebase returns e with its standard type spelt with base (Base or BaseOpenWorkflow); other types stay unchanged.
func Rebase(e *Error, base string) *Error {
	if base == "" || base == Base || !strings.HasPrefix(e.Type, Base) {
		return e
	}
	rebased := *e
	rebased.Type = base + strings.TrimPrefix(e.Type, Base)
	return &rebased
}
