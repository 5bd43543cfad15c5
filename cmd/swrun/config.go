package main

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/swrun/swrun/errors"
	"github.com/swrun/swrun/internal/api"
	"github.com/swrun/swrun/internal/duration"
	"github.com/swrun/swrun/internal/remote"
	"github.com/swrun/swrun/internal/terminal"
	"github.com/swrun/swrun/runtime/settings"
)

func (p *program) configCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "config", Short: "Set timeouts and the delivery of events for a deployment or a namespace",
		Example: `  swrun config set executionTimeout=2h maxExecutionTimeout=1d
  swrun config set -n demo maxRunTimeout=1h
  swrun config unset -n demo maxRunTimeout
  swrun config set events=own`,
		Long: configLong(),
	}
	cmd.AddCommand(p.configSetCommand(), p.configUnsetCommand(), p.configListCommand())
	group(cmd)
	return cmd
}

func configLong() string {
	var b strings.Builder
	for _, s := range (&settings.Settings{}).All() {
		fmt.Fprintf(&b, "%-20s %s\n", s.Name, s.About)
	}
	return b.String() + fmt.Sprintf(`
With -n a setting holds for a namespace, without for the whole deployment. The timeout of a namespace replaces the timeout of the deployment;
of two maximums the smaller one holds. A change holds for runs that start at least %s later, because each process rereads the settings at
this interval. Started runs keep their timeouts. By default all namespaces receive all events; if a token is limited to some namespaces, each
namespace receives only its own.`, settings.MaxAge)
}

func (p *program) configSetCommand() *cobra.Command {
	return p.configChange("set NAME=VALUE...", "Set timeouts", "  swrun config set executionTimeout=2h", func(c *api.SettingsChange, arg string) error {
		name, value, ok := strings.Cut(arg, "=")
		if !ok {
			return usagef("for example swrun config set executionTimeout=2h", "%q is not a setting: it must be NAME=VALUE", arg)
		}
		if _, twice := c.Set[name]; twice {
			return usagef("", "the setting %s is given twice", name)
		}
		if c.Set == nil {
			c.Set = map[string]string{}
		}
		c.Set[name] = value
		return nil
	})
}

func (p *program) configUnsetCommand() *cobra.Command {
	return p.configChange("unset NAME...", "Remove settings", "  swrun config unset executionTimeout", func(c *api.SettingsChange, arg string) error {
		c.Unset = append(c.Unset, arg)
		return nil
	})
}

// configChange makes a command that changes settings, all given settings or none.
func (p *program) configChange(use, short, example string, add func(*api.SettingsChange, string) error) *cobra.Command {
	f, replace := &operateFlags{makes: true, remote: true}, false
	cmd := &cobra.Command{
		Use: use, Short: short, Example: example,
		Args: atLeastOne("a setting"), RunE: verb(func(args []string) error {
			change := api.SettingsChange{Replace: replace}
			for _, arg := range args {
				if err := add(&change, arg); err != nil {
					return err
				}
			}
			if err := settingError(change.Apply(&settings.Settings{})); err != nil {
				return err // before a store is opened
			}
			return p.operate(f, func(ctx context.Context, o *operation) error {
				set, err := o.changeSettings(ctx, change)
				if err == nil {
					err = o.warnReplaced(set.Replaced, "its other settings are lost")
				}
				if err != nil {
					return err
				}
				return o.printSettings([]api.Settings{set})
			})
		}),
	}
	f.add(cmd, "human", "json", "yaml")
	f.within(cmd)
	cmd.Flags().BoolVar(&replace, "replace", false, "set settings anew that cannot be read; the others of them are lost")
	return cmd
}

// changeSettings changes the settings of the namespace of the flags, or of the deployment.
func (o *operation) changeSettings(ctx context.Context, change api.SettingsChange) (api.Settings, error) {
	if o.flags.namespace == "" {
		return remote.Ask(ctx, o.deployment, api.ChangeSettings(), &api.SettingsCommand{Body: change})
	}
	in := &api.NamespaceSettingsCommand{NamespacePath: api.NamespacePath{Namespace: o.flags.namespace}, Body: change}
	return remote.Ask(ctx, o.deployment, api.ChangeNamespaceSettings(), in)
}

func settingError(err error) error {
	var wrong *settings.Error
	if errors.As(err, &wrong) {
		return usagef("swrun config --help lists the settings", "%s", wrong.Detail)
	}
	return err
}

func (p *program) configListCommand() *cobra.Command {
	f := &operateFlags{remote: true, looksOnly: true}
	cmd := &cobra.Command{
		Use: "ls", Short: "List the settings of the deployment, or the effective settings of a namespace",
		Example: `  swrun config ls
  swrun config ls -n demo`,
		Args: exactly(), RunE: verb(func([]string) error {
			return p.operate(f, func(ctx context.Context, o *operation) error { return o.listSettings(ctx) })
		}),
	}
	f.add(cmd, "human", "json", "yaml")
	f.within(cmd)
	return cmd
}

func (o *operation) listSettings(ctx context.Context) error {
	if o.flags.namespace == "" {
		all, err := remote.Ask(ctx, o.deployment, api.ListSettings(), &api.None{})
		if err != nil {
			return err
		}
		return o.printSettings(all)
	}
	holds, err := remote.Ask(ctx, o.deployment, api.GetSettings(), &api.NamespacePath{Namespace: o.flags.namespace})
	if err != nil {
		return err
	}
	return o.printSettings([]api.Settings{holds})
}

func (o *operation) printSettings(all []api.Settings) error {
	if o.flags.output != "human" {
		return o.print(all)
	}
	table := terminal.NewTable(o.out, "FOR", "SETTING", "VALUE")
	for _, s := range all {
		for _, one := range []struct {
			name  string
			value *float64
		}{
			{"executionTimeout", s.ExecutionTimeoutSeconds}, {"runTimeout", s.RunTimeoutSeconds},
			{"maxExecutionTimeout", s.MaxExecutionTimeoutSeconds}, {"maxRunTimeout", s.MaxRunTimeoutSeconds},
		} {
			if one.value != nil {
				table.Row(cmp.Or(s.Namespace, "the deployment"), one.name, duration.Format(time.Duration(*one.value*float64(time.Second))))
			}
		}
		if s.Events != "" {
			table.Row(cmp.Or(s.Namespace, "the deployment"), "events", s.Events)
		}
	}
	return table.Flush()
}
