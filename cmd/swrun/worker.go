package main

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/swrun/swrun/dsl"
	"github.com/swrun/swrun/errors"
	"github.com/swrun/swrun/internal/terminal"
	"github.com/swrun/swrun/process"
	"github.com/swrun/swrun/runtime/worker"
)

// workerFlags are the flags of worker and serve.
type workerFlags struct {
	operateFlags
	concurrency                     int
	drain, lease, linger, retention string
	memory                          string
	network, secrets, js, logLevel  string
	processes, files, publish       bool
	limits                          []string
}

func (p *program) workerCommand() *cobra.Command {
	f := &workerFlags{}
	cmd := &cobra.Command{
		Use: "worker", Short: "Run the runs of a store until it is stopped",
		Example: "  swrun worker --store redis://localhost:6379",
		Long: `Any number of workers may share a store on Redis; each may be killed at any moment, and another one goes on.
SIGTERM and Ctrl-C hand over: idle runs at once, the others when what they perform has ended or --drain is over.`,
		Args: exactly(), RunE: verb(func([]string) error {
			if err := f.logTo(p); err != nil {
				return err
			}
			return p.operate(&f.operateFlags, func(o *operation) error { return o.work(f) })
		}),
	}
	f.add(cmd)
	f.makes, f.works = true, true
	f.options(cmd)
	return cmd
}

func (p *program) serveCommand() *cobra.Command {
	f := &workerFlags{}
	cmd := &cobra.Command{
		Use: "serve [FOLDER...]", Short: "Deploy the documents of folders, and run the runs of a store",
		Example: "  swrun serve workflows/ --store redis://localhost:6379",
		RunE: verb(func(folders []string) error {
			if err := f.logTo(p); err != nil {
				return err
			}
			all, err := readFolders(p.streams, folders)
			if err != nil {
				return p.told("human", err)
			}
			return p.operate(&f.operateFlags, func(o *operation) error {
				if err := o.deploy(all); err != nil {
					return err
				}
				return o.work(f)
			})
		}),
	}
	f.add(cmd)
	f.makes, f.works = true, true
	f.options(cmd)
	return cmd
}

func (f *workerFlags) options(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.IntVar(&f.concurrency, "concurrency", 1000, "runs that perform something at a time")
	flags.StringVar(&f.drain, "drain", "30s", "how long effects in flight may go on when it is stopped")
	flags.StringVar(&f.lease, "lease", "10s", "after which the runs of a worker that has died are taken over")
	flags.StringVar(&f.linger, "linger", "1s", "shorter waits stay in the worker's memory; they are stored all the same")
	flags.StringVar(&f.retention, "retention", "", "delete runs so long after they have ended; default never")
	flags.StringVar(&f.memory, "effect-memory", "", "what answers in flight may take of memory together, 2GiB; default a quarter of it (also SWRUN_EFFECT_MEMORY)")
	flags.StringVar(&f.network, "network", networkPublic, "what tasks may call: any, public, deny, or prefixes besides public addresses, 10.0.0.0/8,...")
	flags.StringVar(&f.secrets, "secrets", "", "file of secrets, name: value (also SWRUN_SECRET_<NAME>)")
	flags.StringVar(&f.js, "js", "quickjs", "engine of JavaScript: quickjs or node")
	flags.BoolVar(&f.processes, "allow-processes", false, "tasks may run shell commands and scripts on this machine")
	flags.BoolVar(&f.files, "allow-files", false, "tasks may read files of this machine as external resources")
	flags.BoolVar(&f.publish, "print-events", false, "print the events that runs emit, one per line")
	flags.StringVar(&f.logLevel, "log-level", "info", "debug, info, warn or error")
	flags.StringArrayVar(&f.limits, "limit", nil, "a limit, NAME=VALUE, for example input=8MiB (repeatable; also "+limitsVariable+")")
	completeValues(cmd, "network", []string{networkAny, networkPublic, networkDeny})
	completeValues(cmd, "log-level", []string{"debug", "info", "warn", "error"})
}

