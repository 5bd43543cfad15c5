package main

import (
	"errors"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// TestFlagsAreGivenOnce: every flag of every command takes one value, or is a list.
func TestFlagsAreGivenOnce(t *testing.T) {
	p := &program{streams: capture(nil).streams}
	values := map[string][2]string{"bool": {"true", "false"}, "int": {"3", "4"}, "float64": {"3", "4"}, "string": {"a", "b"}}
	tried := 0
	var each func(cmd *cobra.Command)
	each = func(cmd *cobra.Command) {
		cmd.Flags().VisitAll(func(f *pflag.Flag) {
			if _, list := f.Value.(pflag.SliceValue); list {
				return
			}
			v, known := values[f.Value.Type()]
			if !known {
				t.Errorf("%s --%s has the type %s", cmd.CommandPath(), f.Name, f.Value.Type())
				return
			}
			tried++
			first, same, second := f.Value.Set(v[0]), f.Value.Set(v[0]), f.Value.Set(v[1])
			if first != nil || same != nil || !errors.As(second, new(*givenTwiceError)) {
				t.Errorf("%s --%s: %v, the same again: %v, another one: %v", cmd.CommandPath(), f.Name, first, same, second)
			}
		})
		for _, below := range cmd.Commands() {
			each(below)
		}
	}
	each(p.root())
	if tried < 300 {
		t.Errorf("%d flags were tried", tried)
	}
}

// TestVariablesAreNamed: the error of a refused value from the environment contains the name of its variable, however late the value is refused.
func TestVariablesAreNamed(t *testing.T) {
	for variable, values := range map[string][]string{
		"SWRUN_CHECK_INTERVAL":    {"0s", "-1s", "x", "1ms", "9"},
		"SWRUN_SWEEP_INTERVAL":    {"0s", "-1s", "x", "1ms", "9"},
		"SWRUN_SCAN_LIMIT":        {"0", "-1", "x", "99999999"},
		"SWRUN_RECOVERY_ATTEMPTS": {"0", "-1", "x", "99999999"},
		"SWRUN_ERROR_ALIASES":     {"x", "=", "a=b"},
		"SWRUN_ERROR_BASE":        {"x"},
		"SWRUN_CATALOG":           {"/nowhere"},
		"SWRUN_EFFECT_MEMORY":     {"x", "-1"},
		"SWRUN_LIMITS":            {"x"},
	} {
		for _, value := range values {
			c := capture(map[string]string{variable: value})
			code := run([]string{"worker", "--store", "file:" + t.TempDir() + "/runs.db"}, c.streams)
			if code != exitUsage {
				t.Errorf("%s=%s ended with %d", variable, value, code)
			}
			contains(t, c.stderr.String(), variable)
		}
	}
}
