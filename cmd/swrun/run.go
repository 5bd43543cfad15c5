package main

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"github.com/swrun/swrun"
	"github.com/swrun/swrun/dsl"
	"github.com/swrun/swrun/errors"
	"github.com/swrun/swrun/internal/api"
	"github.com/swrun/swrun/internal/faultreport"
	"github.com/swrun/swrun/internal/progress"
	"github.com/swrun/swrun/interpreter"
	"github.com/swrun/swrun/runtime/execution"
	"github.com/swrun/swrun/runtime/store"
)

// runFlags are the flags of run, as p.secrets.
type runFlags struct {
	inputs, events, workflows, limits        []string
	secrets, errors, progress, clock, js, id string
	outputFlags
	host     hostFlags
	timeouts timeoutFlags
	store    storeFlags
	// Of --follow-schedule:
	follow bool
	until  string
	// lifecycle are the types of events that --progress json shows.
	lifecycle string
	types     progress.Types
}

func (p *program) runCommand() *cobra.Command {
	f := &runFlags{store: storeFlags{alone: true}}
	cmd := &cobra.Command{
		Use: "run DOC", Short: "Run a workflow and print its output",
		Example: `  swrun run hello.yaml -i name=Ada
  swrun run order.yaml -i @order.json --secrets secrets.yaml | jq .total
  swrun run order.yaml --id order-7`,
		Long: `DOC is a file, or - for standard input. Standard output gets the workflow's output and nothing else.
Exit 0: completed, 3: the document is invalid, 4: input.schema refuses the input, 6: --id is another run,
10: faulted, 124: timed out, 130: interrupted. With --id the run is kept in the store of --store or SWRUN_STORE, by default
.swrun/store.db of the project. After a kill, the same command continues the run. --store alone keeps the run under a new id;
SWRUN_STORE alone keeps nothing. run.workflow tasks find other documents in the folder of DOC.`,
		Args: exactly("a document"), ValidArgsFunction: documentArgs,
		RunE: verb(func(args []string) error { return p.reportFailure(f.errors, p.runDocument(args[0], f)) }),
	}
	flags := cmd.Flags()
	flags.StringArrayVarP(&f.inputs, "input", "i", nil, "input: JSON, @FILE, -, name=text, name:=json (repeatable)")
	flags.StringVar(&f.secrets, "secrets", "", "file or folder of secrets, name: value (also SWRUN_SECRET_<NAME>)")
	flags.StringVar(&f.errors, "errors", "human", "form of a failure on standard error: human or json")
	flags.StringVar(&f.progress, "progress", progress.Auto, "form of the progress on standard error: "+strings.Join(progress.Modes(), ", "))
	flags.StringVar(&f.lifecycle, "lifecycle", "", "types of the events that --progress json shows, for example workflow,task.faulted,emitted (default all but status-changed)")
	flags.StringVar(&f.clock, "clock", "real", "clock of the run: real, or virtual, on which waits take no time")
	flags.StringArrayVar(&f.events, "event", nil, "file of CloudEvents for tasks that listen and for the schedule, or - for standard input (repeatable)")
	flags.StringVar(&f.js, "js", "quickjs", "engine of JavaScript: quickjs or node")
	flags.StringArrayVar(&f.workflows, "workflow", nil, "file of another document, for run.workflow tasks (repeatable)")
	f.timeouts.add(cmd)
	f.outputFlags.add(cmd, outputForms()...)
	flags.StringVar(&f.id, "id", "", "id under which a store keeps the run; the same command continues it")
	flags.BoolVar(&f.follow, "follow-schedule", false, "start runs at the times and on the events of the schedule, until an interrupt or the end of --until")
	flags.StringVar(&f.until, "until", "", "time for which the schedule is followed, for example 8h or P30D; it passes immediately with --clock virtual")
	f.host.add(cmd, swrun.NetworkAny)
	flags.StringArrayVar(&f.limits, "limit", nil, "limit NAME=VALUE, for example input=8MiB (repeatable; also "+limitsVariable+")")
	f.store.add(cmd)
	flags.Lookup("store").Usage = "URL of the store that keeps the run, under a new id without --id: " + storeForms + " or memory: (with --id also SWRUN_STORE)"
	completeValues(cmd, "errors", []string{"human", "json"})
	completeValues(cmd, "progress", progress.Modes())
	completeValues(cmd, "clock", []string{"real", "virtual"})
	completeValues(cmd, "js", []string{"quickjs", "node"})
	return cmd
}

