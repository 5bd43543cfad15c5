package main

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/swrun/swrun"
	"github.com/swrun/swrun/errors"
	"github.com/swrun/swrun/internal/api"
	"github.com/swrun/swrun/internal/shorten"
	"github.com/swrun/swrun/internal/terminal"
	"github.com/swrun/swrun/runtime/client"
	"github.com/swrun/swrun/runtime/definition"
	"github.com/swrun/swrun/runtime/store"
)

// startFlags are the flags of start.
type startFlags struct {
	operateFlags
	inputs, labels               []string
	id, onDuplicate, businessKey string
	timeouts                     timeoutFlags
	delay, timeoutStart          string
}

func (p *program) startCommand() *cobra.Command {
	f := &startFlags{operateFlags: operateFlags{remote: true}}
	cmd := &cobra.Command{
		Use: "start [NAMESPACE/]NAME[:VERSION]", Short: "Start a run of a deployed workflow",
		Example: `  swrun start demo/order -i @order.json --id order-7
  swrun start demo/report --execution-timeout 2h --delay 10m`,
		Long: "Prints the run's id. A worker runs it: swrun worker, or swrun serve.",
		Args: exactly("a workflow"), RunE: verb(func(args []string) error {
			reference, options, err := f.parse(p, args[0])
			if err != nil {
				return err
			}
			return p.operate(&f.operateFlags, func(ctx context.Context, o *operation) error { return o.start(ctx, reference, options, f) })
		}),
	}
	f.add(cmd, "name", "json", "yaml")
	f.within(cmd)
	f.options(cmd)
	return cmd
}

// options adds the flags of a start.
func (f *startFlags) options(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringArrayVarP(&f.inputs, "input", "i", nil, "input of the run: JSON, @FILE, -, name=text, name:=json (repeatable)")
	flags.StringVar(&f.id, "id", "", "id of the run (default a new id)")
	flags.StringVar(&f.onDuplicate, "on-duplicate", client.OnDuplicateReject, "policy if a run with the id exists: reject, return-existing, or return-existing-active, which returns a run in progress and rejects after an ended run")
	flags.StringVar(&f.businessKey, "business-key", "", "your own key, by which the run can be found")
	flags.StringArrayVar(&f.labels, "label", nil, "label of the run, name=value (repeatable)")
	f.timeouts.add(cmd)
	flags.StringVar(&f.delay, "delay", "", "time to wait before the run starts")
	flags.StringVar(&f.timeoutStart, "timeout-starts", "dequeue", "begin of the timeouts: dequeue, when a worker takes the run, or accept, now")
	completeValues(cmd, "on-duplicate", client.DuplicatePolicies())
	completeValues(cmd, "timeout-starts", []string{"dequeue", "accept"})
}

func (f *startFlags) read() (client.StartOptions, error) {
	o := client.StartOptions{ID: f.id, OnDuplicate: client.ReadDuplicatePolicy(f.onDuplicate), BusinessKey: f.businessKey, TimeoutsFromAccept: f.timeoutStart == "accept"}
	if err := oneOf("--timeout-starts", f.timeoutStart, "dequeue", "accept"); err != nil {
		return o, err
	}
	var err error
	if o.Labels, err = parseLabels(f.labels); err != nil {
		return o, err
	}
	if o.Delay, err = parseSpan("--delay", f.delay); err != nil {
		return o, err
	}
	if err := f.timeouts.read(&o); err != nil {
		return o, err
	}
	return o, o.Check()
}

// parseWorkflow reads namespace/name or namespace/name:version.
func parseWorkflow(name string) (definition.Reference, error) {
	reference, err := definition.ParseReference(name)
	if err != nil {
		return reference, usagef("for example demo/order or demo/order:1.0.0", "%s", shorten.To(err.Error(), 200))
	}
	return reference, checkNames(reference.Namespace, reference.Name, reference.Version)
}

// parse returns the workflow and the options of the start; it refuses impossible values before a store is opened.
func (f *startFlags) parse(p *program, name string) (definition.Reference, client.StartOptions, error) {
	err := f.resolve(p)
	if err == nil {
		name, err = f.qualified(name)
	}
	if err != nil {
		return definition.Reference{}, client.StartOptions{}, err
	}
	bare := !strings.Contains(name, "/")
	if bare {
		name = "NAMESPACE/" + name
	}
	reference, err := parseWorkflow(name)
	if bare {
		reference.Namespace = "" // the store knows which namespaces have such a workflow
	}
	if err != nil {
		return reference, client.StartOptions{}, err
	}
	options, err := f.read()
	if err != nil {
		return reference, options, refusalError(err)
	}
	return reference, options, f.timeouts.notPast(options, p.now())
}

