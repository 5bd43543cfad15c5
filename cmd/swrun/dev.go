package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"

	"github.com/spf13/cobra"

	"github.com/swrun/swrun"
	"github.com/swrun/swrun/internal/shorten"
	"github.com/swrun/swrun/internal/terminal"
	"github.com/swrun/swrun/interpreter"
	"github.com/swrun/swrun/runtime/store"
	"github.com/swrun/swrun/server"
)

func (p *program) devCommand() *cobra.Command {
	f := &serveFlags{}
	cmd := &cobra.Command{
		Use: "dev [FOLDER]", Short: "Serve the documents of a folder while they are written",
		Example: `  swrun dev
  swrun dev workflows/ --listen 127.0.0.1:0`,
		Long: `swrun dev is swrun serve with the store of the project. It deploys each document again when the document is saved, as a new
version: 1.0.0 as 1.0.0-dev.1, 1.0.0-dev.2 and so on. swrun start takes the newest version; runs in progress continue with their version. Faults
of a document are shown immediately, and the progress of runs line by line. Tasks may call everything, as with swrun run; --allow-processes,
--allow-containers and --allow-files allow processes, containers and files of this machine.`,
		Args: atMostOne, RunE: verb(func(args []string) error {
			folder, err := devFolder(args)
			if err != nil {
				return err
			}
			if err := f.check(); err != nil {
				return err
			}
			if err := f.logTo(p); err != nil {
				return err
			}
			f.operateFlags.resourceFlags, f.operateFlags.verb = f.host.resourceFlags, "dev" // the documents of the folder are read as sent documents are
			return p.operate(&f.operateFlags, func(ctx context.Context, o *operation) error { return o.dev(ctx, f, folder) })
		}),
	}
	f.add(cmd)
	f.makes = true
	f.options(cmd)
	cmd.Flags().StringVar(&f.listen, "listen", defaultListen, "address of the HTTP API, HOST:PORT; port 0 takes a free one")
	cmd.Flags().Lookup("log-level").DefValue, cmd.Flags().Lookup("network").DefValue = devLogLevel, swrun.NetworkAny
	f.logLevel, f.host.network, f.drafts = devLogLevel, swrun.NetworkAny, true
	f.requests, f.rate = server.DefaultRequests, server.DefaultRate
	return cmd
}

// devFolder returns the given folder, or the working folder.
func devFolder(args []string) (string, error) {
	folder := "."
	if len(args) > 0 {
		folder = args[0]
	}
	info, err := os.Stat(folder)
	if err != nil {
		return "", fileError("the folder cannot be read", err)
	}
	if !info.IsDir() {
		return "", usagef("dev takes a folder: swrun dev "+terminal.ShellWord(filepath.Dir(folder)), "%s is not a folder", folder)
	}
	return folder, nil
}

// devLogLevel is the log level of dev: its own output contains the rest.
const devLogLevel = "warn"

// dev serves, and deploys the files that are saved in a folder, until ctx ends.
func (o *operation) dev(ctx context.Context, f *serveFlags, folder string) error {
	whole := *o.program // several goroutines write its lines
	whole.out, whole.err = &lines{to: o.out}, &lines{to: o.err}
	o.program = &whole
	f.observe = o.showRuns
	d := &drafts{operation: o, folder: folder}
	return o.serveWith(ctx, f, d.watch)
}

// lines is a stream that several goroutines write to, each of them whole lines.
type lines struct {
	mu sync.Mutex
	to io.Writer
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.to.Write(p)
}

// showRuns prints the progress of a run.
func (o *operation) showRuns(i store.Instance, events []interpreter.HistoryEvent) {
	for _, e := range events {
		text := map[interpreter.HistoryEventType]string{
			interpreter.WorkflowStarted: "started", interpreter.WorkflowCompleted: "completed", interpreter.WorkflowFaulted: "faulted",
			interpreter.WorkflowCancelled: "cancelled",
		}[e.Type]
		switch {
		case text == "":
			continue
		case e.Error != nil:
			text += ": " + shorten.To(e.Error.Error(), maxShown)
		}
		fmt.Fprintln(o.out, o.outStyle().Text(terminal.Printable(i.String()+" "+text)))
	}
}

// maxShown is the maximum length of an error in a line, in bytes.
const maxShown = 200