func (f *runFlags) check(document string) error {
	stdin := []string{document}
	stdin = append(stdin, f.inputs...)
	if f.durable() && f.clock == "virtual" {
		return usagef("leave out --clock virtual, or --id and --store", "a run in a store uses the clock of the store")
	}
	if f.durable() && len(f.events) > 0 {
		return usagef("leave out --event, or --id and --store", "a run in a store receives events from its deployment")
	}
	return cmp.Or(
		oneOf("--errors", f.errors, "human", "json"),
		oneOf("--progress", f.progress, progress.Modes()...),
		oneOf("--clock", f.clock, "real", "virtual"),
		oneOf("--js", f.js, "quickjs", "node"),
		oneOf("-o", f.output, outputForms()...),
		f.checkSchedule(),
		f.checkLifecycle(),
		onlyOneStdin(slices.Concat(stdin, f.workflows, f.events)),
	)
}

func (f *runFlags) checkLifecycle() error {
	if f.lifecycle != "" && f.progress != progress.JSON {
		return usagef("add --progress json", "--lifecycle selects events of --progress json")
	}
	var err error
	if f.types, err = progress.ParseTypes(f.lifecycle); err != nil {
		return usagef("for example --lifecycle workflow,task.faulted", "--lifecycle: %s", err)
	}
	return nil
}

// job is a run that is ready to start.
type job struct {
	program   *program
	flags     *runFlags
	document  *swrun.Document
	others    []*swrun.Document // the documents of --workflow
	documents *swrun.Documents  // that its tasks may run
	host      swrun.Host
	found     dsl.Diagnostics // in the document, before the functions of catalogs and URLs that it calls were read
	input     any
	events    *runEvents
	options   swrun.StartOptions // its timeouts
	id        string
	now       func() time.Time // the clock of the run
	printer   *printer
	mask      *mask
	view      *progress.View // shows the run, after its start
	history   *faultreport.History

	// The fields of a run in a store:
	signals     <-chan os.Signal
	seen        int       // the last record that was shown
	last        time.Time // the time of that record
	kept        string    // its name in other commands
	endedBefore time.Time // the time of its end, if it ended before the command began
}

// publish shows the events that the workflow emits; they are sent nowhere else.
func (j *job) publish(_ context.Context, event map[string]any) error {
	j.view.Publish(event)
	return nil
}

func (p *program) runDocument(name string, f *runFlags) error {
	if err := f.check(name); err != nil {
		return err
	}
	d, err := loadDocument(p.streams, name)
	if err != nil {
		return err
	}
	if err := refused(d); err != nil {
		return err
	}
	j, err := p.prepare(d, f)
	if err != nil {
		return err
	}
	if f.progress != progress.None {
		asJSON := f.errors == "json" || f.progress == progress.JSON
		if err := p.warn(asJSON, append([]*swrun.Document{d}, j.others...)...); err != nil {
			return err
		}
		if !asJSON {
			for _, advice := range secretsAdvice(p.secrets, append([]*swrun.Document{d}, j.others...)...) {
				fmt.Fprintln(p.err, p.errStyle().Text(advice))
			}
		}
		if s := d.Workflow.Schedule; s != nil && !asJSON && !f.follow {
			fmt.Fprintf(p.err, "%s is run once; its schedule (%s) starts it where it is deployed\n", d, strings.Join(s.Kinds(), ", "))
			if s.On != nil && len(f.inputs) == 0 && !j.startedByEvents() {
				fmt.Fprintln(p.err, "no event was given, so that its input is {}; the events that start it are an array: give some with --event FILE, or as the input with -i '[...]'")
			}
		}
	}
	switch {
	case f.follow, j.startedByEvents():
		return j.followSchedule()
	case f.durable():
		return j.runDurable()
	}
	return j.run()
}

