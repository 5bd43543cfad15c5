package main

import (
	"cmp"
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"

	"github.com/swrun/swrun"
	"github.com/swrun/swrun/dsl"
	"github.com/swrun/swrun/internal/control"
	"github.com/swrun/swrun/internal/doctor"
	"github.com/swrun/swrun/internal/eventfile"
	"github.com/swrun/swrun/internal/metrics"
	"github.com/swrun/swrun/internal/sources"
	"github.com/swrun/swrun/internal/suggest"
	"github.com/swrun/swrun/internal/terminal"
	"github.com/swrun/swrun/runtime/client"
	"github.com/swrun/swrun/runtime/definition"
	"github.com/swrun/swrun/server"
)

// serveFlags are the flags of serve.
type serveFlags struct {
	workerFlags
	listen, certFile, keyFile string
	auth, strict, checks      bool
	served                    *served // the documents of the folders; nil for dev
	requests, rate            int
	events                    string          // the file of --events
	file                      *eventfile.File // its content
	sources                   *sources.Sources
	control                   *control.Control // the sources publish in it, and the sinks follow it
}

// defaultListen is the default address of serve, which only this machine reaches.
const defaultListen = "127.0.0.1:7474"

func (p *program) serveCommand() *cobra.Command {
	f := &serveFlags{}
	cmd := &cobra.Command{
		Use: "serve [FOLDER...]", Short: "Deploy the documents of folders, run the runs of a store, and answer over HTTP",
		Example: `  swrun serve workflows/ --store redis://localhost:6379
  swrun serve --listen 127.0.0.1:0
  swrun serve --store redis://localhost:6379 --listen :7474 --auth --tls-cert cert.pem --tls-key key.pem`,
		Long: `/openapi.json describes the API. A document that is faulty, or whose version is deployed with another text, is reported, and the other documents
are served, unless --strict is given. SIGTERM and Ctrl-C stop the server as they stop swrun worker. On SIGHUP, the server reads its folders and
secrets again; a server that was started from a terminal stops, because the terminal is closed.`,
		RunE: verb(func(folders []string) error { return p.serveFolders(f, folders) }),
	}
	f.add(cmd)
	f.makes = true
	f.options(cmd)
	flags := cmd.Flags()
	flags.StringVar(&f.listen, "listen", defaultListen, "address of the HTTP API, HOST:PORT; port 0 takes a free one")
	flags.BoolVar(&f.strict, "strict", false, "deploy nothing and exit if a document of the folders cannot be served")
	flags.BoolVar(&f.checks, "check", false, "report faulty documents, secrets without a value and secrets that $namespaces does not grant, and exit; exit code 13 if there are any")
	flags.BoolVar(&f.auth, "auth", false, "require a token from callers (swrun token new); needed on addresses that other machines reach")
	flags.StringVar(&f.certFile, "tls-cert", "", "PEM file of the certificate with which the API is served over TLS; a replaced file is read again")
	flags.StringVar(&f.keyFile, "tls-key", "", "PEM file of the certificate's key")
	flags.StringVar(&f.events, "events", "", "file of the sources from which events are read, and of the sinks to which the events of workflows and runs are sent")
	flags.IntVar(&f.requests, "max-requests", server.DefaultRequests, "maximum number of requests in progress")
	flags.IntVar(&f.rate, "max-request-rate", server.DefaultRate, "maximum number of requests of one caller in a second")
	return cmd
}

func (p *program) serveFolders(f *serveFlags, folders []string) error {
	if err := f.check(); err != nil {
		return err
	}
	if err := f.logTo(p); err != nil {
		return err
	}
	if err := f.readEvents(p); err != nil {
		return err
	}
	if f.checks {
		return p.preflight(folders)
	}
	var all []*swrun.Document
	if f.strict {
		var err error
		if all, err = p.readFolders(folders); err != nil {
			return err
		}
	} else if err := areFolders(folders); err != nil {
		return err
	}
	f.operateFlags.resourceFlags, f.operateFlags.verb = f.host.resourceFlags, "serve" // the documents of the folders are read as sent documents are
	return p.operate(&f.operateFlags, func(ctx context.Context, o *operation) error {
		f.served = &served{operation: o, folders: folders, log: f.log}
		if !f.strict && len(folders) > 0 {
			f.served.startup = control.NewStartup()
		} else if err := o.deploy(client.WithActor(ctx, p.folderActor()), all); err != nil {
			return err
		}
		return o.serve(ctx, f)
	})
}

