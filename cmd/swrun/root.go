package main

import (
	"fmt"
	"io"
	"log"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/redis/go-redis/v9/logging"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/swrun/swrun"
	"github.com/swrun/swrun/errors"
	"github.com/swrun/swrun/internal/suggest"
	"github.com/swrun/swrun/internal/terminal"
)

// program is one call of swrun: its environment and the flags that all verbs share.
type program struct {
	streams
	noColor, ascii bool
	secrets        *swrun.Secrets // given to the command
}

// run carries out args and returns the exit code.
func run(args []string, s streams) (code int) {
	logging.Disable()         // the client of Redis would print errors that are retried anyway
	log.SetOutput(io.Discard) // libraries return relevant errors
	out := &checkedWriter{w: s.out}
	s.out = out
	p := &program{streams: s, secrets: swrun.NewSecrets(nil, nil)}
	defer func() {
		// Go would exit with 2, which is the code of a usage error.
		if bug := recover(); bug != nil {
			fmt.Fprintf(s.err, "swrun: internal error, please report it: %s\n%s", terminal.Printable(p.secrets.Hide(fmt.Sprint(bug))), debug.Stack())
			code = exitInternal
		}
	}()
	root := p.root()
	registerCompletions(root, args)
	root.SetArgs(args)
	err := root.Execute()
	if err == nil && out.err != nil {
		err = &exitError{code: exitInternal, message: out.err.Error(), hint: "the command succeeded, but its result could not be printed"}
	}
	if err == nil {
		return exitOK
	}
	var exit *exitError
	if !errors.As(err, &exit) {
		// An error of cobra itself, before any verb has begun, is a usage error.
		exit = &exitError{code: exitUsage, message: err.Error(), hint: "swrun --help lists the commands"}
	}
	p.printExit(exit.short())
	return exit.code
}

// printExit prints why a command ends, or a further failure.
func (p *program) printExit(exit *exitError) {
	if exit.message == "" {
		return
	}
	l := p.errStyle()
	fmt.Fprintln(p.err, l.Red("swrun:")+" "+l.Text(printableLines(p.secrets.Hide(exit.message))))
	if exit.hint != "" {
		fmt.Fprintln(p.err, "  "+l.Text(terminal.Printable(exit.hint)))
	}
}

func printableLines(s string) string {
	lines := strings.Split(s, "\n")
	for i, line := range lines {
		lines[i] = terminal.Printable(line)
	}
	return strings.Join(lines, "\n  ")
}

func (p *program) outStyle() terminal.Style { return p.style(p.outTTY) }
func (p *program) errStyle() terminal.Style { return p.style(p.errTTY) }

// style returns the style of text on one of the streams.
func (p *program) style(tty bool) terminal.Style {
	l := terminal.NewStyle(p.env, tty, p.noColor)
	l.ASCII = p.ascii
	if tty && p.width != nil {
		l.Width = p.width()
	}
	return l
}

func (p *program) root() *cobra.Command {
	root := &cobra.Command{
		Use:   "swrun",
		Short: "Run workflows of the CNCF Serverless Workflow DSL",
		Example: `  swrun init hello.yaml && swrun run hello.yaml -i name=Ada
  swrun validate hello.yaml`,
		Long: "The result goes to standard output, everything else to standard error.\n" + exitLine() +
			"\nswrun explain 7 shows more about an exit code, swrun explain SW401 about a diagnostic.",
		SilenceErrors: true, SilenceUsage: true,
	}
	root.Version = swrun.Version()
	root.SetVersionTemplate(versionLine())
	root.SetIn(p.in)
	root.SetOut(p.out)
	root.SetErr(p.err)
	root.SetFlagErrorFunc(flagError)
	root.SetHelpTemplate(helpTemplate)
	root.SetUsageTemplate(usageTemplate)
	root.PersistentFlags().BoolVar(&p.noColor, "no-color", false, "print no colours (also NO_COLOR, TERM=dumb)")
	root.PersistentFlags().BoolVar(&p.ascii, "ascii", false, "print only ASCII signs")
	p.addVerbs(root)
	root.SetHelpCommand(helpCommand())
	root.SetCompletionCommandGroupID("tools")
	root.InitDefaultCompletionCmd()
	for _, c := range root.Commands() {
		if c.Name() == "completion" {
			group(c)
		}
	}
	group(root)
	refuseBlanks(root)
	takeOnce(root)
	return root
}

