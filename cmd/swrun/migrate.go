package main

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"github.com/swrun/swrun/internal/api"
	"github.com/swrun/swrun/internal/terminal"
	"github.com/swrun/swrun/runtime/store"
)

func (p *program) migrateCommand() *cobra.Command {
	f, chosen, r := &operateFlags{remote: true}, &selectFlags{}, api.MigrationRequest{}
	var moved string
	cmd := &cobra.Command{
		Use: "migrate RUN... --to VERSION", Short: "Move runs in progress to another version of their workflow",
		Example: `  swrun deploy order.yaml && swrun migrate order-7 --to latest --dry-run
  swrun migrate --where 'workflow=demo/order:1.0.0 status=waiting' --to 1.0.1 --reason 'the amount was wrong'
  swrun migrate order-7 --to 2.0.0 --map moved.yaml      # with a line such as  /do/1/pay: /do/2/pay`,
		Long: `Tasks in progress keep their data, requests and deadlines, and end as before. Tasks that begin after the migration are tasks of the other
version, with its timeouts. Each task in progress must have the same pointer and kind in the other version, or the pointer that the map contains;
otherwise the run is refused, and the reason names the task. The timeout of the workflow does not change: swrun deadline set changes it.`,
		Args: chosen.arguments, RunE: verb(func(args []string) (err error) {
			if err := checkVersion(r.To); err != nil {
				return err
			}
			if r.Map, err = readPointerMap(moved); err != nil {
				return err
			}
			chosen.yes = chosen.yes || r.DryRun
			return p.operate(f, func(ctx context.Context, o *operation) error {
				runs, unknown, err := o.selected(ctx, chosen, args, "migrate")
				if err != nil {
					return err
				}
				err = o.migrate(ctx, runs, r)
				return cmp.Or(unknown, err)
			})
		}),
	}
	f.add(cmd, "human", "json", "yaml")
	f.within(cmd)
	chosen.add(cmd)
	flags := cmd.Flags()
	flags.StringVar(&r.To, "to", "", "version of the workflow, or latest")
	flags.StringVar(&moved, "map", "", "YAML or JSON file that maps old pointers of tasks to new pointers; the tasks inside of a task move with it")
	flags.BoolVar(&r.DryRun, "dry-run", false, "print whether each run can migrate now, and change nothing")
	flags.StringVar(&r.Reason, "reason", "", "reason, for the histories of the runs")
	return cmd
}

// checkVersion checks the value of --to.
func checkVersion(to string) error {
	if to == "" {
		return usagef("for example --to latest", "migrate needs --to, the version to which the runs move")
	}
	return checkNames(to)
}

const (
	maxPointerMap     = 1 << 20 // bytes
	pointerMapExample = "for example /do/1/pay: /do/2/pay"
)

// readPointerMap reads the file of a map from old to new pointers; nil without a file.
func readPointerMap(file string) (map[string]string, error) {
	if file == "" {
		return nil, nil
	}
	text, err := readFile("the map", file, bound{bytes: maxPointerMap})
	if err != nil {
		return nil, err
	}
	v, err := decodeData(file, text)
	if err != nil {
		return nil, usagef(pointerMapExample, "the map in %s cannot be read: %s", file, err)
	}
	return pointerMap(v)
}

// pointerMap returns the pointers in the content of a file.
func pointerMap(v any) (map[string]string, error) {
	wrong := usagef(pointerMapExample, "--map must be an object that maps the old pointers of tasks to the new ones")
	object, ok := v.(map[string]any)
	if !ok || len(object) == 0 {
		return nil, wrong
	}
	pointers := map[string]string{}
	for old, to := range object {
		text, ok := to.(string)
		if !ok {
			return nil, wrong
		}
		pointers[old] = text
	}
	return pointers, nil
}

// migrate lets several runs continue with another version. A run that is refused does not affect the others.
func (o *operation) migrate(ctx context.Context, runs []store.Instance, r api.MigrationRequest) error {
	var first error
	all := []api.Migrated{}
	for some := range slices.Chunk(runs, sendSize) {
		migrated, failed := o.deployment.Migrate(ctx, some, r)
		if err := storeFailure(failed); err != nil {
			fmt.Fprintf(o.err, "migrate stopped, with %s left; repeat the command for them\n", terminal.Counted(len(runs)-len(all), "run"))
			return refusalError(err)
		}
		for n, err := range failed {
			if err != nil {
				first = o.alsoFailed(first, refusalError(err))
				continue
			}
			all = append(all, migrated[n])
		}
	}
	if err := o.printMigrated(all, r.DryRun); err != nil {
		return err
	}
	return cmp.Or(first, o.reportUnworked(ctx, len(all) > 0 && !r.DryRun))
}

// printMigrated prints the runs that did not refuse.
func (o *operation) printMigrated(all []api.Migrated, dry bool) error {
	if o.flags.output != "human" {
		return o.print(all)
	}
	does := "migrating"
	if dry {
		does = "can migrate"
	}
	for _, m := range all {
		if err := write(o.out, fmt.Sprintf("%s %s to %s\n", m.ID, does, m.To.Workflow)); err != nil {
			return err
		}
	}
	return nil
}
