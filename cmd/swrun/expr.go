package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/swrun/swrun/errors"
	"github.com/swrun/swrun/expr"
	"github.com/swrun/swrun/internal/terminal"
)

func (p *program) exprCommand() *cobra.Command {
	var inputs []string
	var output string
	var raw bool
	cmd := &cobra.Command{
		Use: "expr EXPRESSION", Short: "Evaluate a runtime expression",
		Example: `  swrun expr '.items | length' -i '{"items":[1,2]}'
  swrun expr '${ .name | ascii_upcase }' -i name=ada`,
		Long: "Exit 0: evaluated, 2: no valid expression, 10: it failed for this input.",
		Args: exactly("an expression"), ValidArgsFunction: cobra.NoFileCompletions,
		RunE: verb(func(args []string) error {
			if err := oneOf("-o", output, outputForms()...); err != nil {
				return err
			}
			return p.evaluate(args[0], inputs, &printer{w: p.out, form: output, raw: raw, pretty: p.outTTY})
		}),
	}
	cmd.Flags().StringArrayVarP(&inputs, "input", "i", nil, "input: JSON, @FILE, -, name=text, name:=json (repeatable)")
	cmd.Flags().StringVarP(&output, "output", "o", "json", strings.Join(outputForms(), " or "))
	cmd.Flags().BoolVarP(&raw, "raw-output", "r", false, "print text as it is, without quotes")
	completeValues(cmd, "output", outputForms())
	return cmd
}

func (p *program) evaluate(source string, inputs []string, printer *printer) error {
	q, err := compileQuery("the expression", source, p.now)
	if err != nil {
		return err
	}
	if q == nil {
		return usagef("for example: swrun expr '.name' -i name=Ada", "the expression is empty")
	}
	bounds, err := p.limits(nil)
	if err != nil {
		return err
	}
	input, err := readInput(p.streams, inputs, bounds)
	if err != nil {
		return err
	}
	v, err := q.apply(input)
	if fault := errors.AsError(err); fault != nil {
		return &exitError{code: exitFaulted, message: fault.Error()}
	}
	if err != nil {
		return err
	}
	return printer.document(v)
}

// syntaxUsage shows the position of a syntax error in an expression of the command line.
func syntaxUsage(flag, source string, err error) error {
	var syntax *expr.SyntaxError
	if !errors.As(err, &syntax) {
		return usagef("", "%s: %s", flag, err)
	}
	offset := min(max(syntax.Offset, 0), len(source))
	before := terminal.Printable(source[:offset])
	return usagef("", "%s is not a valid expression: %s\n%s\n%s^", flag, syntax.Msg, terminal.Printable(source),
		strings.Repeat(" ", terminal.Width(fmt.Sprint(before))))
}
