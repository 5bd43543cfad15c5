package main

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/swrun/swrun"
	"github.com/swrun/swrun/dsl"
	"github.com/swrun/swrun/errors"
	"github.com/swrun/swrun/internal/api"
	"github.com/swrun/swrun/internal/diagnostics"
	"github.com/swrun/swrun/internal/terminal"
	"github.com/swrun/swrun/runtime/function"
)

func (p *program) functionCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "function", Short: "Deploy functions of the default catalog, list and remove them",
		Example: `  swrun function deploy greet:1.0.0 greet/function.yaml
  swrun function deploy catalog
  swrun function ls
  swrun function rm greet:1.0.0`,
		Long: `Documents of every namespace call a deployed function as greet:1.0.0, or greet:1.0.0@default. A function of the folder or URL
of --catalog takes precedence. A deployed document keeps its copy of each function, even if the function is removed.`,
	}
	cmd.AddCommand(p.functionDeployCommand(), p.functionListCommand(), p.functionShowCommand(), p.functionRemoveCommand())
	group(cmd)
	return cmd
}

func (p *program) functionDeployCommand() *cobra.Command {
	f := &operateFlags{makes: true, remote: true, verb: "function deploy"}
	cmd := &cobra.Command{
		Use: "deploy NAME:VERSION FILE | deploy FOLDER", Short: "Store a function, so that documents can call it",
		Example: `  swrun function deploy greet:1.0.0 greet/function.yaml --store redis://localhost:6379
  swrun function deploy catalog`,
		Long: `FILE is the definition of a task, like the function.yaml of a catalog. The files of its relative references are deployed with
it, and must be below its folder. From FOLDER, each functions/NAME/VERSION/function.yaml is deployed; if one of them is faulty, nothing is deployed.
A function never changes: another function of the same name and version is refused (exit 6).`,
		Args: functionArgs, ValidArgsFunction: documentArgs, RunE: verb(func(args []string) error {
			all, err := p.readFunctions(args)
			if err != nil {
				return err
			}
			return p.operate(f, func(ctx context.Context, o *operation) error { return o.deployFunctions(ctx, all) })
		}),
	}
	f.add(cmd, "human", "json", "yaml")
	f.resourceFlags.add(cmd)
	return cmd
}

// functionArgs takes a name and a file, or a folder.
func functionArgs(cmd *cobra.Command, args []string) error {
	if len(args) == 1 {
		if info, err := os.Stat(args[0]); err != nil || !info.IsDir() {
			return usagef("for example swrun function deploy greet:1.0.0 greet.yaml, or a folder with functions/greet/1.0.0/function.yaml", "%q is no folder, and a file needs the name:version of its function", args[0])
		}
		return nil
	}
	return exactly("a name:version", "a file")(cmd, args)
}

// readFunctions reads functions, and prints the mistakes in each; if one of them is faulty, no function is deployed.
func (p *program) readFunctions(args []string) ([]*swrun.Function, error) {
	files := map[string]string{} // by the function's name:version
	var names []string
	if len(args) == 2 {
		files[args[0]], names = args[1], args[:1]
	} else {
		found, err := filepath.Glob(filepath.Join(escapedGlob(args[0]), "functions", "*", "*", function.File))
		if err != nil || len(found) == 0 {
			return nil, &exitError{code: exitNotFound, message: fmt.Sprintf("%s has no functions/NAME/VERSION/%s", args[0], function.File)}
		}
		for _, file := range found {
			version := filepath.Dir(file)
			named := filepath.Base(filepath.Dir(version)) + ":" + filepath.Base(version)
			files[named], names = file, append(names, named)
		}
	}
	var all []*swrun.Function
	faulty := failures{program: p}
	for _, named := range names {
		f, err := p.readFunction(named, files[named])
		faulty.add(err)
		all = append(all, f)
	}
	return all, faulty.err
}

