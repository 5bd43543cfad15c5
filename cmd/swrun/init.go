package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/swrun/swrun/errors"
	"github.com/swrun/swrun/internal/lazyregexp"
	"github.com/swrun/swrun/internal/terminal"
	"github.com/swrun/swrun/spec"
)

func (p *program) initCommand() *cobra.Command {
	var template string
	names := []string{"hello", "timeout", "http"}
	cmd := &cobra.Command{
		Use: "init [FILE]", Short: "Write a first document",
		Example: `  swrun init hello.yaml
  swrun init quote.yaml --template timeout`,
		Long: "Writes the editor's schema to .swrun/ beside the document, which names it in its first line.",
		Args: atMostOne, ValidArgsFunction: documentArgs,
		RunE: verb(func(args []string) error {
			if err := oneOf("--template", template, names...); err != nil {
				return err
			}
			file := template + ".yaml"
			if len(args) > 0 {
				file = args[0]
			}
			return p.initialise(file, template)
		}),
	}
	cmd.Flags().StringVar(&template, "template", "hello", "template of the document: "+strings.Join(names, ", "))
	completeValues(cmd, "template", names)
	return cmd
}

// schemaFile is the place of the editor's schema that init writes, relative to the document.
const schemaFile = ".swrun/workflow.schema.json"

func (p *program) initialise(file, template string) error {
	text := fmt.Sprintf(initTemplate(template), documentName(file, template))
	if strings.EqualFold(filepath.Ext(file), ".json") {
		return usagef("for example: swrun init "+template+".yaml", "templates are YAML")
	}
	f, err := os.OpenFile(file, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if errors.Is(err, os.ErrExist) {
		return usagef("name another file", "%s exists already", file)
	}
	if err != nil {
		return fileError("the document cannot be written", err)
	}
	_, err = f.WriteString(text)
	if err := errors.Join(err, f.Close(), writeSchema(filepath.Join(filepath.Dir(file), schemaFile))); err != nil {
		_ = os.Remove(file) // without its schema it would obstruct the next attempt
		return fileError("the document and its schema cannot be written", err)
	}
	line := fmt.Sprintf("wrote %s (%s, editor schema attached)", terminal.Printable(file), terminal.Counted(strings.Count(text, "\n"), "line"))
	next := "next: swrun run " + terminal.ShellWord(file)
	if template == "hello" {
		next += " -i name=Ada"
	}
	fmt.Fprintln(p.err, terminal.Pad(line, 58)+"  "+next)
	return nil
}

func writeSchema(file string) error {
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return err
	}
	return os.WriteFile(file, []byte(spec.EditorSchema()), 0o644)
}

var notInName = lazyregexp.New(`[^a-z0-9]+`)

// documentName makes the name of a workflow from the name of a file.
func documentName(file, otherwise string) string {
	stem := strings.TrimSuffix(filepath.Base(file), filepath.Ext(file))
	name := strings.Trim(notInName().ReplaceAllString(strings.ToLower(stem), "-"), "-")
	if name == "" || len(name) > 63 {
		return otherwise
	}
	return name
}

func initTemplate(name string) string {
	const head = "# yaml-language-server: $schema=" + schemaFile + "\ndocument: {dsl: 1.0.3, namespace: demo, name: %s, version: 0.1.0}\n"
	switch name {
	case "timeout":
		return head + `timeout: {after: {minutes: 5}} # of the whole run
do:
  - quote:
      try:
        - askSupplier: # takes two seconds, or the time of the input: -i takes=PT0.5S
            wait: '${ .takes // "PT2S" }'
            timeout: {after: {seconds: 1}}
      catch:
        errors:
          with:
            type: https://serverlessworkflow.io/spec/1.0.0/errors/timeout
        do:
          - useCached:
              set: {price: 42, source: cache, because: '${ $error.title }'}
`
	case "http":
		return head + `timeout: {after: {seconds: 30}}
do:
  - getPet:
      call: http
      with: {method: get, endpoint: 'https://petstore.swagger.io/v2/pet/{petId}'}
      input: {from: '${ { petId: (.petId // 1) } }'}
      timeout: {after: {seconds: 5}}
`
	}
	return head + `do:
  - greet:
      set:
        message: '${ "Hello, " + (.name // "world") + "!" }'
`
}