// logTo makes the log of a worker and its store, without secrets.
func (f *workerFlags) logTo(p *program) (err error) {
	if p.secrets, err = readSecrets(p.env, f.secrets); err != nil {
		return err
	}
	var level slog.Level
	if err := level.UnmarshalText([]byte(f.logLevel)); err != nil {
		return usagef("allowed: debug, info, warn, error", "--log-level does not know %q", f.logLevel)
	}
	f.log = slog.New(slog.NewTextHandler(maskedWriter{p.err, p.secrets.hide}, &slog.HandlerOptions{Level: level, ReplaceAttr: utc}))
	return nil
}

// utc has a log tell times as everything else does.
func utc(_ []string, a slog.Attr) slog.Attr {
	if a.Value.Kind() == slog.KindTime {
		a.Value = slog.TimeValue(a.Value.Time().UTC())
	}
	return a
}

// readFolders reads every workflow document in some folders.
func readFolders(s streams, folders []string) ([]deployment, error) {
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
	return readDefinitions(s, files)
}

// foreign reports whether a file is certainly something else than a workflow document: what cannot be read as YAML may
// be a document with a mistake, and is told so.
func foreign(file string) bool {
	if !isFile(file) {
		_, err := os.Stat(file)
		return err == nil // What cannot be looked at is told when it is deployed
	}
	if title(file) != nil {
		return false
	}
	text, err := readFile("the document", file, bound{bytes: maxDocument})
	if err != nil {
		return false
	}
	w, _ := dsl.Parse(file, text)
	return w.Source.Data("") != nil
}

func (o *operation) work(f *workerFlags) error {
	o.collectLess()
	config, err := o.workerConfig(f)
	if err != nil {
		return err
	}
	if err := o.store.takeOver(o.ctx); err != nil {
		return err
	}
	config.Log.Info("the worker is ready", "store", o.store.String(), "concurrency", config.Concurrency, "partitions", o.store.Layout().Partitions)
	ctx, stop := context.WithCancelCause(o.ctx)
	defer stop(nil)
	var watching sync.WaitGroup
	watching.Go(func() { stop(o.store.lost(ctx)) })
	worker.New(config).Run(ctx)
	stop(nil)
	watching.Wait()
	if err := context.Cause(ctx); o.ctx.Err() == nil && !errors.Is(err, context.Canceled) {
		return err
	}
	config.Log.Info("the worker has handed over")
	return nil
}

func (o *operation) workerConfig(f *workerFlags) (worker.Config, error) {
	var c worker.Config
	transport, err := network(f.network, f.concurrency)
	if err != nil {
		return c, err
	}
	bounds, err := o.limits(f.limits)
	if err != nil {
		return c, err
	}
	js := f.js
	if js == "quickjs" {
		js = "" // What is embedded needs no name
	}
	var processes *process.Pool
	if f.processes {
		processes = o.processes
	}
	c = worker.Config{
		Store: o.store, Concurrency: f.concurrency, Log: f.log,
		Compile: host{secrets: o.secrets.lookup, transport: transport, processes: processes, files: f.files, js: js, limits: bounds}.compile, Limits: bounds,
	}
	if c.Memory, err = o.effectMemory(f.memory); err != nil {
		return c, err
	}
	if f.publish {
		c.Publish = o.printEvent
	}
	for _, span := range []struct {
		flag, text string
		to         *time.Duration
	}{{"--drain", f.drain, &c.Drain}, {"--lease", f.lease, &c.Lease}, {"--linger", f.linger, &c.ParkAfter}, {"--retention", f.retention, &c.Retention}} {
		if *span.to, err = parseSpan(span.flag, span.text); err != nil {
			return c, err
		}
	}
	c.ParkAfter, c.Drain = max(c.ParkAfter, time.Nanosecond), max(c.Drain, time.Nanosecond) // 0 is none, and not the default
	if c.Lease < time.Second {
		return c, usagef("", "--lease must be at least 1s, got %s", f.lease)
	}
	return c, firstError(oneOf("--js", f.js, "quickjs", "node"), atLeast("--concurrency", f.concurrency, 1))
}

func atLeast(flag string, n, least int) error {
	if n < least {
		return usagef("", "%s must be at least %d, got %d", flag, least, n)
	}
	return nil
}

func (o *operation) printEvent(_ context.Context, event json.RawMessage) error {
	_, err := fmt.Fprintf(o.out, "%s\n", event)
	return err
}
