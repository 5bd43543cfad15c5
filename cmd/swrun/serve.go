package main

import (
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"

	"github.com/swrun/swrun"
	"github.com/swrun/swrun/dsl"
	"github.com/swrun/swrun/internal/control"
	"github.com/swrun/swrun/internal/terminal"
	"github.com/swrun/swrun/runtime/definition"
	"github.com/swrun/swrun/server"
)

// serveFlags are the flags of serve.
type serveFlags struct {
	workerFlags
	listen string
}

// defaultListen is where serve listens; only this machine reaches it.
const defaultListen = "127.0.0.1:7474"

func (p *program) serveCommand() *cobra.Command {
	f := &serveFlags{}
	cmd := &cobra.Command{
		Use: "serve [FOLDER...]", Short: "Deploy the documents of folders, run the runs of a store, and answer over HTTP",
		Example: `  swrun serve workflows/ --store redis://localhost:6379
  swrun serve --listen 127.0.0.1:0`,
		Long: "The API is described by /openapi.json. SIGTERM and Ctrl-C stop it as they stop swrun worker.",
		RunE: verb(func(folders []string) error {
			if err := f.check(); err != nil {
				return err
			}
			if err := f.logTo(p); err != nil {
				return err
			}
			all, err := p.readFolders(folders)
			if err != nil {
				return err
			}
			return p.operate(&f.operateFlags, func(ctx context.Context, o *operation) error {
				if err := o.deploy(ctx, all); err != nil {
					return err
				}
				return o.serve(ctx, f)
			})
		}),
	}
	f.add(cmd)
	f.makes = true
	f.options(cmd)
	cmd.Flags().StringVar(&f.listen, "listen", defaultListen, "address of the HTTP API, HOST:PORT; port 0 takes a free one")
	return cmd
}

func (f *serveFlags) check() error {
	if _, _, err := net.SplitHostPort(f.listen); err != nil {
		return usagef("for example "+defaultListen, "--listen: %q is not HOST:PORT", f.listen)
	}
	if !server.IsLoopback(f.listen) {
		return usagef("for example "+defaultListen, "--listen %s: others would reach it, and nothing says who may ask", f.listen)
	}
	return nil
}

// serve works on the runs of the store, and answers over HTTP, until ctx ends or either fails.
func (o *operation) serve(ctx context.Context, f *serveFlags) error {
	engine, err := o.worker(&f.workerFlags)
	if err != nil {
		return err
	}
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", f.listen)
	if err != nil {
		return &exitError{code: exitInternal, message: "--listen " + f.listen + ": " + err.Error(), hint: "--listen 127.0.0.1:0 takes a free port"}
	}
	s := server.New(server.Config{Control: control.New(engine, o.store.Store), Authorize: server.TrustEveryone, Version: swrun.Version(), Log: f.log})
	fmt.Fprintf(o.err, "listening on http://%s\n", listener.Addr())
	both, ctx := errgroup.WithContext(ctx)
	both.Go(func() error { return s.Serve(ctx, listener) })
	both.Go(func() error { return engine.Work(ctx) })
	return both.Wait()
}

// readFolders reads every workflow document in some folders.
func (p *program) readFolders(folders []string) ([]*swrun.Document, error) {
	var files []string
	for _, folder := range folders {
		if isFile(folder) {
			return nil, usagef("serve takes folders: swrun serve "+terminal.ShellWord(filepath.Dir(folder)), "%s is a file", folder)
		}
		entries, err := os.ReadDir(folder)
		if err != nil {
			return nil, fileError("the folder cannot be read", err)
		}
		for _, entry := range entries {
			file := filepath.Join(folder, entry.Name())
			extension := strings.ToLower(filepath.Ext(file))
			if entry.IsDir() || extension != ".yaml" && extension != ".yml" && extension != ".json" || foreign(file) {
				continue
			}
			files = append(files, file)
		}
	}
	return p.readDocuments(files)
}

// foreign reports whether a file is certainly something else than a workflow document: what cannot be read as YAML may
// be a document with a mistake, which is reported.
func foreign(file string) bool {
	if !isFile(file) {
		_, err := os.Stat(file)
		return err == nil // what cannot be looked at is reported when it is deployed
	}
	text, err := readWhole("the document", file, dsl.ReadText)
	if err != nil {
		return false
	}
	if _, ok := definition.Title(text); ok {
		return false
	}
	w, _ := dsl.Parse(file, text)
	return w.Source.Data("") != nil
}

// isFile reports whether something in a folder is a file that can be read, and no pipe or device, which may never end.
func isFile(name string) bool {
	info, err := os.Stat(name)
	return err == nil && info.Mode().IsRegular()
}