// prepare reads everything that a run needs before it starts.
func (p *program) prepare(d *swrun.Document, f *runFlags) (*job, error) {
	j := &job{program: p, flags: f, document: d, found: d.Diagnostics, now: p.now}
	var err error
	if j.printer, err = f.printer(p); err != nil {
		return nil, err
	}
	if p.secrets, err = readSecrets(p.env, f.secrets); err != nil {
		return nil, err
	}
	bounds, err := p.limits(f.limits)
	if err != nil {
		return nil, err
	}
	if j.events, err = j.readEvents(bounds); err != nil {
		return nil, err
	}
	if err := f.timeouts.read(&j.options); err != nil {
		return nil, err
	}
	if j.input, err = readInput(p.streams, f.inputs, bounds); err != nil {
		return nil, err
	}
	if j.input == nil && len(f.inputs) > 0 {
		j.input = map[string]any{} // a workflow reads null so; nil is the input of the existing run
	}
	memory, err := p.effectMemory("")
	if err != nil {
		return nil, err
	}
	j.mask = newMask(p.secrets, d.Workflow, p.ascii)
	j.host = swrun.Host{
		Secrets: p.secrets.Lookup, FormerSecrets: p.secrets.Former, AllowSecret: p.secrets.Allows, Processes: p.processes, Containers: &swrun.Containers{Volumes: []string{"/"}},
		Node: f.js == "node", Files: true, Publish: j.publish, Limits: bounds, Memory: memory,
	}
	if err := f.host.apply(p, "run", &j.host); err != nil {
		return nil, err
	}
	return j, j.loadOthers()
}

// loadOthers reads the documents of --workflow. The tasks of the document may run them, and the documents in its folder.
func (j *job) loadOthers() error {
	for _, name := range j.flags.workflows {
		d, err := loadDocument(j.program.streams, name)
		if err == nil {
			err = refused(d)
		}
		if err != nil {
			return err
		}
		j.others = append(j.others, d)
	}
	if err := swrun.Distinct(append([]*swrun.Document{j.document}, j.others...)...); err != nil {
		return duplicateFailure(err)
	}
	j.documents = swrun.NewDocuments(append([]*swrun.Document{j.document}, j.others...)...)
	j.documents.Hint = "; name its file with --workflow"
	return nil
}

// warnOfFunctions shows the warnings that require the functions of catalogs and URLs which the document calls. Errors that keep the document from
// running are reported when it runs.
func (j *job) warnOfFunctions(h swrun.Host) error {
	if j.flags.progress == progress.None || !dsl.CallsElsewhere(j.document.Workflow) {
		return nil
	}
	whole := *j.document
	if whole.Check(swrun.CheckConfig{Host: h, Fetch: true}) != nil {
		return nil
	}
	shown := slices.DeleteFunc(slices.Clone(whole.Diagnostics), func(d dsl.Diagnostic) bool {
		return slices.ContainsFunc(j.found, func(known dsl.Diagnostic) bool { return known.Code == d.Code && known.Pointer == d.Pointer })
	})
	whole.Diagnostics = shown
	return j.program.warn(j.flags.errors == "json" || j.flags.progress == progress.JSON, &whole)
}

