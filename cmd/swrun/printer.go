package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"gopkg.in/yaml.v3"

	"github.com/swrun/swrun/expr"
	"github.com/swrun/swrun/internal/delimited"
	"github.com/swrun/swrun/internal/jsonvalue"
)

// outputForms returns the values of -o for data.
func outputForms() []string { return []string{"json", "yaml"} }

// outputFlags specify the form of printed data, and the part that is printed.
type outputFlags struct {
	output, jq string
	raw        bool
	forms      []string    // the valid values of -o; nil for verbs that print no data
	chosen     *pflag.Flag // -o
}

func (f *outputFlags) add(cmd *cobra.Command, forms ...string) {
	f.forms = forms
	flags := cmd.Flags()
	flags.StringVarP(&f.output, "output", "o", forms[0], "format of the output: "+strings.Join(forms, ", "))
	flags.StringVar(&f.jq, "jq", "", "jq expression that transforms JSON and YAML output; each of its outputs is printed")
	flags.BoolVarP(&f.raw, "raw-output", "r", false, "print text as it is, without quotes")
	f.chosen = flags.Lookup("output")
	completeValues(cmd, "output", forms)
}

// printer checks the flags and returns a printer for their form.
func (f *outputFlags) printer(p *program) (*printer, error) {
	if len(f.forms) == 0 {
		return &printer{w: p.out, form: "json"}, nil
	}
	if err := oneOf("-o", f.output, f.forms...); err != nil {
		return nil, err
	}
	q, err := compileOutputs("--jq", f.jq, p.now)
	if err != nil {
		return nil, err
	}
	if reshaped := q != nil || f.raw; reshaped && !slices.Contains([]string{"json", "yaml", "ndjson"}, f.output) {
		if f.chosen.Changed {
			return nil, usagef("leave out -o, or choose json", "--jq and -r are for JSON and YAML, not for -o %s", f.output)
		}
		f.output = "json" // the only form that --jq can reshape
	}
	return &printer{w: p.out, form: f.output, raw: f.raw, pretty: p.outTTY, query: q}, nil
}

// printer prints data in one form.
type printer struct {
	w       io.Writer
	form    string // json, yaml or ndjson
	raw     bool   // text without quotes
	pretty  bool   // JSON on several lines, for people
	query   *query // the printed part of the data
	mask    *mask  // hides texts in the output; may be nil
	printed bool
}

// print prints the outputs of --jq for data, each as a document of its own.
func (p *printer) print(v any) error {
	outputs, err := p.query.outputs(v)
	if err != nil {
		return err
	}
	for _, v := range outputs {
		if err := p.document(v); err != nil {
			return err
		}
	}
	return nil
}

func (p *printer) document(v any) error {
	v = p.mask.Value(v)
	if text, ok := v.(string); ok && p.raw {
		return write(p.w, text+"\n")
	}
	if p.form == "yaml" && p.printed {
		if err := write(p.w, "---\n"); err != nil {
			return err
		}
	}
	p.printed = true
	if p.form == "json" && p.pretty {
		return writePretty(p.w, v)
	}
	return writeOutput(p.w, v, p.form)
}

func writePretty(w io.Writer, v any) error {
	line, err := encoded(v)
	if err != nil {
		return err
	}
	var b bytes.Buffer
	if err := json.Indent(&b, line, "", "  "); err != nil {
		return err
	}
	return write(w, b.String()+"\n")
}

func encoded(v any) ([]byte, error) {
	line, err := expr.Encode(v)
	if err != nil {
		return nil, fmt.Errorf("the output cannot be written as JSON: %w", err)
	}
	return line, nil
}

// writeOutput prints data as one document, JSON on one line.
func writeOutput(w io.Writer, v any, form string) error {
	line, err := encoded(v)
	if err != nil {
		return err
	}
	if form == "yaml" {
		return writeYAML(w, line)
	}
	return write(w, string(line)+"\n")
}

// writeYAML prints JSON text as YAML: the detour gives both forms the same numbers and order.
func writeYAML(w io.Writer, text []byte) error {
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	var v any
	if err := decoder.Decode(&v); err != nil {
		return err
	}
	encoder := yaml.NewEncoder(w)
	encoder.SetIndent(2)
	if err := encoder.Encode(yamlNode(v)); err != nil {
		return err
	}
	return encoder.Close()
}

// yamlNode keeps numbers as they are written, which yaml.v3 would print as text.
func yamlNode(v any) any {
	return jsonvalue.Map(v, func(leaf any) any {
		if n, ok := leaf.(json.Number); ok {
			return &yaml.Node{Kind: yaml.ScalarNode, Tag: numberTag(n), Value: n.String()}
		}
		return leaf
	})
}

// numberTag returns the tag that yaml.v3 would find itself: it writes any other tag before the number, and data have no tags.
func numberTag(n json.Number) string {
	_, err := n.Int64()
	if _, unsigned := strconv.ParseUint(n.String(), 10, 64); err == nil || unsigned == nil {
		return "!!int"
	}
	return "!!float"
}

// query is a compiled --jq.
type query struct {
	code *expr.Code
	now  func() time.Time
}

func compileQuery(flag, source string, now func() time.Time) (*query, error) {
	if source == "" {
		return nil, nil
	}
	if err := jsonvalue.CheckUTF8([]byte(source)); err != nil {
		return nil, usagef("", "%s is not a valid expression: %s", flag, err)
	}
	code, err := expr.Compile(source)
	if err != nil {
		return nil, syntaxUsage(flag, source, err)
	}
	for _, name := range code.Variables() {
		return nil, usagef("variables are not available here; . is the value for which the expression is evaluated", "%s uses the variable $%s", flag, name)
	}
	return &query{code: code, now: now}, nil
}

// compileOutputs is compileQuery for a query whose outputs are taken one by one.
func compileOutputs(flag, source string, now func() time.Time) (*query, error) {
	q, err := compileQuery(flag, source, now) // compiled alone, so that a mistake is shown at its place
	if q == nil || err != nil {
		return nil, err
	}
	return compileQuery(flag, "["+delimited.Inside(source)+"\n]", now) // the line break ends a comment
}

// apply returns the result of q for v.
func (q *query) apply(v any) (any, error) { return q.code.Eval(q, v) }

// outputs returns each output of q for v. A nil query returns v unchanged.
func (q *query) outputs(v any) ([]any, error) {
	if q == nil {
		return []any{v}, nil
	}
	all, err := q.apply(v)
	if err != nil {
		return nil, err
	}
	list, _ := all.([]any) // the query is compiled to a list
	return list, nil
}

// Variable returns nil: compileQuery has refused all variables.
func (q *query) Variable(string) any { return nil }

// Now is the clock of jq's now.
func (q *query) Now() time.Time { return q.now() }