// addVerbs adds all verbs, in the groups in which the help shows them.
func (p *program) addVerbs(root *cobra.Command) {
	for _, g := range []struct {
		id, title string
		verbs     []*cobra.Command
	}{
		{"author", "Author documents:", []*cobra.Command{
			p.initCommand(), p.validateCommand(), p.lintCommand(), p.fmtCommand(), p.graphCommand(), p.exprCommand(), p.explainCommand(), p.schemaCommand(),
		}},
		{"run", "Run workflows:", []*cobra.Command{
			p.runCommand(), p.deployCommand(), p.functionCommand(), p.startCommand(), p.workerCommand(), p.serveCommand(), p.devCommand(), p.waitCommand(), p.outputCommand(),
		}},
		{"operate", "Operate runs:", append([]*cobra.Command{
			p.lsCommand(), p.troubleCommand(), p.describeCommand(), p.historyCommand(), p.deadlinesCommand(), p.workersCommand(), p.queueCommand(), p.eventsCommand(), p.scheduleCommand(), p.sinkCommand(), p.workflowsCommand(), p.configCommand(),
			p.deadlineCommand(), p.forkCommand(), p.migrateCommand(), p.exportCommand(), p.importCommand(), p.repairCommand(),
		}, p.sendCommands()...)},
		{"tools", "Tools:", []*cobra.Command{p.doctorCommand(), p.tokenCommand(), p.benchCommand(), p.versionCommand()}},
	} {
		root.AddGroup(&cobra.Group{ID: g.id, Title: g.title})
		for _, verb := range g.verbs {
			verb.GroupID = g.id
		}
		root.AddCommand(g.verbs...)
	}
}

// group makes a command that only has subcommands show its help, and refuse unknown subcommands.
func group(cmd *cobra.Command) {
	cmd.Args = cobra.ArbitraryArgs
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if len(args) > 0 {
			return unknownCommand(cmd, args[0])
		}
		return cmd.Help()
	}
}

func helpCommand() *cobra.Command {
	return &cobra.Command{
		Use: "help [COMMAND]", Short: "Help about a command", Hidden: true,
		RunE: func(cmd *cobra.Command, args []string) error {
			found, rest, err := cmd.Root().Find(args)
			if err != nil || len(rest) > 0 {
				return unknownCommand(cmd.Root(), strings.Join(args, " "))
			}
			return found.Help()
		},
	}
}

// helpTemplate begins with examples: they answer most questions.
const helpTemplate = `{{.Short}}
{{if .HasExample}}
Examples:
{{.Example}}
{{end}}{{if .Long}}
{{.Long}}
{{end}}
{{.UsageString}}`

const usageTemplate = `Usage: {{if .HasAvailableSubCommands}}{{.CommandPath}} COMMAND [flags]{{else}}{{.UseLine}}{{end}}
{{if .HasAvailableSubCommands}}{{if .Groups}}{{range $group := .Groups}}
{{.Title}}{{range $.Commands}}{{if and .IsAvailableCommand (eq .GroupID $group.ID)}}
  {{rpad .Name .NamePadding}} {{.Short}}{{end}}{{end}}
{{end}}{{else}}
Commands:{{range .Commands}}{{if .IsAvailableCommand}}
  {{rpad .Name .NamePadding}} {{.Short}}{{end}}{{end}}
{{end}}{{end}}{{if .HasAvailableLocalFlags}}
Flags:
{{.LocalFlags.FlagUsages | trimTrailingWhitespaces}}
{{end}}{{if .HasAvailableInheritedFlags}}
Everywhere:
{{.InheritedFlags.FlagUsages | trimTrailingWhitespaces}}
{{end}}`

func unknownCommand(parent *cobra.Command, name string) error {
	var names []string
	for _, c := range parent.Commands() {
		if c.IsAvailableCommand() {
			names = append(names, c.Name())
		}
	}
	meant := otherNames()[strings.ToLower(name)]
	if !slices.Contains(names, meant) {
		meant = suggest.Nearest(name, names)
	}
	if meant != "" {
		return usagef(parent.CommandPath()+" --help lists the commands", "unknown command %q, did you mean %q?", name, meant)
	}
	return usagef("commands: "+strings.Join(names, ", "), "unknown command %q", name)
}

