package dsl

import (
	"fmt"
	"slices"
	"strings"

	"github.com/Masterminds/semver/v3"
	"gopkg.in/yaml.v3"

	"github.com/swrun/swrun/dsl/source"
	"github.com/swrun/swrun/internal/lazyregexp"
	"github.com/swrun/swrun/internal/suggest"
)

// majorVersion matches text that begins with the first number of a version.
var majorVersion = lazyregexp.New(`^\s*v?(\d+)(?:\.|\s*$)`)

// otherLanguage reports a document of another major version of the DSL. Nothing else in the document is checked: its words have other meanings there
// (semantics 1.1).
func (p *parser) otherLanguage(root *yaml.Node) bool {
	if p.otherTool(root) {
		return true
	}
	at, n := Pointer("/document/dsl"), (*yaml.Node)(nil)
	if _, document := source.Child(root, "document"); document != nil {
		_, n = source.Child(document, "dsl")
	} else if _, n = source.Child(root, "specVersion"); n != nil { // its name in 0.x
		at = "/specVersion"
	} else if key, states := source.Child(root, "states"); states != nil {
		p.reportLanguage("/states", key, "DSL 0.x")
		return true
	}
	if n == nil || n.Kind != yaml.ScalarNode {
		return false
	}
	major := majorVersion().FindStringSubmatch(n.Value)
	if major == nil || major[1] == "1" && at == "/document/dsl" {
		return false
	}
	if major[1] == "1" { // no version of the DSL has both
		p.add(Diagnostic{Code: "SW116", Message: "this is not a workflow of the Serverless Workflow DSL 1.x: it has `specVersion`, and no `document`", Pointer: at, Range: p.src.RangeOf(n),
			Help: "a workflow has `document`, and tasks under `do`: `swrun init` shows how"})
		return true
	}
	p.reportLanguage(at, n, "DSL "+strings.TrimSpace(n.Value))
	return true
}

// otherTool reports a document of another tool: it has no property of a workflow.
func (p *parser) otherTool(root *yaml.Node) bool {
	if root.Kind != yaml.MappingNode || len(root.Content) == 0 {
		return false
	}
	if p.wrapped(root) {
		return true
	}
	tool := toolOf(root)
	document, _ := source.Child(root, "document")
	if do, _ := source.Child(root, "do"); tool != "" && document == nil && do == nil {
		p.add(Diagnostic{Code: "SW116", Range: p.src.RangeOf(root.Content[0]), Help: "a workflow has `document`, and tasks under `do`: `swrun init` shows how",
			Message: fmt.Sprintf("this looks like %s, which is another language: a workflow of the Serverless Workflow DSL 1.x has `document` and `do`", tool)})
		return true
	}
	known := []string{"document", "do", "use", "input", "output", "timeout", "schedule", "evaluate", "specVersion", "states", "dsl", "tasks", "steps"}
	for i := 0; i+1 < len(root.Content); i += 2 {
		key := root.Content[i]
		if key.Kind != yaml.ScalarNode || slices.Contains(known, key.Value) || suggest.Nearest(key.Value, known[:2]) != "" {
			return false
		}
	}
	p.add(Diagnostic{
		Code: "SW116", Message: "this is not a workflow of the Serverless Workflow DSL 1.x: it has neither `document` nor `do`",
		Range: p.src.RangeOf(root.Content[0]), Help: "a workflow has `document`, and tasks under `do`: `swrun init` shows how",
	})
	return true
}

// wrapped reports a workflow below a property, as in other languages.
func (p *parser) wrapped(root *yaml.Node) bool {
	key, inner := root.Content[0], root.Content[1]
	if document, _ := source.Child(inner, "document"); len(root.Content) != 2 || document == nil {
		return false
	}
	name := oneLine(key.Value)
	p.add(Diagnostic{
		Code: "SW116", Message: fmt.Sprintf("the workflow stands below `%s`, which is not a part of it", name), Range: p.src.RangeOf(key),
		Help: fmt.Sprintf("remove the line `%s:`, so that `document:` and `do:` begin their lines", name),
	})
	return true
}

// toolOf returns the tool for which a document is written, if its properties identify it, or "".
func toolOf(root *yaml.Node) string {
	for _, tool := range []struct {
		name string
		keys []string
	}{
		{"a workflow of GitHub Actions", []string{"jobs", "on"}}, {"a state machine of AWS Step Functions", []string{"StartAt", "States"}},
		{"an object of Kubernetes or Argo", []string{"apiVersion", "kind"}}, {"a workflow of n8n", []string{"nodes", "connections"}},
		{"a file of Docker Compose", []string{"services"}}, {"a pipeline of GitLab", []string{"stages"}}, {"an API of OpenAPI", []string{"openapi"}},
		{"a playbook of Ansible", []string{"hosts", "roles"}}, {"a flow of Kestra", []string{"id", "namespace", "tasks"}},
		{"a workflow of Conductor", []string{"schemaVersion", "tasks"}}, {"a pipeline of Drone", []string{"kind", "steps"}},
		{"a workflow of Google Cloud", []string{"main"}}, {"a flow of Windmill", []string{"summary", "value"}}, {"a logic app of Azure", []string{"definition"}},
	} {
		if !slices.ContainsFunc(tool.keys, func(key string) bool { found, _ := source.Child(root, key); return found == nil }) {
			return tool.name
		}
	}
	return ""
}

func (p *parser) reportLanguage(at Pointer, n *yaml.Node, version string) {
	p.add(Diagnostic{
		Code: "SW116", Message: fmt.Sprintf("this document is written in %s, which is another language; swrun runs DSL 1.x", version),
		Pointer: at, Range: p.src.RangeOf(n), Help: "write it anew, with `document`, and tasks under `do`: `swrun init` shows how",
	})
}

// newestDSL is the newest version of the DSL that this package knows.
const newestDSL = "1.0.3"

func (p *parser) checkDSL(o *object, version string) {
	given, err := semver.StrictNewVersion(version)
	if err == nil && given.GreaterThan(semver.MustParse(newestDSL)) {
		o.report("SW125", "dsl", fmt.Sprintf("DSL version %s is newer than %s; what it added is not known here", version, newestDSL))
	}
}
