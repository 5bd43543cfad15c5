// Package explain explains the codes of findings and the types of errors in full: `swrun explain` prints the text, and the HTTP API answers with it.
package explain

import (
	"fmt"
	"strings"

	"github.com/swrun/swrun/dsl"
	"github.com/swrun/swrun/errors"
	"github.com/swrun/swrun/internal/diagnostics"
	"github.com/swrun/swrun/internal/doctor"
)

// Names returns the names that can be explained: the codes of findings, and the short names of error types and of problems.
func Names() []string {
	var names []string
	for _, r := range dsl.Rules() {
		names = append(names, r.Code)
	}
	for _, c := range doctor.Checks() {
		names = append(names, c.Code)
	}
	names = append(names, Types()...)
	for _, p := range problems() {
		names = append(names, p.name)
	}
	return names
}

// Of explains a code, or a type of errors or problems by its short name or its URI; ok is false for an unknown one.
func Of(name string) (text string, ok bool) {
	if rule, ok := diagnostics.Rule(strings.ToUpper(name)); ok {
		return explainRule(rule), true
	}
	for _, c := range doctor.Checks() {
		if strings.EqualFold(c.Code, name) {
			return fmt.Sprintf("%s (doctor): %s\n\n%s\n", c.Code, c.Title, c.Story), true
		}
	}
	short := errors.StandardName(name)
	if short == "" {
		short = strings.ToLower(name)
	}
	for _, s := range types() {
		if s.Name == short {
			return explainType(s), true
		}
	}
	return problemNamed(name)
}

// types returns the types of errors that swrun raises.
func types() []errors.Standard {
	l := errors.Limitf("")
	return append(errors.Standards(), errors.Standard{Name: "limit", Status: l.Status, Title: l.Title})
}

func typeURI(name string) string {
	if name == "limit" {
		return errors.Limit
	}
	return errors.Base + name
}

// Types returns the short names of the error types.
func Types() []string {
	var names []string
	for _, s := range types() {
		names = append(names, s.Name)
	}
	return names
}

func explainRule(r dsl.Rule) string {
	return fmt.Sprintf("%s (%s): %s\n\n%s\n", r.Code, r.Severity, r.Title, strings.TrimSpace(r.Explanation))
}

func explainType(s errors.Standard) string {
	return fmt.Sprintf(`%s (status %d): %s

type: %s

%s

To handle it:
  - safely:
      try:
        - step: ...
      catch:
        errors:
          with:
            type: %s
        do:
          - fallback: ...
`, s.Name, s.Status, s.Title, typeURI(s.Name), typeStory(s.Name), typeURI(s.Name))
}

func typeStory(name string) string {
	switch name {
	case "configuration":
		return "Something that the workflow needs is set up wrongly or is missing, for example a workflow that\nrun.workflow names. Repeating the task does not help."
	case "validation":
		return "Data does not fit a schema of the document: input.schema, output.schema or export.schema. If the\ninput of the whole workflow is refused, instance is \"/\" and swrun exits with 4."
	case "expression":
		return "A runtime expression failed for the data it met. Try it out with: swrun expr 'EXPRESSION' -i @data.json"
	case "authentication":
		return "No credential could be obtained, or the other side accepted none."
	case "authorization":
		return "Access that the workflow does not have, for example to a secret that was not provided. Provide\nsecrets with SWRUN_SECRET_<NAME> or --secrets FILE."
	case "timeout":
		return "The time of a scope was over: a task's timeout, a retry limit, or the workflow's own timeout. The\ninstance is the pointer of the scope, and the member timeoutKind contains its kind. A try does not catch\nthe timeout of the try task itself, and no task of a workflow catches the timeout of the workflow. If it\nis not caught, the run is closed as timed_out and swrun exits with 124. An error of this type that was\nraised, or that comes from a child, is a fault like any other (10).\n\nIf several nested deadlines passed, the outermost fires, even if an inner one passed earlier while no\nworker was connected: the time of the inner scope with its catch is over."
	case "limit":
		return "Data are too large, or too many. The members limit, value and max name the limit, the size and the\nmaximum. --limit NAME=VALUE and SWRUN_LIMITS change limits; see docs/limits.md. The type is swrun's own."
	case "communication":
		return "A remote party could not be reached, or refused; the status is its answer's, or 500."
	}
	return "Any other failure at run time, for example a process that did not start."
}