// otherNames returns the verbs by their names in other programs.
func otherNames() map[string]string {
	verbs := map[string]string{}
	for verb, others := range map[string]string{
		"ls":        "list ps runs instances",
		"describe":  "status get show inspect info view",
		"terminate": "kill abort",
		"cancel":    "stop",
		"history":   "log logs trace journal",
		"delete":    "rm remove purge prune",
		"validate":  "check verify",
		"fmt":       "format",
		"init":      "new create template",
		"run":       "exec execute",
		"start":     "submit trigger launch invoke",
		"deploy":    "apply push publish register",
		"suspend":   "pause hold",
		"resume":    "continue unpause unsuspend",
		"retry":     "restart rerun release",
		"output":    "result results",
		"wait":      "await join watch",
		"graph":     "draw diagram plot",
		"expr":      "jq eval",
		"explain":   "doc docs man why",
		"doctor":    "health diagnose ping",
		"serve":     "server up daemon",
		"worker":    "work agent runner",
		"deadlines": "timeouts timeout",
		"token":     "tokens auth login credential",
		"bench":     "benchmark perf",
		"workers":   "nodes pool agents",
		"workflows": "definitions deployments",
		"function":  "functions catalog",
	} {
		for _, other := range strings.Fields(others) {
			verbs[other] = verb
		}
	}
	return verbs
}

// refuseBlanks lets every command refuse blanks before it looks at its arguments.
func refuseBlanks(cmd *cobra.Command) {
	check := cmd.Args
	cmd.Args = func(cmd *cobra.Command, args []string) error {
		if err := nothingBlank(cmd, args); err != nil || check == nil {
			return err
		}
		return check(cmd, args)
	}
	for _, below := range cmd.Commands() {
		refuseBlanks(below)
	}
}

// nothingBlank refuses empty arguments and values of flags, of any kind: they come from variables that are not set, and never mean all runs, any
// namespace or a default.
func nothingBlank(cmd *cobra.Command, args []string) (err error) {
	isBlank := func(s string) bool { return strings.TrimSpace(s) == "" }
	if slices.ContainsFunc(args, isBlank) {
		return usagef("usage: "+cmd.UseLine(), "%s got an empty argument", cmd.CommandPath())
	}
	cmd.Flags().Visit(func(f *pflag.Flag) {
		values := []string{f.Value.String()}
		if list, ok := f.Value.(pflag.SliceValue); ok {
			values = list.GetSlice()
		}
		if err == nil && slices.ContainsFunc(values, isBlank) {
			err = usagef("leave it out, or give it a value", "--%s is empty", f.Name)
		}
	})
	return err
}

// exactly requires the arguments that usage names.
func exactly(names ...string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		switch {
		case len(args) < len(names):
			return usagef("usage: "+cmd.UseLine(), "%s needs %s", cmd.CommandPath(), names[len(args)])
		case len(args) > len(names):
			return usagef("usage: "+cmd.UseLine(), "%s takes %s, got one more: %q", cmd.CommandPath(), terminal.Counted(len(names), "argument"), args[len(names)])
		}
		return nil
	}
}

func atMostOne(cmd *cobra.Command, args []string) error {
	if len(args) > 1 {
		return usagef("usage: "+cmd.UseLine(), "%s takes one argument, got one more: %q", cmd.CommandPath(), args[1])
	}
	return nil
}

func atLeastOne(name string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) == 0 {
			return usagef("usage: "+cmd.UseLine(), "%s needs %s", cmd.CommandPath(), name)
		}
		return nil
	}
}

// verb makes an error of a verb without an exit code an internal one, so that it is not taken for a usage error.
func verb(do func(args []string) error) func(*cobra.Command, []string) error {
	return func(_ *cobra.Command, args []string) error {
		err := do(args)
		if err == nil {
			return nil
		}
		return exitOf(err)
	}
}

// oneOf checks a flag's value against its valid values.
func oneOf(flag, value string, allowed ...string) error {
	for _, a := range allowed {
		if value == a {
			return nil
		}
	}
	hint := "allowed: " + strings.Join(allowed, ", ")
	if near := suggest.Nearest(value, allowed); near != "" {
		return usagef(hint, "%s %q, did you mean %q?", flag, value, near)
	}
	return usagef(hint, "%s: unknown value %q", flag, value)
}

func write(w io.Writer, text string) error {
	_, err := io.WriteString(w, text)
	return err
}

func flagNames(cmd *cobra.Command) []string {
	var names []string
	add := func(f *pflag.Flag) { names = append(names, f.Name) }
	cmd.LocalFlags().VisitAll(add)
	cmd.InheritedFlags().VisitAll(add)
	return names
}
