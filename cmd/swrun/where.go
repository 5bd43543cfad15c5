package main

import (
	"context"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/swrun/swrun/internal/terminal"
	"github.com/swrun/swrun/runtime/client"
	"github.com/swrun/swrun/runtime/store"
)

// This file chooses runs by what they are: --where 'status=waiting workflow=demo/*'.

const whereUsage = "runs that fit: status=, workflow=, namespace=, id=, key=, label.NAME=, with * and ? in values"

// condition is one part of --where.
type condition struct {
	field, value string
	negated      bool
}

type whereConditions []condition

// parseWhere reads whereConditions: field=value or field!=value, all of which must hold.
func parseWhere(text string) (whereConditions, error) {
	var all whereConditions
	for _, word := range strings.Fields(text) {
		field, value, ok := strings.Cut(word, "=")
		c := condition{field: strings.TrimSuffix(field, "!"), value: value, negated: strings.HasSuffix(field, "!")}
		if _, bad := path.Match(value, ""); !ok || bad != nil || value == "" || c.field == labelField {
			return nil, usagef("for example --where 'status=waiting workflow=demo/*'", "--where: %q is not a condition", word)
		}
		if err := c.check(); err != nil {
			return nil, err
		}
		all = append(all, c)
	}
	return all, nil
}

const labelField = "label." // and the label's name

// check refuses fields that no run has, and values that no run can have.
func (c condition) check() error {
	if !strings.HasPrefix(c.field, labelField) {
		if err := oneOf("--where", c.field, "status", "workflow", "namespace", "id", "key", labelField+"NAME"); err != nil {
			return err
		}
	}
	switch exact := !strings.ContainsAny(c.value, "*?["); {
	case exact && c.field == "status":
		return oneOf("--where status", c.value, statuses()...)
	case exact && c.field == "workflow":
		return checkRunsOf("--where workflow", c.value)
	}
	return nil
}

// matches reports whether every condition holds for a run.
func (all whereConditions) matches(f client.Found) bool {
	for _, c := range all {
		if slices.ContainsFunc(c.values(f), c.matches) == c.negated {
			return false
		}
	}
	return true
}

// status reports whether a value is what the condition wants; * and ? stand for a slash too.
func (c condition) matches(value string) bool {
	const slash = "\x00"
	ok, _ := path.Match(strings.ReplaceAll(c.value, "/", slash), strings.ReplaceAll(value, "/", slash)) // parseWhere has checked the pattern
	return ok
}

// values returns what the condition's field is for a run, in each form in which it may be written; nothing if it has none.
func (c condition) values(f client.Found) []string {
	value, present := "", true
	switch c.field {
	case "status":
		value = f.Status()
	case "workflow":
		r := f.Invocation.Workflow
		return []string{r.String(), r.Namespace + "/" + r.Name}
	case "namespace":
		value = f.Instance.Namespace
	case "id":
		value = f.Instance.ID
	case "key":
		value, present = f.Invocation.BusinessKey, f.Invocation.BusinessKey != ""
	default:
		value, present = f.Invocation.Labels[strings.TrimPrefix(c.field, labelField)]
	}
	if !present {
		return nil
	}
	return []string{value}
}

// selectFlags choose the runs of a verb that takes several.
type selectFlags struct {
	where string
	yes   bool
}

func (f *selectFlags) add(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.where, "where", "", whereUsage)
	cmd.Flags().BoolVarP(&f.yes, "yes", "y", false, "with --where: do not ask")
}

// arguments requires runs by name or by --where, and not both.
func (f *selectFlags) arguments(cmd *cobra.Command, args []string) error {
	switch {
	case len(args) == 0 && f.where == "":
		return usagef("usage: "+cmd.UseLine(), "%s needs runs: their names, or --where", cmd.CommandPath())
	case len(args) > 0 && f.where != "":
		return usagef("leave out one of them", "%s takes either the names of runs or --where, not both", cmd.CommandPath())
	}
	return nil
}

// selected returns the runs that are named, or those that --where selects, which are counted and confirmed. Unknown is as
// named returns it.
func (o *operation) selected(ctx context.Context, f *selectFlags, names []string, verb string) (all []store.Instance, unknown, err error) {
	if f.where == "" {
		return o.named(ctx, names)
	}
	chosen, err := parseWhere(f.where)
	if err != nil {
		return nil, nil, err
	}
	err = o.client.List(ctx, client.Filter{Namespace: o.flags.namespace}, func(r client.Found) bool {
		if chosen.matches(r) {
			all = append(all, r.Instance)
		}
		return true
	})
	if err != nil {
		return nil, nil, err
	}
	if len(all) == 0 {
		_, err = fmt.Fprintln(o.err, o.errStyle().Text("there is nothing to "+verb+": no run fits --where "+terminal.ShellWord(f.where)))
		return nil, nil, err
	}
	return all, nil, o.confirm(f, verb, len(all))
}

// confirm asks whether the verb is for so many runs. Without a terminal, --yes has to say so.
func (o *operation) confirm(f *selectFlags, verb string, n int) error {
	if f.yes {
		return nil
	}
	question := fmt.Sprintf("%s %s?", verb, terminal.Counted(n, "run"))
	if !o.inTTY || !o.errTTY {
		return usagef("add --yes to confirm", "%s Nobody is there to say yes", question)
	}
	fmt.Fprint(o.err, question+" [y/N] ")
	var answer string
	_, _ = fmt.Fscanln(o.in, &answer) // no answer is no
	if answer = strings.ToLower(answer); answer != "y" && answer != "yes" {
		return quietExit(exitUsage)
	}
	return nil
}
