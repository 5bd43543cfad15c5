package main

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/swrun/swrun"
	"github.com/swrun/swrun/internal/api"
	"github.com/swrun/swrun/internal/remote"
	"github.com/swrun/swrun/internal/shorten"
	"github.com/swrun/swrun/internal/terminal"
)

func (p *program) workersCommand() *cobra.Command {
	f := &operateFlags{remote: true, looksOnly: true}
	cmd := &cobra.Command{
		Use: "workers", Short: "List the running workers, and the number of their runs",
		Example: `  swrun workers
  swrun workers -o json --jq 'map(.held) | add'`,
		Long: `A worker announces itself every ten seconds (SEEN), and is listed while its process is running. RUNS shows the number of runs
in its memory, the number of these that perform effects, and the maximum of the latter.`,
		Args: exactly(), RunE: verb(func([]string) error {
			return p.operate(f, func(ctx context.Context, o *operation) error { return o.workers(ctx) })
		}),
	}
	f.add(cmd, listForms()...)
	return cmd
}

func (o *operation) workers(ctx context.Context) error {
	all, err := remote.Ask(ctx, o.deployment, api.ListWorkers(), &api.None{})
	if err != nil {
		return err
	}
	return printList(o, all, func(w api.Worker) string { return w.Name }, o.workerTable)
}

func (o *operation) workerTable(all []api.Worker) error {
	table := terminal.NewTable(o.out, "NAME", "HOST", "PROCESS", "VERSION", "SINCE", "QUEUES", "MAY USE", "RUNS", "SEEN")
	for _, w := range all {
		table.Row(w.Name, cmp.Or(w.Host, "-"), processOf(w), w.Version, o.ago(w.Since), cmp.Or(shorten.To(strings.Join(w.Queues, ", "), maxGrant), "-"), grants(w.Grants), workerLoad(w), o.ago(w.SeenAt))
	}
	if err := table.Flush(); err != nil || len(all) > 0 {
		return err
	}
	l := o.errStyle()
	_, err := fmt.Fprintln(o.err, l.Dim(l.Text(o.noWorker())))
	return err
}

// processOf returns the process of a worker; it is absent for a caller of some namespaces.
func processOf(w api.Worker) string {
	if w.Process == 0 {
		return "-"
	}
	return fmt.Sprint(w.Process)
}

// ago returns the time since a time in the format of the API, as text.
func (o *operation) ago(at string) string {
	t, err := time.Parse(time.RFC3339Nano, at)
	if err != nil {
		return "-"
	}
	return terminal.Elapsed(max(0, o.now().Sub(t)))
}

// maxGrant is the maximum length of a worker's grants in a table, in bytes.
const maxGrant = 60

func grants(g api.WorkerGrants) string {
	var all []string
	if g.Network != swrun.NetworkDeny {
		all = append(all, "network "+g.Network)
	}
	if g.Processes {
		all = append(all, "processes")
	}
	if g.Containers {
		all = append(all, "containers")
	}
	if g.Files {
		all = append(all, "files")
	}
	return cmp.Or(shorten.To(strings.Join(append(all, g.Calls...), ", "), maxGrant), "-")
}

func workerLoad(w api.Worker) string {
	text := fmt.Sprintf("%d at a time", w.Concurrency) // a token of some namespaces sees no more
	if w.Held != nil && w.Performing != nil {
		text = fmt.Sprintf("%d, %d of %d performing", *w.Held, *w.Performing, w.Concurrency)
	}
	if len(w.Runs) > 0 {
		text += "; only " + shorten.To(strings.Join(w.Runs, ", "), maxGrant)
	}
	if w.Draining {
		text += "; stopping"
	}
	return text
}
