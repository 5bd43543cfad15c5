package swrun_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestReadme runs what the README shows: its commands print what stands below them, and the document is the example's.
func TestReadme(t *testing.T) {
	text := mustReadFile(t, "README.md")
	binary := filepath.Join(t.TempDir(), "swrun")
	if out, err := exec.Command("go", "build", "-o", binary, "./cmd/swrun").CombinedOutput(); err != nil {
		t.Fatalf("%s\n%s", err, out)
	}
	consoles := regexp.MustCompile("(?s)```console\n\\$ ([^\n]*)\n(.*?)```").FindAllStringSubmatch(text, -1)
	if len(consoles) < 3 {
		t.Fatalf("only %d commands with their output", len(consoles))
	}
	for _, c := range consoles {
		if diff := cmp.Diff(c[2], shell(strings.ReplaceAll(c[1], "swrun ", binary+" "))); diff != "" {
			t.Errorf("%s (-README +got):\n%s", c[1], diff)
		}
	}
	tree := regexp.MustCompile("(?s)```text\n(.*?)```").FindStringSubmatch(text)
	id := regexp.MustCompile(`run [0-9a-f-]{36}`)
	got := shell(binary + " run examples/quote.yaml --clock virtual --progress tree 2>&1 >/dev/null")
	if tree == nil || id.ReplaceAllString(tree[1], "") != id.ReplaceAllString(got, "") {
		t.Errorf("the tree of the README is %q, and the run's is %q", tree, got)
	}
	setUp := regexp.MustCompile("(?s)```sh\n(.*?)\n```").FindAllStringSubmatch(text, -1)
	if len(setUp) != 2 {
		t.Fatalf("the README has %d set-up commands, want 2", len(setUp))
	}
	if got := shell(setUp[0][1] + " 2>/dev/null"); got != "{\"because\":\"Timeout\",\"price\":42,\"source\":\"cache\"}\n" {
		t.Errorf("%s prints %q", setUp[0][1], got)
	}
	if ci := mustReadFile(t, ".ci/run"); !strings.Contains(ci, "\n"+setUp[1][1]+"\n") {
		t.Errorf(".ci/run does not run %q", setUp[1][1])
	}
	inGo := regexp.MustCompile("(?s)```go\n(.*?)```").FindStringSubmatch(text)
	if inGo == nil || !strings.Contains(strings.ReplaceAll(mustReadFile(t, "example_test.go"), "\n\t", "\n"), inGo[1]) {
		t.Error("the Go program is not that of an example")
	}
	if !strings.Contains(text, "```yaml\n"+mustReadFile(t, "examples/quote.yaml")+"```") {
		t.Error("the document is not that of examples/quote.yaml")
	}
}

// TestReadmeCommands gives the commands that the README only names, each verb and flag of them, to a store that cannot be
// opened: none of them may be wrong use.
func TestReadmeCommands(t *testing.T) {
	binary := filepath.Join(t.TempDir(), "swrun")
	if out, err := exec.Command("go", "build", "-o", binary, "./cmd/swrun").CombinedOutput(); err != nil {
		t.Fatalf("%s\n%s", err, out)
	}
	lines := regexp.MustCompile(`(?m)^    swrun (\S+)([^#\n]*)`).FindAllStringSubmatch(mustReadFile(t, "README.md"), -1)
	if len(lines) < 7 {
		t.Fatalf("only %d commands", len(lines))
	}
	const wrongUse, notFound, noStore = 2, 5, 7
	for _, line := range lines {
		for verb := range strings.SplitSeq(line[1], "|") {
			command := exec.Command(binary, append([]string{verb}, strings.Fields(strings.ReplaceAll(line[2], "redis://localhost:6379", "file:/dev/null/none"))...)...)
			command.Env = append(os.Environ(), "SWRUN_STORE=file:/dev/null/none")
			out, err := command.CombinedOutput()
			if code := command.ProcessState.ExitCode(); code != notFound && code != noStore {
				t.Errorf("swrun %s%s ends with %d (wrong use is %d), %v: %s", verb, line[2], code, wrongUse, err, out)
			}
		}
	}
}

// TestSecretsPage runs the workflow of docs/secrets.md.
func TestSecretsPage(t *testing.T) {
	text := mustReadFile(t, "docs/secrets.md")
	binary, folder := filepath.Join(t.TempDir(), "swrun"), t.TempDir()
	if out, err := exec.Command("go", "build", "-o", binary, "./cmd/swrun").CombinedOutput(); err != nil {
		t.Fatalf("%s\n%s", err, out)
	}
	document := regexp.MustCompile("(?s)```yaml\n(.*?)```").FindStringSubmatch(text)
	console := regexp.MustCompile("(?s)```console\n\\$ ([^\n]*)\n(.*?)```").FindStringSubmatch(text)
	if document == nil || console == nil {
		t.Fatal("the page shows no workflow, or does not run it")
	}
	if err := os.WriteFile(filepath.Join(folder, "pay.yaml"), []byte(document[1]), 0o600); err != nil {
		t.Fatal(err)
	}
	got := shell("cd '" + folder + "' && " + strings.ReplaceAll(console[1], "swrun ", binary+" "))
	if diff := cmp.Diff(console[2], got); diff != "" {
		t.Errorf("%s (-page +got):\n%s", console[1], diff)
	}
}

// shell returns the output of a command line, whatever its exit code.
func shell(line string) string {
	out, _ := exec.Command("sh", "-c", line).Output() // a mistake exits with 3, as it should
	return string(out)
}

func mustReadFile(t *testing.T, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}