func (o *operation) start(ctx context.Context, reference definition.Reference, options client.StartOptions, f *startFlags) error {
	if reference.Namespace == "" {
		return o.noNamespace(ctx, reference.Name)
	}
	bounds, err := o.limits(nil)
	if err != nil {
		return err
	}
	input, err := readInput(o.streams, f.inputs, bounds)
	if err != nil {
		return err
	}
	request, err := api.NewStartRequest(reference, input, options)
	if err != nil {
		return err
	}
	run, again, err := o.deployment.Start(ctx, request)
	if isNotDeployed(err) {
		return o.notDeployed(ctx, reference)
	}
	var exists *swrun.RunExistsError
	if errors.As(err, &exists) {
		return &exitError{code: exitConflict, message: err.Error(), hint: existsHint}
	}
	if fault := unfitInput(err); fault != nil {
		return f.inputRefused(err)
	}
	if err != nil {
		return err
	}
	if again {
		text := fmt.Sprintf("%s is there already, and is %s: nothing was started", run.Instance(), run.Status)
		fmt.Fprintln(o.err, o.errStyle().Text(text))
	}
	if f.output == "name" {
		_, err = fmt.Fprintln(o.out, run.ID)
		return err
	}
	return o.print(run.Started)
}

// inputRefused returns the error of an input that the workflow refuses.
func (f *startFlags) inputRefused(err error) error {
	e := exitOf(refusalError(err))
	e.hint = "nothing was started: give another input with -i, or -i @FILE"
	if typed := typedInput(f.inputs); typed != "" {
		e.hint = "name=value is text; for a number, a boolean or null write -i " + terminal.ShellWord(typed)
	}
	return e
}

// isNotDeployed reports whether a start is refused because its workflow is not deployed.
func isNotDeployed(err error) bool {
	var p *api.Problem
	return store.RefusedAs(err) == store.NoSuch || errors.As(err, &p) && p.Name() == "not-deployed"
}

// maxNamed is the maximum number of versions or namespaces in a hint.
const maxNamed = 5

// notDeployed returns the error of a workflow that is not deployed. It names other deployed versions.
func (o *operation) notDeployed(ctx context.Context, r definition.Reference) error {
	name := r.Namespace + "/" + r.Name
	if r.Version != definition.Latest {
		name = r.String()
	}
	e := &exitError{code: exitNotFound, message: fmt.Sprintf("the workflow %s is not deployed in %s", name, o.at), hint: "swrun deploy DOC" + o.flags.target() + " makes it known"}
	found, err := o.deployment.Workflow(ctx, r.Namespace, r.Name)
	if err != nil || len(found.Versions) == 0 {
		if elsewhere := o.sameName(ctx, r.Name); elsewhere != "" {
			e.hint = elsewhere
		}
		return e // the error is complete without them
	}
	var versions []string
	for _, v := range found.Versions {
		versions = append(versions, v.Version)
	}
	e.hint = fmt.Sprintf("deployed versions of %s/%s: %s", r.Namespace, r.Name, firstOf(versions))
	return e
}

// noNamespace returns the error of a workflow that is named without its namespace.
func (o *operation) noNamespace(ctx context.Context, name string) error {
	hint := cmp.Or(o.sameName(ctx, name), "for example demo/"+name+", or -n demo; no workflow of that name is deployed in "+o.at)
	return usagef(hint, "%q has no namespace", shorten.To(name, maxShownValue))
}

// sameName returns the namespaces in which a workflow of this name is deployed; "" if there are none.
func (o *operation) sameName(ctx context.Context, name string) string {
	all, err := o.deployment.Workflows(ctx, "")
	if err != nil {
		return ""
	}
	var there []string
	for _, w := range all {
		if w.Name == name {
			there = append(there, w.Namespace)
		}
	}
	if len(there) == 0 {
		return ""
	}
	return fmt.Sprintf("%s is deployed in %s: name it as %s/%s, or with -n %s", name, firstOf(there), there[0], name, there[0])
}

// firstOf lists the first of many names.
func firstOf(names []string) string {
	shown := strings.Join(names[:min(maxNamed, len(names))], ", ")
	if len(names) > maxNamed {
		shown += ", …"
	}
	return shown
}