// run runs the workflow and prints its outcome.
func (j *job) run() error {
	if err := j.warnOfFunctions(j.host); err != nil {
		return err
	}
	if err := j.flags.timeouts.notPast(j.options, j.program.now()); err != nil {
		return err
	}
	if j.id == "" {
		id, err := uuid.NewV7()
		if err != nil {
			return err
		}
		j.id = id.String()
	}
	j.host.Log = slog.New(slog.NewTextHandler(j.program.err, nil))
	ctx, interrupted, stop := j.program.interruptible()
	defer stop()
	j.show()
	stopTicking := j.view.Tick()
	result, err := j.document.Run(ctx, j.input, swrun.RunConfig{
		ExecutionTimeout: j.options.ExecutionTimeout, RunTimeout: j.options.RunTimeout, Deadline: j.options.Deadline,
		Host: j.host, ID: j.id, Now: j.now, VirtualTime: j.virtual(), Observe: j.observe, Documents: j.documents,
		Arrivals: j.events.arrivals, Live: j.events.live, Outlasting: j.view.Outlast,
	})
	stopTicking()
	if failed := j.events.failed.Load(); failed != nil { // the run may lack the events that followed
		return *failed
	}
	if result.Status.Final() {
		return j.end(result, interrupted())
	}
	if waits := new(swrun.ListeningError); errors.As(err, &waits) {
		return j.noEventLeft("the run listens", waits)
	}
	if invalid := invalidated(j.document, err); invalid != nil {
		return invalid
	}
	return &exitError{code: exitInternal, message: j.mask.Text("the run stopped: " + err.Error())}
}

// end shows the outcome of the run, and prints its output. Any other outcome is a *runError.
func (j *job) end(result swrun.Result, signal os.Signal) error {
	outcome := execution.Outcome(result)
	outcome.Fault = j.mask.fault(outcome.Fault)
	code := outcomeExit(api.NewRunOutcome(store.Instance{ID: j.id}, outcome, j.history.TasksStarted()), signal)
	j.view.End(outcome, code != exitOK)
	if code == exitOK {
		return j.print(outcome.Output)
	}
	j.documents.Host = j.host
	report := faultreport.Report{
		Workflow: j.document.Workflow, ID: j.id, Outcome: outcome, History: j.history,
		Exit: code, InputRejected: code == exitInput, TypedInput: typedInput(j.flags.inputs),
		Documents: j.documents.Workflow, Children: j.documents.ChildrenOf, StartedBy: j.documents.StartedBy, ErrorAliases: j.host.ErrorAliases, Kept: j.kept, EndedBefore: j.endedBefore,
	}
	if signal != nil {
		report.Signal = signal.String()
	}
	return &runError{report: report.Placed(), mask: j.mask}
}

func (j *job) virtual() bool { return j.flags.clock == "virtual" }

// show makes the view of the run, unless it exists.
func (j *job) show() {
	if j.view != nil {
		return
	}
	p := j.program
	term, _ := p.env("TERM")
	j.history = faultreport.NewHistory()
	run := progress.Run{Workflow: j.document.Workflow, ID: j.id, Virtual: j.virtual(), Types: j.flags.types}
	if j.flags.durable() {
		run.Output = api.OutputPath(store.Instance{Namespace: j.document.Workflow.Document.Namespace, ID: j.id})
	}
	j.view = progress.New(progress.Config{
		Mode: j.flags.progress, Run: run, Out: p.err, Secrets: j.mask, Now: p.now,
		Style: p.errStyle(), Terminal: p.errTTY, Dumb: term == "dumb", Size: func() (int, int) { return p.width(), p.height() },
	})
}

// observe shows a record of the run, once.
func (j *job) observe(r interpreter.HistoryEvent) {
	if r.Seq <= j.seen {
		return
	}
	j.seen, j.last = r.Seq, r.At
	r.Error = j.mask.fault(r.Error)
	j.history.Observe(r)
	j.view.Observe(r)
}

func (j *job) print(output any) error {
	j.printer.mask = j.mask
	err := j.printer.print(output)
	if fault := errors.AsError(err); fault != nil {
		return usagef("the workflow completed", "--jq fails for its output: %s", j.mask.Text(fault.Detail))
	}
	return err
}
