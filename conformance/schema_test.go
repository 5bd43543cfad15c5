package conformance

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v5"
	"gopkg.in/yaml.v3"

	"github.com/swrun/swrun/dsl"
	"github.com/swrun/swrun/internal/pacetest"
	"github.com/swrun/swrun/spec"
)

// verdict contains the readers that accept a document: the parser, our exact schema, the official schema.
type verdict struct{ parser, exact, official bool }

func (v verdict) agreed() bool { return v.parser == v.exact && v.exact == v.official }

var (
	lenient    = verdict{parser: true, exact: true}   // we accept more than the official schema
	strict     = verdict{official: true}              // we accept less
	parserOnly = verdict{exact: true, official: true} // no schema can detect it, or ours leaves it to the parser
)

// difference is an intended disagreement.
type difference struct {
	name    string
	why     string // with the number of the rule in the semantics, if there is one
	verdict verdict
	at      string // pattern of the mutations, as their String gives them
}

// anyText matches the mutation of a value to text.
const anyText = ` becomes ('.*'|2026-01-01|on)$`

// differences returns all intended disagreements. Any other disagreement fails the test.
func differences() []difference {
	return []difference{
		{"schemas that are null", "1.3a: null is absence, and a schema needs one of document and resource", strict, `/schema/document becomes null$`},
		{"null", "1.3a: null is absence; the schemas tell what to write instead", verdict{parser: true}, ` becomes null$`},
		{"empty text", "1.3a: empty text is not a value", strict, ` becomes ''$`},
		{"unknown properties of a workflow", "no unknown property is let pass; the official root is open", strict,
			`^/(document|input|use|do|timeout|output|schedule|evaluate) (gets a sibling|is spelt .*)$`},
		{"events to emit without attributes", "14.9: an event has a type", strict, `/event/with (is dropped|becomes null|is spelt .*|gets a sibling)$|/emit/event becomes \{.*\}$`},
		{"attributes of events to emit", "14.9: a literal that no event can have is refused, by the rule that refuses the event", parserOnly,
			`/emit/event/with(/[^/]+)? (is|becomes) `},
		{"references of events to emit", "14.9: an event has URIs, whose form the parser tells there", verdict{exact: true},
			`/emit/event/with/(source|dataschema) becomes `},
		{"negative durations", "9.4: a literal duration is not negative", strict,
			`/(days|hours|minutes|seconds|milliseconds) becomes -7$`},
		{"negative numbers of retries", "7.8: there are none fewer than none", strict, `/limit/attempt/count becomes -7$`},
		{"negative amounts of messages", "11.10d: what was consumed is counted", strict, `/consume/amount becomes -7$`},
		{"other versions of the language", "1.1: the DSL is 1.x", strict, `^/document/dsl becomes 2\.0\.0$`},
		{"fractions of years and months", "9.5: years and months are added by the calendar, so they are whole", strict, ` becomes P1\.5[YM]$`},
		{"names of variables", "1.5: a variable is called by a name of jq", parserOnly, `(/for/(each|at)|/foreach/(item|at)|/catch/as)` + anyText},
		{"policies by name", "17.2: the name alone stands for {use: name}", lenient, `/authentication` + anyText},
		{"bearer tokens", "1.7: the token alone stands for {token: token}", lenient, `/bearer` + anyText},
		{"values of headers and queries", "1.7: values of any type", lenient, `/with/(headers|query)(/[^/]+)? becomes `},
		{"arguments as an object", "1.7: up to 1.0.1 arguments were an object", lenient, `/run/[^/]+/arguments becomes (\{.*\}|an object of its items)$`},
		{"arguments as an expression", "one expression may give all arguments, as it may give all headers (11.2)", lenient, `/run/[^/]+/arguments becomes '\$`},
		{"input of workflows", "1.7: input of any type", lenient, `/run/workflow/input becomes `},
		{"items of inline arrays", "1.7, 5.5: items of any type", lenient, `/for/in( becomes \[a\]$|/\d+ becomes )`},
		{"uri for endpoint", "1.7b: documents were published with the older name", lenient, `/with/endpoint is spelt uri$`},
		{"authorities as expressions", "an authority is a URI, and URIs may be expressions elsewhere", lenient, `/(oauth2|oidc)/authority becomes ' ?\$`},
		{"what a grant needs", "17.3: no schema has what a grant, or the proof of a client, cannot do without", parserOnly,
			`/(oauth2|oidc)/(grant|client|username|password|subject)( .*|/.*)?$`},
		{"parameters of token requests", "17.3: the official schema lets a request have any properties", strict, `/request/parameters`},
		{"parameters that are null", "1.3a: null is absence", verdict{parser: true, official: true}, `/request/parameters becomes null$`},
		{"certificates", "17.5: the specification names them, and its schema does not", lenient, `^/do/\d+/callWithCertificate(/| )`},
		{"instances of errors", "7.13: a given instance is kept as it is", lenient, `/instance (becomes|is written .*:) `},
		{"expressions of several lines", "2.1: white space around and in an expression means nothing; the official pattern ends at a line break", lenient,
			` becomes "\$\{ \.x\\n\}"$`},
		{"malformed URIs", "formats are annotations in draft 2020-12; the parser looks for white space and expressions only", lenient,
			` becomes ('%zz'|'https://\[x'|':')$`},
		{"arguments of activities", "11.13: the official schema lets any function have any arguments", strict, `^/do/\d+/callActivity(Again)?/(with[/ ]|call is ).*| becomes activity:1\.0\.0@default$`},
		{"arguments that are null", "1.3a: null is absence", verdict{parser: true, official: true}, `/call(Activity(Again)?|ContinueAsNew)/with/.* becomes null$`},
		{"arguments of continue-as-new", "10.8: the official schema lets any function have any arguments", strict, `^/do/\d+/callContinueAsNew/(with[/ ]|call is )|becomes continue-as-new:1\.0\.0@default$`},
		{"times in event filters", "14.6: a filter's attribute may be a pattern", lenient, `/(all|any|one)(/\d+)?/with/time (becomes|is written .*:) `},
	}
}