// folderActor returns the actor that deploys the documents of the folders of serve: the user as whom it runs.
func (p *program) folderActor() string { return p.userAs("serve") }

// areFolders returns an error if serve cannot serve a folder.
func areFolders(folders []string) error {
	for _, folder := range folders {
		if isFile(folder) {
			return usagef("serve takes folders: swrun serve "+terminal.ShellWord(filepath.Dir(folder)), "%s is a file", folder)
		}
		if _, err := os.ReadDir(folder); err != nil {
			return fileError("the folder cannot be read", err)
		}
	}
	return nil
}

func (f *serveFlags) check() error {
	_, port, err := net.SplitHostPort(f.listen)
	if err == nil {
		_, err = strconv.ParseUint(port, 10, 16)
	}
	if err != nil {
		return usagef("for example "+defaultListen, "--listen: %q is not HOST:PORT, with a port up to 65535", f.listen)
	}
	if !f.auth && !server.IsLoopback(f.listen) {
		return usagef("add --auth, and make tokens with swrun token new; or listen on "+defaultListen, "--listen %s: other machines reach this address, and callers need no token", f.listen)
	}
	if (f.certFile == "") != (f.keyFile == "") {
		return usagef("", "--tls-cert and --tls-key belong together")
	}
	return cmp.Or(atLeast("--max-requests", f.requests, 1), atLeast("--max-request-rate", f.rate, 1))
}

// serve works on the runs of the store, and answers over HTTP, until ctx ends or either fails.
func (o *operation) serve(ctx context.Context, f *serveFlags) error {
	return o.serveWith(ctx, f, func(context.Context) error { return nil })
}

// serveWith is serve with another function beside it.
func (o *operation) serveWith(ctx context.Context, f *serveFlags, beside func(context.Context) error) error {
	engine, err := o.worker(ctx, &f.workerFlags)
	if err != nil {
		return err
	}
	defer o.answerOthers(ctx, o.store, engine.Engine, f.log, f.starts)() // before this process reports that it is ready
	listener, err := o.listen(ctx, f)
	if err != nil {
		return err
	}
	c := control.New(engine.Engine, o.store.Store, o.now)
	config := server.Config{Control: c, Authorize: server.TrustEveryone, Requests: f.requests, Rate: f.rate, Metrics: metrics.New(engine.Engine, o.store.Store, c.Monitor, o.now), Version: swrun.Version(), Log: f.log}
	if config.Memory, err = o.effectMemory(f.memory); err != nil {
		return err
	}
	if f.auth {
		config.Authorize, config.AnyHost = server.TrustTokens(c.Tokens()), true
		o.adviseTokens(ctx, c, f)
	}
	f.tellHearing(ctx, c)
	o.letExamine(c, f)
	f.starts(c)
	reading := f.readSources(c, config.Metrics)
	sending, err := o.sendEvents(f, engine.Engine, config.Metrics)
	if err != nil {
		return err
	}
	s := server.New(config)
	all, ctx := errgroup.WithContext(ctx)
	all.Go(func() error { return s.Serve(ctx, listener) })
	all.Go(func() error { return f.onceDeployed(ctx, engine.Work, reading) })
	all.Go(func() error { c.Monitor.Watch(ctx, f.log); return nil })
	all.Go(func() error { o.keepCurrent(ctx, &f.workerFlags); return nil })
	all.Go(o.reloads(ctx, f.reload))
	all.Go(func() error { return beside(ctx) })
	all.Go(func() error { return sending(ctx) })
	return all.Wait()
}

// listen listens at the address of the flags, and prints it.
func (o *operation) listen(ctx context.Context, f *serveFlags) (net.Listener, error) {
	scheme := "http"
	var secured *tls.Config
	if f.certFile != "" {
		var err error
		if secured, err = server.TLSFiles(f.certFile, f.keyFile, f.log, o.now); err != nil {
			return nil, fileError("--tls-cert", err)
		}
		scheme = "https"
	}
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", f.listen)
	if err != nil {
		return nil, &exitError{code: exitInternal, message: "--listen " + f.listen + ": " + err.Error(), hint: "--listen 127.0.0.1:0 takes a free port"}
	}
	if secured != nil {
		listener = tls.NewListener(listener, secured)
	}
	fmt.Fprintf(o.err, "listening on %s://%s\n", scheme, listener.Addr())
	return listener, nil
}

