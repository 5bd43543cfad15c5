package main

import (
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

// verbs returns all verbs of swrun except help and completion, which cobra makes.
func verbs() map[string]*cobra.Command {
	all := map[string]*cobra.Command{}
	for _, verb := range (&program{streams: capture(nil).streams}).root().Commands() {
		if name := verb.Name(); name != "help" && name != "completion" {
			all[name] = verb
		}
	}
	return all
}

// TestVerbsHaveTheirFiles: a verb is made in the file of its name; verbs that send a command are made from one table.
func TestVerbsHaveTheirFiles(t *testing.T) {
	for verb := range verbs() {
		if slices.ContainsFunc(commandVerbs(), func(v commandVerb) bool { return v.Name == verb }) {
			continue
		}
		code, err := os.ReadFile(verb + ".go")
		if err != nil || !strings.Contains(string(code), "\nfunc (p *program) "+verb+"Command()") {
			t.Errorf("%s.go does not make the verb %s", verb, verb)
		}
	}
}

// TestNamespacesMeanTheSame (promises 86, 93 and 94): every verb with -n gets it from the same place, so that it means the same, and so does
// SWRUN_NAMESPACE. A token is for several namespaces, and has a flag of its own for them.
func TestNamespacesMeanTheSame(t *testing.T) {
	want := &cobra.Command{}
	new(namespaceFlags).within(want)
	usage := want.Flags().Lookup("namespace").Usage
	found := 0
	without := map[string]string{ // verbs that have a store, and no -n
		"run": "a document says its namespace", "deploy": "a document says its namespace", "serve": "it is for all namespaces", "worker": "it is for all namespaces", "import": "an export says its namespace", "dev": "documents say their namespaces",
		"doctor": "the whole deployment", "bench": "the whole deployment", "workers": "they are for all namespaces", "queue ls": "queues are of the deployment", "sink ls": "sinks are of the deployment", "sink dead-letters": "sinks are of the deployment", "sink retry": "sinks are of the deployment", "sink drop": "sinks are of the deployment",
		"queue limit": "queues are of the deployment", "queue pause": "queues are of the deployment", "queue resume": "queues are of the deployment", "token ls": "all tokens", "token revoke": "all tokens",
		"function deploy": "functions are of the deployment", "function ls": "functions are of the deployment", "function show": "functions are of the deployment", "function rm": "functions are of the deployment",
	}
	var check func(cmd *cobra.Command)
	check = func(cmd *cobra.Command) {
		if f := cmd.Flags().Lookup("namespace"); f != nil && cmd.Parent().Name() != "token" {
			if found++; f.Usage != usage || cmd.Flags().Lookup("all-namespaces") == nil {
				t.Errorf("%s: -n is %q", cmd.CommandPath(), f.Usage)
			}
		}
		name := strings.TrimPrefix(cmd.CommandPath(), "swrun ")
		if has := cmd.Flags().Lookup("namespace") != nil; opensStore(cmd) && has == (without[name] != "") {
			t.Errorf("%s has -n: %t", name, has)
		}
		for _, below := range cmd.Commands() {
			check(below)
		}
	}
	for _, verb := range verbs() {
		check(verb)
	}
	if found < 10 {
		t.Errorf("only %d verbs have -n", found)
	}
}

// TestVerbsAreInScripts: the output of each verb, and its exit code, is in a script.
func TestVerbsAreInScripts(t *testing.T) {
	scripts, err := filepath.Glob("testdata/script/*.txtar")
	if err != nil {
		t.Fatal(err)
	}
	given := map[string]bool{}
	for _, script := range scripts {
		text, err := os.ReadFile(script)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range regexp.MustCompile(`(?m)^(?:exits \d+|!? ?exec) swrun (\w+)`).FindAllSubmatch(text, -1) {
			given[string(m[1])] = true
		}
	}
	for verb := range verbs() {
		if !given[verb] {
			t.Errorf("no script gives %s", verb)
		}
	}
}

// missingVerbs returns the verbs for which wanted returns true and that were not given, sorted.
func missingVerbs(given map[string]bool, wanted func(*cobra.Command) bool) (missing []string) {
	all := verbs()
	for _, name := range slices.Sorted(maps.Keys(all)) {
		if wanted(all[name]) && !given[name] {
			missing = append(missing, name)
		}
	}
	return missing
}

// opensStore reports whether a verb has --store.
func opensStore(verb *cobra.Command) bool { return verb.Flags().Lookup("store") != nil }
