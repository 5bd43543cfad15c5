package house

import (
	"go/parser"
	"go/token"
	"io/fs"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

const module = "github.com/swrun/swrun"

// everything lets a package import all others.
const everything = "*"

// layers returns which of our packages each package imports: only some of those that stand above it in docs/design.md, so that
// a package can be understood without those that import it. Tests may import more.
func layers() map[string][]string {
	return map[string][]string{
		"spec":                        nil,
		"spec/internal/schema":        nil,
		"errors":                      {"internal/jsonvalue", "internal/lazyregexp", "internal/shorten"},
		"internal/api":                {"dsl", "dsl/source", "errors", "expr", "internal/access", "internal/duration", "internal/jsonvalue", "interpreter", "runtime/activity", "runtime/client", "runtime/definition", "runtime/events", "runtime/filter", "runtime/function", "runtime/matching", "runtime/presence", "runtime/queue", "runtime/schedule", "runtime/settings", "runtime/store", "runtime/execution"},
		"internal/attribute":          {"internal/lazyregexp", "internal/shorten"},
		"internal/audit":              {"internal/shorten", "runtime/store"},
		"internal/bench":              {".", "activity", "internal/control", "server", "errors", "dsl", "interpreter", "tasks", "redisstore", "runtime/client", "runtime/definition", "runtime/events", "runtime/store", "runtime/worker", "internal/terminal"},
		"internal/delimited":          nil,
		"internal/describe":           {"internal/cloudevent", "expr", "interpreter", "runtime/client", "runtime/store", "internal/api", "internal/shorten", "internal/terminal"},
		"internal/diagnostics":        {"dsl", "dsl/source", "internal/terminal"},
		"internal/doctor":             {".", "boltstore", "internal/access", "internal/api", "internal/audit", "redisstore", "runtime/activity", "runtime/definition", "runtime/events", "runtime/function", "runtime/inbox", "runtime/matching", "runtime/presence", "runtime/queue", "runtime/schedule", "runtime/settings", "runtime/store", "internal/terminal", "runtime/client"},
		"internal/duration":           {"internal/lazyregexp", "internal/shorten"},
		"internal/explain":            {"dsl", "errors", "internal/diagnostics", "internal/doctor"},
		"internal/faultreport":        {"errors", "dsl", "expr", "internal/api", "internal/duration", "internal/shorten", "internal/terminal", "interpreter", "runtime/definition", "runtime/execution"},
		"internal/format":             {"dsl/source", "internal/lazyregexp"},
		"internal/golden":             nil, // for tests
		"internal/pacetest":           nil, // for tests
		"internal/graph":              {"errors", "dsl", "internal/shorten", "internal/svg", "internal/terminal"},
		"internal/form":               nil,
		"internal/jsonvalue":          nil,
		"internal/lazyregexp":         nil,
		"internal/machine":            nil,
		"internal/progress":           {"internal/cloudevent", "errors", "dsl", "expr", "internal/api", "internal/delimited", "internal/duration", "internal/shorten", "internal/terminal", "interpreter", "runtime/execution"},
		"internal/a2a":                {"expr", "internal/shorten", "internal/suggest"},
		"internal/a2atest":            nil, // for tests and examples
		"examples/a2a":                {"internal/a2atest"},
		"internal/grpctest":           nil, // for tests and examples
		"internal/certtest":           nil, // for tests and examples
		"internal/oauth":              {"internal/content", "redact"},
		"internal/oauthtest":          nil, // for tests and examples
		"internal/protofile":          {"internal/lazyregexp", "internal/shorten", "internal/suggest"},
		"examples/grpc":               {"internal/grpctest"},
		"examples/certificate":        {"internal/certtest"},
		"examples/oauth":              {"internal/oauthtest"},
		"internal/openapi":            {"expr", "internal/content", "internal/description", "internal/lazyregexp", "internal/shorten", "internal/suggest"},
		"internal/description":        {"dsl/source", "internal/content", "internal/jsonvalue", "internal/shorten"},
		"internal/asyncapi":           {"internal/description", "internal/lazyregexp", "internal/shorten", "internal/suggest"},
		"internal/framing":            {"errors"},
		"internal/brokers":            {"errors", "internal/asyncapi", "internal/framing"},
		"internal/brokers/brokertest": {"internal/certtest"}, // for tests
		"internal/content":            {"internal/jsonvalue", "internal/lazyregexp", "internal/shorten"},
		"internal/shorten":            nil,
		"internal/cron":               nil,
		"internal/suggest":            nil,
		"internal/svg":                nil,
		"internal/timeline":           {"dsl", "errors", "internal/duration", "internal/shorten", "internal/svg", "interpreter"},
		"internal/terminal":           {"internal/duration", "internal/shorten", "dsl"},
		"dsl":                         {"errors", "dsl/source", "internal/attribute", "internal/cron", "internal/delimited", "internal/duration", "internal/lazyregexp", "internal/shorten", "internal/suggest"},
		"dsl/source":                  {"internal/lazyregexp"},
		"expr":                        {"errors", "internal/delimited", "internal/jsonvalue", "internal/shorten", "internal/suggest"},
		"redact":                      {"errors", "internal/jsonvalue", "internal/lazyregexp"},
		"redact/redacttest":           nil,
		"limits":                      {"errors"},
		"interpreter":                 {"internal/form", "errors", "internal/duration", "internal/jsonvalue", "internal/shorten", "limits", "dsl", "expr", "redact"},
		"process":                     {"internal/lazyregexp"},
		"internal/container":          nil,
		"internal/enginetest":         nil, // for tests
		"process/processtest":         {"process", "internal/pacetest"},
		"tasks":                       {"errors", "internal/attribute", "internal/cloudevent", "internal/content", "internal/duration", "internal/lazyregexp", "internal/shorten", "limits", "dsl", "expr", "interpreter", "process", "internal/a2a", "internal/asyncapi", "internal/brokers", "internal/container", "internal/delimited", "internal/oauth", "internal/openapi", "internal/protofile"},
		"internal/cloudevent":         {"dsl", "internal/attribute", "internal/content", "internal/jsonvalue"},
		"runtime/schedule":            {"dsl", "expr", "internal/cron", "interpreter", "runtime/definition", "runtime/store"},
		"runtime/events":              {"expr", "internal/shorten", "interpreter", "limits", "runtime/inbox", "runtime/store"},
		"runtime/store":               {"internal/form", "errors", "internal/lazyregexp", "internal/shorten", "limits", "interpreter"},
		"runtime/definition":          {"internal/form", "dsl", "interpreter", "internal/shorten", "runtime/store"},
		"runtime/function":            {"errors", "limits", "runtime/definition", "runtime/store"},
		"runtime/execution":           {"internal/form", "errors", "limits", "dsl", "interpreter", "runtime/activity", "runtime/definition", "runtime/inbox", "runtime/store", "runtime/settings", "internal/lazyregexp"},
		"runtime/inbox":               {"internal/form", "errors", "interpreter", "runtime/store"},
		"runtime/activity":            {"errors", "internal/duration", "interpreter", "runtime/inbox", "runtime/store"},
		"runtime/matching":            {"errors", "expr", "interpreter", "limits", "runtime/activity", "runtime/inbox", "runtime/queue", "runtime/store"},
		"runtime/filter":              {"errors", "internal/duration", "internal/shorten", "internal/suggest", "interpreter", "runtime/definition", "runtime/execution", "runtime/store"},
		"runtime/lease":               {"runtime/store"},
		"runtime/presence":            {"runtime/definition", "runtime/store", "interpreter"},
		"runtime/queue":               {"dsl", "errors", "internal/duration", "internal/shorten", "interpreter", "limits", "runtime/activity", "runtime/definition", "runtime/presence", "runtime/store"},
		"runtime/settings":            {"internal/duration", "internal/shorten", "internal/suggest", "runtime/store"},
		"runtime/effect":              {"errors", "internal/shorten", "interpreter"},
		"runtime/local":               {"errors", "expr", "limits", "interpreter", "runtime/activity", "runtime/effect", "runtime/execution", "runtime/store"},
		"runtime/client":              {"runtime/activity", "errors", "internal/duration", "internal/jsonvalue", "internal/lazyregexp", "internal/shorten", "limits", "dsl", "interpreter", "runtime/definition", "runtime/events", "runtime/execution", "runtime/filter", "runtime/inbox", "runtime/store", "runtime/presence", "runtime/queue", "runtime/settings"},
		"runtime/worker":              {"dsl", "errors", "internal/duration", "internal/shorten", "limits", "interpreter", "runtime/activity", "runtime/definition", "runtime/effect", "runtime/execution", "runtime/lease", "runtime/inbox", "runtime/store", "runtime/presence", "runtime/queue", "runtime/settings"},
		"runtime":                     nil, // the tour of its packages, and tests of them together
		"runtime/storetest":           {"interpreter", "runtime/store"},
		"memstore":                    {"runtime/store", "runtime/kvstore"},
		"boltstore":                   {"errors", "runtime/store", "runtime/kvstore"},
		"redisstore":                  {"internal/form", "errors", "interpreter", "runtime/store", "internal/lazyregexp"},
		"redisstore/redistest":        nil,
		"internal/disktest":           nil, // for tests
		"runtime/kvstore":             {"internal/form", "interpreter", "runtime/store"},
		".": { // the library
			"errors", "limits", "dsl", "expr", "redact", "process", "interpreter", "tasks", "memstore", "boltstore", "redisstore",
			"runtime/store", "runtime/definition", "runtime/execution", "runtime/function", "runtime/local", "runtime/events", "runtime/schedule", "runtime/presence", "runtime/client", "runtime/matching", "runtime/queue", "runtime/worker",
			"internal/cloudevent", "internal/container", "internal/jsonvalue", "internal/machine", "internal/shorten",
		},
		"internal/access":      {"errors", "internal/lazyregexp", "internal/shorten", "internal/suggest", "runtime/store"},
		"internal/tracing":     {"errors", "interpreter", "runtime/client", "runtime/execution", "runtime/store"},
		"internal/eventfile":   {"dsl/source", "internal/cloudevent", "internal/duration", "internal/lazyregexp", "internal/shorten", "internal/suggest"},
		"internal/deadletter":  {"errors", "internal/cloudevent", "internal/doctor", "internal/shorten", "internal/terminal", "runtime/definition", "runtime/store"},
		"internal/eventtest":   nil, // for tests
		"internal/sources":     {"errors", "internal/cloudevent", "internal/deadletter", "internal/doctor", "internal/eventfile", "internal/framing", "internal/shorten", "internal/terminal", "runtime/events"},
		"internal/sinks":       {"errors", "internal/cloudevent", "internal/doctor", "internal/eventfile", "internal/shorten", "internal/sources", "internal/terminal", "runtime/definition", "runtime/store"},
		"internal/metrics":     {".", "errors", "internal/deadletter", "internal/doctor", "internal/sinks", "internal/sources", "runtime/presence", "runtime/queue", "runtime/store", "runtime/worker"},
		"activity":             {"errors", "internal/shorten"},
		"internal/control":     {".", "dsl", "errors", "expr", "internal/access", "internal/api", "internal/deadletter", "internal/describe", "internal/doctor", "internal/duration", "internal/explain", "internal/graph", "internal/progress", "internal/shorten", "internal/sinks", "internal/terminal", "internal/timeline", "interpreter", "runtime/client", "runtime/definition", "runtime/events", "runtime/execution", "runtime/filter", "runtime/matching", "runtime/presence", "runtime/queue", "runtime/schedule", "runtime/settings", "runtime/store", "internal/faultreport"},
		"internal/storesocket": {"errors"},
		"internal/remote":      {".", "errors", "internal/api", "internal/control", "internal/shorten", "runtime/client", "runtime/definition", "runtime/function", "runtime/store"},
		"server":               {".", "dsl", "errors", "internal/access", "internal/api", "internal/audit", "internal/cloudevent", "internal/control", "internal/doctor", "internal/jsonvalue", "internal/metrics", "internal/shorten", "interpreter", "limits", "runtime/client", "runtime/definition", "runtime/events", "runtime/filter", "runtime/function", "runtime/matching", "runtime/queue", "runtime/settings", "runtime/store"},
		"cmd/swrun":            {everything},

		"cmd/swrun/collector": nil,
		"examples/durable":    {".", "interpreter", "runtime/store"},
		"conformance":         nil, // tests and their package comment
		"faults":              nil, // the same
		"simulation":          nil, // the same
	}
}

// only returns the packages of others that a single one of ours may import, and those that may.
func only() map[string][]string {
	return map[string][]string{
		"github.com/go-resty/resty": {"tasks", "internal/remote", "internal/sinks"},
		"github.com/bufbuild":       {"internal/protofile", "internal/grpctest"},
		"github.com/a2aproject":     {"internal/a2a", "internal/a2atest"},
		"google.golang.org/grpc":    {"tasks", "internal/grpctest"},
		"github.com/itchyny/gojq":   {"expr"},
		"github.com/icholy/digest":  {"tasks"},
		"os/exec":                   {"process", "process/processtest", "tasks", "internal/bench", "internal/brokers/brokertest", "internal/container", "internal/disktest", "internal/enginetest", "redisstore/redistest"},
		"github.com/coreos/go-oidc": {"internal/oauth"},
		"github.com/go-jose":        {"internal/oauth", "internal/oauthtest"},
		"golang.org/x/oauth2":       {"internal/oauth"},
		"net/http":                  {"activity", "examples/a2a", "examples/certificate", "examples/oauth", "internal/a2atest", "internal/brokers", "internal/brokers/brokertest", "internal/container", "internal/enginetest", "internal/oauth", "internal/oauthtest", "tasks", ".", "internal/bench", "internal/remote", "internal/sinks", "server", "cmd/swrun"},
		"github.com/danielgtaylor":  {"server"},
		"github.com/prometheus":     {"internal/metrics"},
		"go.opentelemetry.io":       {"internal/tracing", "cmd/swrun"},
		"github.com/spf13/cobra":    {"cmd/swrun"},
		"github.com/moby":           {"internal/container"},
		"modernc.org/quickjs":       {"process"},
	}
}

// TestLayers checks every import of the module against the design.
func TestLayers(t *testing.T) {
	checked := 0
	imported := map[string][]string{} // by each package
	for file, imports := range mustImports(t) {
		checked++
		imported[path.Dir(file)] = append(imported[path.Dir(file)], imports...)
		for _, problem := range misplaced(path.Dir(file), imports) {
			t.Errorf("%s %s", file, problem)
		}
	}
	if checked < 50 {
		t.Errorf("only %d files found", checked)
	}
	for pkg, allowed := range layers() {
		all, exists := imported[pkg]
		if !exists {
			t.Errorf("the package %s is not there", pkg)
		}
		for _, other := range allowed {
			if other != everything && !slices.Contains(all, path.Join(module, other)) {
				t.Errorf("%s may import %s, and does not", pkg, other)
			}
		}
	}
}

// TestLayersOfTheDesign: docs/design.md names each package once, below those that it imports.
func TestLayersOfTheDesign(t *testing.T) {
	_, table, _ := strings.Cut(read(t, "docs/design.md"), "\n## Packages\n")
	table, _, _ = strings.Cut(table, "\n## ")
	row := map[string]int{}
	for n, names := range regexp.MustCompile(`(?m)^\| (`+"`[^|]+"+`) \|`).FindAllStringSubmatch(table, -1) {
		for _, name := range quoted.FindAllStringSubmatch(names[1], -1) {
			if row[name[1]] != 0 {
				t.Errorf("docs/design.md names the package %s twice", name[1])
			}
			row[name[1]] = n + 1
		}
	}
	for pkg, imported := range layers() {
		if row[pkg] == 0 {
			t.Errorf("docs/design.md does not name the package %s: add it to the table of packages, below those that it imports", pkg)
		}
		for _, other := range imported {
			if other != everything && row[other] >= row[pkg] {
				t.Errorf("%s imports %s, which does not stand in a row above it in docs/design.md", pkg, other)
			}
		}
	}
}

// TestMisplacedImportsAreFound holds the check itself to imports that are wrong.
func TestMisplacedImportsAreFound(t *testing.T) {
	for name, c := range map[string]struct {
		pkg, imports string
		want         bool
	}{
		"the core a driver":                {"interpreter", module + "/tasks", true},
		"a neighbour":                      {"memstore", module + "/redisstore", true},
		"what it is made of":               {"interpreter", module + "/expr", false},
		"a package that nobody knows":      {"helpers", "fmt", true},
		"jq outside expr":                  {"interpreter", "github.com/itchyny/gojq", true},
		"a client in the core":             {"interpreter", "net/http", true},
		"a part of a client in the core":   {"interpreter", "net/http/httptrace", true},
		"another part of the same library": {"runtime/client", "net/url", false},
		"the command imports everything":   {"cmd/swrun", module + "/tasks", false},
	} {
		t.Run(name, func(t *testing.T) {
			if got := misplaced(c.pkg, []string{c.imports}); len(got) > 0 != c.want {
				t.Errorf("got %q", got)
			}
		})
	}
}

// misplaced says which imports a package must not have.
func misplaced(pkg string, imports []string) []string {
	allowed, known := layers()[pkg]
	if !known {
		return []string{"belongs to no layer: add the package to the design and to this table"}
	}
	var problems []string
	for _, imported := range imports {
		ours, ok := strings.CutPrefix(imported, module+"/")
		if imported == module {
			ours, ok = ".", true
		}
		if ok {
			if !slices.Contains(allowed, ours) && !slices.Contains(allowed, everything) && !internal(pkg, ours) {
				problems = append(problems, "may not import "+ours+": see docs/design.md")
			}
		}
		for library, users := range only() {
			if (imported == library || strings.HasPrefix(imported, library+"/")) && !slices.Contains(users, pkg) {
				problems = append(problems, "imports "+imported+", which is for "+strings.Join(users, ", "))
			}
		}
	}
	return problems
}

// internal reports whether imported is a part of pkg that nobody else sees.
func internal(pkg, imported string) bool { return strings.HasPrefix(imported, pkg+"/internal/") }

// mustImports returns the imports of each Go file of the module that is not a test, by its path.
func mustImports(t *testing.T) map[string][]string {
	t.Helper()
	found := map[string][]string{}
	err := filepath.WalkDir(".", func(file string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() && file != "." && (strings.HasPrefix(entry.Name(), ".") || entry.Name() == "testdata") {
			return filepath.SkipDir
		}
		if entry.IsDir() || !strings.HasSuffix(file, ".go") || strings.HasSuffix(file, "_test.go") {
			return nil
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ImportsOnly)
		if err != nil {
			return err
		}
		imports := []string{}
		for _, spec := range parsed.Imports {
			imports = append(imports, strings.Trim(spec.Path.Value, `"`))
		}
		found[filepath.ToSlash(file)] = imports
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}