// escapedGlob returns a pattern that only a path itself matches.
func escapedGlob(path string) string {
	return strings.NewReplacer(`\`, `\\`, "*", `\*`, "?", `\?`, "[", `\[`).Replace(path)
}

// readFunction reads one function, and prints its mistakes.
func (p *program) readFunction(named, file string) (*swrun.Function, error) {
	if err := swrun.CheckFunctionName(named); err != nil { // even if the file is faulty
		return nil, p.functionFailure(nil, err)
	}
	var f *swrun.Function
	var err error
	if file == "-" {
		var text []byte
		if _, text, err = readDocument(p.streams, file); err != nil {
			return nil, err
		}
		f, err = swrun.ParseFunction(named, text, nil)
		f.File = terminal.StandardInput
	} else {
		f, err = swrun.LoadFunction(named, file)
	}
	if err == nil || f != nil {
		return f, p.functionFailure(f, err)
	}
	if info, stat := os.Stat(file); stat == nil && info.IsDir() {
		return nil, usagef("name a file, for example "+filepath.Join(file, function.File), "%s is a folder", file)
	}
	return nil, fileError("the function cannot be read", err)
}

// deployFunctions deploys functions, one after the other.
func (o *operation) deployFunctions(ctx context.Context, all []*swrun.Function) error {
	var deployed []api.DeployedFunction
	for _, f := range all {
		d, _, err := o.deployment.DeployFunction(ctx, f)
		if err != nil {
			return o.functionFailure(f, err)
		}
		deployed = append(deployed, d)
		if o.flags.output == "human" {
			fmt.Fprintln(o.out, f.Name+" deployed")
		}
	}
	if o.flags.output != "human" {
		if err := o.print(deployed); err != nil {
			return err
		}
	}
	return o.warnOfFunctions(ctx, all)
}

// warnOfFunctions prints warnings about deployed functions that need the functions that they call.
func (o *operation) warnOfFunctions(ctx context.Context, all []*swrun.Function) error {
	var runs []running
	var text strings.Builder
	for _, f := range all {
		runs = append(runs, ofFunction(f))
		if f.Check(o.resourcesFrom()) == nil { // otherwise, the error of reading is reported with the children
			text.WriteString(diagnostics.Human(diagnostics.Report{Text: f.Text, Diagnostics: warnings(f.Diagnostics)}, o.errStyle()))
		}
	}
	if err := write(o.err, text.String()); err != nil {
		return err
	}
	return o.warnOfChildren(ctx, runs, "deploy the missing workflows before those tasks begin, or they fail: swrun deploy DOC...")
}

// functionFailure returns the exit of an error about a function, and prints the diagnostics of the function.
func (p *program) functionFailure(f *swrun.Function, err error) error {
	var (
		found    dsl.Diagnostics
		misnamed *swrun.FunctionNameError
		other    *swrun.FunctionDeployedError
		damaged  *function.DamagedError
		problem  *api.Problem
	)
	const remove = "remove it, and deploy it again"
	switch {
	case errors.As(err, &found) && f != nil:
		text := diagnostics.Human(diagnostics.Report{Text: f.Text, Diagnostics: found.Errors()}, p.errStyle())
		return p.printFailure("human", documentExit(found), text, nil)
	case errors.As(err, &misnamed):
		return usagef("for example greet:1.0.0", "%s", misnamed)
	case errors.As(err, &other):
		return &exitError{code: exitConflict, message: "another function is deployed as " + other.Function, hint: "give it a new version"}
	case errors.As(err, &damaged):
		return &exitError{code: exitStore, message: damaged.Error(), hint: remove}
	case errors.As(err, &problem) && problem.Name() == "damaged-function":
		return &exitError{code: exitStore, message: problem.Detail, hint: remove}
	case errors.As(err, &problem) && problem.Name() == "too-large": // from the store: it is full
		return &exitError{code: exitStore, message: problem.Detail}
	}
	return err
}

func (p *program) functionListCommand() *cobra.Command {
	f := &operateFlags{remote: true, looksOnly: true}
	cmd := &cobra.Command{
		Use: "ls", Short: "List the deployed functions", Args: exactly(),
		Example: `  swrun function ls
  swrun function ls -o json --jq '.[].name'`,
		RunE: verb(func([]string) error {
			return p.operate(f, func(ctx context.Context, o *operation) error {
				all, err := o.deployment.Functions(ctx)
				if err != nil {
					return err
				}
				return printList(o, all, functionNames, o.functionTable)
			})
		}),
	}
	f.add(cmd, listForms()...)
	return cmd
}

// functionNames returns all versions of a function, one a line.
func functionNames(f api.Function) string {
	var names []string
	for _, v := range f.Versions {
		names = append(names, f.Name+":"+v.Version)
	}
	return strings.Join(names, "\n")
}

func (o *operation) functionTable(all []api.Function) error {
	table := terminal.NewTable(o.out, "FUNCTION", "DIGEST", "DEPLOYED", "BY")
	for _, f := range all {
		for _, v := range f.Versions {
			digest := v.Digest
			if v.Damaged != "" {
				digest = "damaged"
			}
			table.Row(f.Name+":"+v.Version, digest, cmp.Or(v.DeployedAt, "-"), cmp.Or(v.DeployedBy, "-"))
		}
	}
	return table.Flush()
}

func (p *program) functionShowCommand() *cobra.Command {
	f := &operateFlags{remote: true, looksOnly: true}
	cmd := p.functionVerb(f, &cobra.Command{
		Use: "show NAME:VERSION", Short: "Print a deployed function", Example: "  swrun function show greet:1.0.0",
		Long: "The text of the function goes to standard output; -o json also contains the files that the function refers to.",
	}, func(ctx context.Context, o *operation, named string) error {
		d, err := o.deployment.Function(ctx, named)
		if err != nil {
			return err
		}
		if o.flags.output == "human" {
			return write(o.out, d.Function)
		}
		return o.print(d)
	})
	f.add(cmd, "human", "json", "yaml")
	return cmd
}

func (p *program) functionRemoveCommand() *cobra.Command {
	f := &operateFlags{remote: true}
	cmd := p.functionVerb(f, &cobra.Command{
		Use: "rm NAME:VERSION", Short: "Remove a function; deployed documents that call it keep their copy", Example: "  swrun function rm greet:1.0.0",
	}, func(ctx context.Context, o *operation, named string) error {
		if err := o.deployment.RemoveFunction(ctx, named); err != nil {
			return err
		}
		return write(o.out, named+" removed\n")
	})
	f.add(cmd)
	return cmd
}

// functionVerb completes a verb about one function.
func (p *program) functionVerb(f *operateFlags, cmd *cobra.Command, do func(ctx context.Context, o *operation, named string) error) *cobra.Command {
	cmd.Args, cmd.RunE = exactly("a name:version"), verb(func(args []string) error {
		if err := swrun.CheckFunctionName(args[0]); err != nil {
			return p.functionFailure(nil, err)
		}
		return p.operate(f, func(ctx context.Context, o *operation) error { return p.functionFailure(nil, do(ctx, o, args[0])) })
	})
	return cmd
}
