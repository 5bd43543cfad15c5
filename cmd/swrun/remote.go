package main

import (
	"cmp"
	"context"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/swrun/swrun"
	"github.com/swrun/swrun/errors"
	"github.com/swrun/swrun/internal/api"
	"github.com/swrun/swrun/internal/control"
	"github.com/swrun/swrun/internal/remote"
	"github.com/swrun/swrun/internal/storesocket"
	"github.com/swrun/swrun/internal/terminal"
	"github.com/swrun/swrun/runtime/client"
)

// This file finds the server of a verb that does not open the store itself: a named server, or the holder of the file.

// The environment variables of the server that verbs use.
const (
	serverVariable = "SWRUN_SERVER"
	tokenVariable  = "SWRUN_TOKEN"
)

// serverFlags select the server.
type serverFlags struct {
	server, token, ca string
}

func (f *serverFlags) add(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&f.server, "server", "", "URL of the swrun serve to use instead of a store (also "+serverVariable+")")
	flags.StringVar(&f.token, "token-file", "", "file with the token for the server (also "+tokenVariable+", which contains the token itself)")
	flags.StringVar(&f.ca, "ca-file", "", "PEM file of the authorities that sign the certificate of the server")
}

// named returns the named server, or nil.
func (f *operateFlags) named(p *program, host swrun.Host) (*remote.Deployment, error) {
	fromEnv, _ := p.env(serverVariable)
	switch {
	case f.server != "" && f.storeFlags.url != "":
		return nil, usagef("leave out one of them", "--server and --store contradict each other")
	case !f.remote, f.server == "" && fromEnv == "", f.server == "" && f.storeFlags.url != "":
		return nil, nil
	}
	at, because := f.server, "--server"
	if at == "" {
		at, because = fromEnv, serverVariable
		if store, _ := p.env("SWRUN_STORE"); store != "" {
			return nil, usagef("unset one of them", "%s and SWRUN_STORE contradict each other", serverVariable)
		}
	}
	token, err := f.readToken(p)
	if err != nil {
		return nil, err
	}
	d, err := remote.New(remote.Config{URL: at, Token: token, CA: f.ca, Host: host, Version: swrun.Version(), TraceParent: p.traceParent()})
	var wrong *remote.URLError
	switch {
	case errors.As(err, &wrong):
		return nil, usagef("for example http://127.0.0.1:7474", "%s: %s", because, wrong.Detail)
	case err != nil:
		return nil, fileError("--ca-file", err)
	}
	return d, nil
}

// target returns the flags that another command needs to use the same server or store: empty, unless a flag named one.
func (f *operateFlags) target() string {
	if f.server == "" {
		return f.storeFlag()
	}
	text := " --server " + terminal.ShellWord(f.server)
	if f.token != "" {
		text += " --token-file " + terminal.ShellWord(f.token)
	}
	if f.ca != "" {
		text += " --ca-file " + terminal.ShellWord(f.ca)
	}
	return text
}

// maxToken is the maximum length of a token, in bytes.
const maxToken = 4096

func (f *serverFlags) readToken(p *program) (string, error) {
	if f.token == "" {
		token, _ := p.env(tokenVariable)
		return strings.TrimSpace(token), nil
	}
	text, err := readFile("the token", f.token, bound{bytes: maxToken})
	if err != nil {
		return "", err
	}
	token := strings.TrimSpace(string(text))
	if token == "" || strings.ContainsAny(token, " \t\r\n") {
		return "", usagef("it must contain the output of swrun token new", "--token-file: %s contains no token", f.token)
	}
	return token, nil
}

// holderWithin is the maximum time for the holder of a store's file to answer that it is there.
const holderWithin = 5 * time.Second

// holder returns the holder of a store's file, if it serves other processes; nil without a holder.
func (p *program) holder(ctx context.Context, file string, host swrun.Host) (*remote.Deployment, error) {
	d, err := remote.New(remote.Config{
		URL: "http://localhost", Name: "the process that has " + file, Actor: p.actor(), Host: host, Version: swrun.Version(), TraceParent: p.traceParent(),
		Dial: func(ctx context.Context) (net.Conn, error) { return storesocket.Dial(ctx, file) },
	})
	if err != nil {
		return nil, err
	}
	asking, cancel := context.WithTimeout(ctx, holderWithin)
	defer cancel()
	err = d.Ready(asking)
	switch {
	case err == nil:
		return d, nil
	case ctx.Err() != nil:
		return nil, err
	case isGone(err): // no process listens, or the holder is just ending
		return nil, nil
	}
	return nil, notAnswering("the process that has " + file + " does not answer")
}

// notAnswering returns the error of a process that holds a file, and that may never answer.
func notAnswering(message string) error {
	return &exitError{code: exitStore, message: message, hint: "it may be stopped, or busy; " + heldHint}
}

// isGone reports whether an error means that a server could not be reached: if it was the holder of the store's file, another process may hold the file now.
func isGone(err error) bool {
	return errors.As(err, new(*remote.UnreachableError)) && !errors.Is(err, context.DeadlineExceeded)
}

// heldHint is the remedy for a file that another process holds.
const heldHint = "SWRUN_STORE=redis://localhost:6379 names a store that many processes can share"

// operate calls do with the deployment that the flags select: a named server, the holder of the store's file, or the store itself.
func (p *program) operate(f *operateFlags, do func(context.Context, *operation) error) error {
	if err := f.resolve(p); err != nil {
		return err
	}
	o := &operation{program: p, flags: f}
	var err error
	if o.printer, err = f.printer(p); err != nil {
		return err
	}
	if err := o.prepare(); err != nil {
		return err
	}
	server, err := f.named(p, o.host)
	if err != nil {
		return err
	}
	if server != nil {
		return aimed(p.interruptibly(func(ctx context.Context) error {
			o.deployment, o.at, o.byURL = server, server.String(), true
			return do(ctx, o)
		}), f.target())
	}
	return aimed(p.interruptibly(func(ctx context.Context) error { return o.local(ctx, do) }), f.target())
}