// judges compares the four readings of a document and counts.
type judges struct {
	exact, editor, official *jsonschema.Schema
	differences             []difference
	patterns                []*regexp.Regexp

	agreed, told int
	used         map[string]int
}

func mustJudges(t *testing.T) *judges {
	t.Helper()
	j := &judges{official: mustOfficial(t), exact: mustSchema(t, spec.Schema()), editor: mustSchema(t, spec.EditorSchema())}
	j.differences, j.used = differences(), map[string]int{}
	for _, d := range j.differences {
		j.patterns = append(j.patterns, regexp.MustCompile(d.at))
	}
	return j
}

// judge fails the test unless the three readers agree on the mutated document, or have an intended disagreement.
func (j *judges) judge(t *testing.T, m mutation) {
	t.Helper()
	text := m.document(t)
	value := plain(mustNode(t, text))
	_, found := dsl.Parse("mutated.yaml", text)
	got := verdict{found.Err() == nil, j.exact.Validate(value) == nil, j.official.Validate(value) == nil}
	j.judgeEditor(t, m, value, got, found)
	switch {
	case m.what == doubled:
		j.told++
		if got.parser || !isTold(found, "SW103", "SW121") {
			t.Errorf("%s: the parser must tell of the second key: %v", m, found)
		}
	case got.agreed():
		j.agreed++
	default:
		i := j.meant(m, got)
		if i < 0 {
			t.Errorf("%s: accepted by %+v: %v\n%s", m, got, found, text)
			return
		}
		j.used[j.differences[i].name]++
	}
}

// meant returns the index of the difference that explains a verdict on a mutated document, or -1.
func (j *judges) meant(m mutation, got verdict) int {
	for i, p := range j.patterns {
		if j.differences[i].verdict == got && p.MatchString(m.String()) {
			return i
		}
	}
	return -1
}

// judgeEditor compares the editor's schema with the exact one: it additionally refuses only properties that the parser warns of, which have no
// meaning in their place.
func (j *judges) judgeEditor(t *testing.T, m mutation, value any, got verdict, found dsl.Diagnostics) {
	t.Helper()
	editor := j.editor.Validate(value) == nil
	if editor != got.exact && (editor || !isTold(found, "SW128")) {
		t.Errorf("%s: accepted by the editor's schema: %v, by the exact one: %v: %v", m, editor, got.exact, found)
	}
}

func isTold(found dsl.Diagnostics, codes ...string) bool {
	return slices.ContainsFunc(found, func(d dsl.Diagnostic) bool { return slices.Contains(codes, d.Code) })
}

// TestSchemaAgreement changes the specification's examples, and the document that uses every property, in every place and in many ways, one at a
// time. The parser, our schema and the official schema must agree on which documents are workflows.
func TestSchemaAgreement(t *testing.T) {
	t.Parallel()
	j := mustJudges(t)
	examples := officialExamples(t)
	all := append(examples, pieces(mustRead(t, "../dsl/testdata/valid/everything.yaml"))...)
	seeds, seen := pacetest.Thinned(all, 20), map[string]bool{} // the test has one goroutine
	for _, seed := range seeds {
		eachMutation(seed, func(m mutation) {
			place := m.place()
			if !seen[place] {
				seen[place] = true
				j.judge(t, m)
			}
		})
	}
	t.Logf("%d examples, %d mutations: %d agreements, %d second keys that only the parser can tell of",
		len(examples), len(seen), j.agreed, j.told)
	for _, d := range j.differences {
		t.Logf("%4d %s (%s)", j.used[d.name], d.name, d.why)
		if j.used[d.name] == 0 && len(seeds) == len(all) {
			t.Errorf("nothing needs the difference %q", d.name)
		}
	}
	if len(seen) < pacetest.Fewer(500, 50) {
		t.Errorf("only %d mutations, want 500 at least", len(seen))
	}
}

// TestAllAcceptTheExamples: all readers accept the unchanged examples.
func TestAllAcceptTheExamples(t *testing.T) {
	j := mustJudges(t)
	files, err := filepath.Glob(officialFolder + "/examples/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("the specification's examples are missing (%v)", err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if _, found := dsl.Parse(file, text); found.Err() != nil {
				t.Errorf("the parser: %v", found)
			}
			for name, s := range map[string]*jsonschema.Schema{"exact": j.exact, "editor": j.editor, "official": j.official} {
				if err := s.Validate(plain(mustNode(t, text))); err != nil {
					t.Errorf("the %s schema: %#v", name, err)
				}
			}
		})
	}
}

func officialExamples(t *testing.T) []*yaml.Node {
	t.Helper()
	files, err := filepath.Glob(officialFolder + "/examples/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("the specification's examples are missing (%v)", err)
	}
	var all []*yaml.Node
	for _, file := range files {
		all = append(all, mustRead(t, file))
	}
	return all
}

func mustRead(t *testing.T, file string) *yaml.Node {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return mustNode(t, text)
}