// tellHearing prints the namespaces that receive the events of runs.
func (f *serveFlags) tellHearing(ctx context.Context, c *control.Control) {
	if said, err := c.EventsByDefault(ctx); err == nil { // otherwise the store is away, which is reported elsewhere
		f.log.Info(doctor.HearingText(said)+"; swrun config set events=... changes that", "events", said)
	}
}

// adviseTokens warns of missing tokens, or of tokens that are visible in transit.
func (o *operation) adviseTokens(ctx context.Context, c *control.Control, f *serveFlags) {
	if all, err := c.ListTokens(ctx, nil); err == nil && len(all.Tokens) == 0 {
		f.log.Warn("no token exists yet, so that every request is refused: swrun token new makes a token")
	}
	if f.certFile == "" && !server.IsLoopback(f.listen) {
		f.log.Warn("tokens and data cross the network in plain text: give --tls-cert and --tls-key, unless a proxy in front speaks TLS")
	}
}

// readFolders reads every workflow document in some folders.
func (p *program) readFolders(folders []string) ([]*swrun.Document, error) {
	if err := areFolders(folders); err != nil {
		return nil, err
	}
	var files []string
	for _, folder := range folders {
		found, err := p.filesOf(context.Background(), folder)
		if err != nil {
			return nil, err
		}
		files = append(files, found...)
	}
	return p.readDocuments(files)
}

// filesOf returns the documents of a folder, and reports a folder without documents.
func (p *program) filesOf(ctx context.Context, folder string) ([]string, error) {
	files, err := workflowFiles(ctx, folder)
	if err == nil && len(files) == 0 && ctx.Err() == nil {
		fmt.Fprintln(p.err, p.errStyle().Text("there is no workflow document in "+terminal.Printable(folder)))
	}
	return files, err
}

// workflowFiles returns the files of a folder that may be workflow documents, until ctx ends.
func workflowFiles(ctx context.Context, folder string) (files []string, err error) {
	entries, err := os.ReadDir(folder)
	if err != nil {
		return nil, fileError("the folder cannot be read", err)
	}
	for _, entry := range entries {
		if ctx.Err() != nil {
			break
		}
		file := filepath.Join(folder, entry.Name())
		if entry.IsDir() || !namedAsDocument(file) || foreign(file) {
			continue
		}
		files = append(files, file)
	}
	return files, nil
}

// namedAsDocument reports whether a file has the name of YAML or JSON.
func namedAsDocument(file string) bool {
	switch strings.ToLower(filepath.Ext(file)) {
	case ".yaml", ".yml", ".json":
		return true
	}
	return false
}

// foreign reports whether a file is certainly no workflow document: a file that cannot be read as YAML may be a document with a mistake, which is reported.
func foreign(file string) bool {
	if !isFile(file) {
		_, err := os.Stat(file)
		return err == nil // an unreadable file is reported when it is deployed
	}
	text, err := readWhole("the document", file, dsl.ReadText)
	if err != nil {
		return false
	}
	if _, ok := definition.Title(text); ok {
		return false
	}
	w, _ := dsl.Parse(file, text)
	data := w.Source.Data("")
	return data != nil && !isMeant(data)
}

// isMeant reports whether data without a title were meant as a workflow: they have tasks, and their `document` is misspelt.
func isMeant(data any) bool {
	members, _ := data.(map[string]any)
	if _, tasks := members["do"].([]any); !tasks {
		return false
	}
	for name, value := range members {
		title, _ := value.(map[string]any)
		if title["dsl"] != nil || title["version"] != nil || suggest.Word(name, []string{"document"}) != "" {
			return true
		}
	}
	return false
}

// isFile reports whether an entry of a folder is a readable file, and no pipe or device, which may never end.
func isFile(name string) bool {
	info, err := os.Stat(name)
	return err == nil && info.Mode().IsRegular()
}