// maxHolders is the number of attempts to open a file whose holder stays the same and serves no other processes.
const maxHolders = 3

// shared calls there with the holder of a store's file, or here to open the file: whichever is possible, repeatedly while other processes take and
// release the file. If there returns a *remote.UnreachableError, it is called again with the next holder of the file. An empty file is no file.
func (p *program) shared(ctx context.Context, file string, host swrun.Host, there func(*remote.Deployment) error, here func() error) error {
	tries, last := 0, ""
	for {
		if file != "" {
			holder, err := p.holder(ctx, file, host)
			if err != nil {
				return err
			}
			if holder != nil {
				if err := there(holder); !isGone(err) {
					return err
				}
				tries = 0
				continue
			}
		}
		err := here()
		process, held := heldBy(err)
		if !held {
			return err
		}
		if process != last {
			tries, last = 0, process
		}
		if tries++; tries == maxHolders {
			return storeError(err)
		}
	}
}

// local calls do with the store, or with the holder of its file.
func (o *operation) local(ctx context.Context, do func(context.Context, *operation) error) error {
	at, _ := o.flags.location(o.program)
	file, _ := swrun.StoreFile(at)
	if !o.flags.remote {
		file = ""
	}
	return o.shared(ctx, file, o.host, func(holder *remote.Deployment) error {
		o.deployment, o.at = holder, at
		err := do(ctx, o)
		var silent *remote.UnreachableError
		switch {
		case isGone(err) && o.flags.looksOnly:
			return err
		case errors.As(err, &silent) && !isGone(err):
			return notAnswering(silent.Error())
		case isGone(err):
			return &exitError{
				code: exitStore, message: "the process that had " + file + " ended before it answered: the result of the command is unknown",
				hint: "check with swrun ls" + o.flags.target() + ", and repeat the command",
			}
		}
		return err
	}, func() error { return o.open(ctx, do) })
}

// workedOn reports whether there is a worker for all runs.
func workedOn(all []api.Worker) bool {
	for _, w := range all {
		if !w.Draining && len(w.Runs) == 0 {
			return true
		}
	}
	return false
}

// checkNames returns the usage error of names that no request can contain. Every command refuses them before it opens a store.
func checkNames(names ...string) error {
	if err := api.CheckNames(names...); err != nil {
		return serverError(err)
	}
	return nil
}

// serverError adds the exit code to a refusal of a server, or to the error of an unreachable server; nil for any other error.
func serverError(err error) error {
	var problem *api.Problem
	var other *remote.VersionError
	var unreachable *remote.UnreachableError
	var misnamed *api.NameError
	switch {
	case errors.As(err, &misnamed):
		return usagef("", "%s", misnamed)
	case errors.As(err, &other):
		return &exitError{code: exitStore, message: other.Error(), hint: "use one version for both: end that process, or ask it with its own swrun"}
	case errors.As(err, &problem):
		text := cmp.Or(problem.Detail, problem.Title)
		if strings.HasPrefix(text, problem.Field+": ") { // a flag sets it here
			text = flagOf(&client.OptionError{Field: problem.Field}) + strings.TrimPrefix(text, problem.Field)
		}
		e := &exitError{code: problemExit(problem), message: text, hint: problemHint(problem)}
		if problem.Name() == "quarantined" {
			e.commands = quarantinedHint
		}
		return e
	case errors.As(err, &unreachable) && unreachable.Untrusted():
		return &exitError{code: exitStore, message: err.Error(), hint: "--ca-file FILE names the PEM file of the authority that signed the certificate of the server"}
	case errors.As(err, new(*remote.UnreachableError)), errors.As(err, new(*remote.AnswerError)):
		return &exitError{code: exitStore, message: err.Error(), hint: "is its URL right, and does swrun serve run there?"}
	}
	return nil
}

// problemHint returns the remedy of a problem, in words of the command.
func problemHint(p *api.Problem) string {
	switch p.Name() {
	case "quarantined":
		return quarantinedHint("")
	case "run-exists":
		return existsHint
	}
	return commandHint(p.Help)
}

// commandHint returns a hint that begins with a verb as a command that can be pasted.
func commandHint(help string) string {
	first, _, _ := strings.Cut(help, " ")
	if _, ok := control.VerbNamed(first); ok {
		return "swrun " + help
	}
	return help
}

// existsHint is the remedy for a run that exists already.
const existsHint = "choose another --id, or --on-duplicate return-existing for a run of the same workflow"

// quarantinedHint returns the remedy for a quarantined run.
func quarantinedHint(target string) string {
	return "swrun history RUN" + target + " shows its last records, and the log of its worker the cause of the loss; swrun retry RUN" + target + " lets it run again"
}

// problemExit returns the exit code of a problem: the same as for the refusal of a store in this process.
func problemExit(p *api.Problem) int {
	switch p.Name() {
	case "invalid-document":
		return exitInvalid
	case "too-large", api.ProblemInput:
		return exitInput
	case "other-event":
		return exitConflict
	}
	switch p.Status {
	case http.StatusNotFound:
		return exitNotFound
	case http.StatusConflict, http.StatusPreconditionFailed:
		return exitConflict
	case http.StatusBadRequest, http.StatusUnprocessableEntity:
		return exitUsage
	}
	return exitStore
}
