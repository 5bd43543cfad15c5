package house

import (
	"bufio"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/swrun/swrun/errors"
	"github.com/swrun/swrun/redisstore/redistest"
)

// TestReadme runs what the README shows: its commands print what stands below them, and the document is the example's.
func TestReadme(t *testing.T) {
	text := mustReadFile(t, "README.md")
	binary := mustBuild(t)
	consoles := regexp.MustCompile("(?s)```console\n\\$ ([^\n]*)\n(.*?)```").FindAllStringSubmatch(text, -1)
	if len(consoles) < 3 {
		t.Fatalf("only %d commands with their output", len(consoles))
	}
	for _, c := range consoles {
		if strings.HasSuffix(c[1], "&") {
			continue // TestReadmeServer
		}
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
	programs := regexp.MustCompile("(?s)```go\n(.*?)```").FindAllStringSubmatch(text, -1)
	for _, program := range programs {
		if !strings.Contains(strings.ReplaceAll(mustReadFile(t, "example_test.go"), "\n\t", "\n"), program[1]) {
			t.Errorf("no example has %s", program[1])
		}
	}
	if len(programs) < 2 {
		t.Errorf("only %d Go programs", len(programs))
	}
	if !strings.Contains(text, "```yaml\n"+mustReadFile(t, "examples/quote.yaml")+"```") {
		t.Error("the document is not that of examples/quote.yaml")
	}
}

// TestExampleCommands runs the commands that examples begin with: they print what TestExamples expects, once for each run of a schedule.
func TestExampleCommands(t *testing.T) {
	binary := mustBuild(t)
	files, err := filepath.Glob("examples/*.yaml")
	if err != nil {
		t.Fatal(err)
	}
	commands := 0
	for _, file := range files {
		text := mustReadFile(t, file)
		command := regexp.MustCompile("(?m)^# swrun (run .*)$").FindStringSubmatch(text)
		if command == nil {
			if strings.Contains(text, "listen:") || strings.Contains(text, "schedule:\n") {
				t.Errorf("%s does not say with which command it runs", file)
			}
			continue
		}
		commands++
		t.Run(filepath.Base(file), func(t *testing.T) {
			printed := strings.Split(strings.TrimSpace(shell(binary+" "+command[1]+" 2>/dev/null")), "\n")
			want := strings.TrimSpace(mustReadFile(t, strings.TrimSuffix(file, ".yaml")+".out"))
			if diff := cmp.Diff([]string{want}, slices.Compact(printed)); diff != "" {
				t.Error(diff)
			}
		})
	}
	if commands < 7 {
		t.Errorf("only %d examples begin with a command", commands)
	}
}

// TestReadmeCommands runs the commands for Redis that the README shows, one after the other, on a real server.
func TestReadmeCommands(t *testing.T) {
	binary := mustBuild(t)
	text, server := mustReadFile(t, "README.md"), redistest.Start(t)
	if !strings.Contains(text, "    export SWRUN_STORE=redis://localhost:6379\n") {
		t.Error("the README does not say where the store is")
	}
	swrun := func(args ...string) *exec.Cmd {
		command := exec.CommandContext(t.Context(), binary, args...)
		command.Env = append(os.Environ(), "SWRUN_STORE="+server.URL())
		return command
	}
	lines := regexp.MustCompile(`(?m)^    swrun (\S+)([^#\n]*)`).FindAllStringSubmatch(text, -1)
	if len(lines) < 7 {
		t.Fatalf("only %d commands", len(lines))
	}
	const refused = 6 // what the run does not allow once it has ended
	for _, line := range lines {
		for verb := range strings.SplitSeq(line[1], "|") {
			command := swrun(append([]string{verb}, strings.Fields(line[2])...)...)
			if verb == "worker" {
				stop := inBackground(t, command)
				defer stop()
				continue
			}
			out, err := command.CombinedOutput()
			if code := command.ProcessState.ExitCode(); code != 0 && !(code == refused && strings.Contains(line[1], "|")) {
				t.Errorf("swrun %s%s ends with %d, %v: %s", verb, line[2], code, err, out)
			}
		}
	}
}

// TestReadmeServer runs the session with a server that the README shows.
func TestReadmeServer(t *testing.T) {
	binary := mustBuild(t)
	session := regexp.MustCompile("(?s)```console\n\\$ swrun (serve [^\n]*) &\n(.*?)```").FindStringSubmatch(mustReadFile(t, "README.md"))
	if session == nil {
		t.Fatal("the README starts no server")
	}
	t.Setenv("SWRUN_STORE", "file:"+filepath.Join(t.TempDir(), "runs.db"))
	serve := exec.CommandContext(t.Context(), binary, append(strings.Fields(session[1]), "--listen", "127.0.0.1:0")...)
	told, err := serve.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	defer inBackground(t, serve)()
	address := listening(told)
	if address == "" {
		t.Fatal("the server does not say where it listens")
	}
	go io.Copy(io.Discard, told) // until the server has ended
	commands := regexp.MustCompile(`(?m)^\$ (.*)\n((?:[^$].*\n)*)`).FindAllStringSubmatch(session[2], -1)
	if len(commands) < 3 {
		t.Errorf("only %d commands", len(commands))
	}
	for _, c := range commands {
		line := strings.NewReplacer("localhost:7474", address, "swrun ", binary+" ").Replace(c[1])
		if diff := cmp.Diff(c[2], shell(line)); diff != "" {
			t.Errorf("%s (-README +got):\n%s", c[1], diff)
		}
	}
}

// listening returns the address that a server says on standard error.
func listening(told io.Reader) string {
	lines := bufio.NewScanner(told)
	for lines.Scan() {
		if address, ok := strings.CutPrefix(lines.Text(), "listening on http://"); ok {
			return address
		}
	}
	return ""
}

// inBackground starts a command, and returns what ends it and waits for it.
func inBackground(t *testing.T, command *exec.Cmd) (stop func()) {
	t.Helper()
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	return func() {
		if err := errors.Join(command.Process.Signal(os.Interrupt), command.Wait()); err != nil {
			t.Errorf("%s: %s", command, err)
		}
	}
}

// TestSecretsPage runs the workflow of docs/secrets.md.
func TestSecretsPage(t *testing.T) {
	text := mustReadFile(t, "docs/secrets.md")
	binary, folder := mustBuild(t), t.TempDir()
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
