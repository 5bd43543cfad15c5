package process_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	ossignal "os/signal"
	"path/filepath"
	goruntime "runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/swrun/swrun/internal/pacetest"
	"github.com/swrun/swrun/process"
	"github.com/swrun/swrun/process/processtest"
)

func TestMain(m *testing.M) {
	if len(os.Args) == 3 && os.Args[1] == "program" {
		job := shell(os.Args[2])
		job.Environment = os.Environ()
		job.Arguments[2] = waiting + job.Arguments[2]
		job.KillAfter = time.Hour // which nobody waits for when the program is gone
		ctx, cancel := context.WithCancel(context.Background())
		go func() {
			for {
				if _, err := os.Stat(filepath.Join(os.Getenv("MARK"), "cut")); err == nil {
					cancel()
				}
				time.Sleep(10 * time.Millisecond)
			}
		}()
		_, err := processtest.NewPool().Run(ctx, job)
		fmt.Println(err)
		return
	}
	processtest.Main(m)
}

// waiting is a function of the shell that returns when what is left has started.
const waiting = `wait_for() { while [ ! -e "$MARK/started" ]; do sleep 0.01; done; }
`

func shell(text string) process.Job {
	return process.Job{
		Path: "/bin/sh", Arguments: []string{"sh", "-c", text}, Environment: []string{"PATH=" + os.Getenv("PATH")}, MaxOutput: 1 << 20, KillAfter: 50 * time.Millisecond,
	}
}

// poolFor returns a pool for the time of a test: the supervisor of a command runs under the race detector too.
func poolFor(t *testing.T, j process.Job) *process.Pool {
	if j.Script != nil {
		return processtest.Pool(t)
	}
	return processtest.Commands(t)
}

func script(code string) process.Job {
	return process.Job{Script: &process.Script{Code: code, Arguments: []string{"x"}, Globals: []byte(`{"name": "Ada"}`)}, MaxOutput: 1 << 20}
}

// TestScriptsEndAsInNode: code and standard error of scripts that end in every way.
func TestScriptsEndAsInNode(t *testing.T) {
	p := processtest.Pool(t)
	for _, c := range []struct {
		name, code string
		want       int
		stdout     string // all of it
		stderr     string // a part
	}{
		{"a plain end", `console.log("x")`, 0, "x\n", ""},
		{"an error", `throw new Error("broken")`, 1, "", "Error: broken"},
		{"an error in an async main", `async function main(){throw new Error("x")} main()`, 1, "", "Error: x"},
		{"an error after an await", `async function main(){await null; throw new Error("x")} main()`, 1, "", "Error: x"},
		{"an unhandled rejection", `Promise.reject(new TypeError("no"))`, 1, "", "TypeError: no"},
		{"a rejection with text", `Promise.reject("no")`, 1, "", "Uncaught no"},
		{"a rejection with nothing", `Promise.reject()`, 1, "", "Uncaught undefined"},
		{"a handled rejection", `Promise.reject(1).catch(() => console.log("caught"))`, 0, "caught\n", ""},
		{"a rejection that is handled later in the turn", `const p = Promise.reject(1); Promise.resolve().then(() => p.catch(() => console.log("caught")))`, 0, "caught\n", ""},
		{"a rejection that an await handles", `async function f(){ throw 1 } (async () => { try { await f() } catch { console.log("caught") } })()`, 0, "caught\n", ""},
		{"a rejection whose then has no catch", `Promise.reject(new Error("x")).then(() => {})`, 1, "", "Error: x"},
		{"one of several rejections", `Promise.reject(new Error("first")); Promise.reject(new Error("second"))`, 1, "", "Error: first"},
		{"output before a rejection", `console.log("a"); Promise.reject(new Error("x")); console.log("b")`, 1, "a\nb\n", "Error: x"},
		{"a thrown text", `throw "text"`, 1, "", "Uncaught text"},
		{"a thrown object without builtins", `JSON.stringify = eval = null; String.prototype.replaceAll = Reflect.apply = null; throw {a: 1n}`, 1, "", `Uncaught {"a":"1n"}`},
		{"a thrown null", `throw null`, 1, "", "null"},
		{"a thrown thing without text", `throw { toString() { throw 1 } }`, 1, "", ""},
		{"a rejection without text", `Promise.reject({ toString() { throw 1 }, toJSON() { throw 2 } })`, 1, "", "Uncaught"},
		{"a rejected symbol", `Promise.reject(Symbol("s"))`, 1, "", "Uncaught Symbol(s)"},
		{"a syntax error", `let = = 3`, 1, "", "SyntaxError"},
		{"a syntax error in a module", "import { readFileSync } from 'node:fs'\nlet = = 3", 1, "", "SyntaxError"},
		{"an unknown module", `import net from 'node:net'`, 1, "", "node:net"},
		{"exit", `process.exit(3); console.log("never")`, 3, "", ""},
		{"exit with text", `process.exit("4")`, 4, "", ""},
		{"exit below zero", `process.exit(-1)`, 255, "", ""},
		{"exit beyond a byte", `process.exit(257)`, 1, "", ""},
		{"exit with a fraction", `process.exit(1.5)`, 1, "", "must be an integer"},
		{"exit with the set code", `process.exitCode = 7; process.exit()`, 7, "", ""},
		{"the set code", `process.exitCode = 7`, 7, "", ""},
		{"a set code that is none", `process.exitCode = "x"`, 1, "", "must be an integer"},
		{"exit in an async main", `async function main(){ await null; process.exit(5) } main()`, 5, "", ""},
		{"exit in a finally", `try { process.exit(5) } finally { console.log("never") }`, 5, "", ""},
		{"await at the top", `const x = await Promise.resolve(3); console.log(x)`, 0, "3\n", ""},
		{"await inside a call", `console.log(await Promise.resolve(3))`, 0, "3\n", ""},
		{"a rejection at the top", `await Promise.reject(new Error("x"))`, 1, "", "Error: x"},
		{"an await without end", `await new Promise(() => {}); console.log("never")`, 13, "", "awaited a promise"},
		{"an async main without end", `(async () => { await new Promise(() => {}) })()`, 0, "", ""},
		{"await as a word", `const text = "await import export"; console.log(text)`, 0, "await import export\n", ""},
		{"an endless recursion", `(function f() { f() })()`, 1, "", "stack"},
		{"too much memory", `const a = []; for (;;) a.push("x".repeat(1e6) + a.length)`, 1, "", "out of memory"},
		{"a long text", `"x".repeat(2**30 - 2)`, 1, "", "out of memory"},
		{"more jobs than the engine runs at once", `let n = 0; const next = async () => { while (++n < 400000) await null; console.log(n) }; next()`, 0, "400000\n", ""},
		{"memory that is full where nobody looks", `const all = []; for (;;) all.push(new Promise(() => {}).then(() => 1))`, 1, "", "out of memory"},
		{"memory that is free again", `let all = []; try { for (;;) all.push(new Array(1000).fill(1)) } catch { all = null; console.log("caught") }`, 1, "caught\n", "out of memory"},
		{"an endless async recursion", `async function f() { await null; return f() } f()`, 1, "", "out of memory"},
		{"an endless async recursion that is caught", `async function f() { await null; return f() } f().catch(() => {})`, 1, "", "out of memory"},
		{"an endless chain of promises", `const f = () => Promise.resolve().then(() => f()); f()`, 1, "", "out of memory"},
		{"an endless async generator", `async function* g() { yield* g() } (async () => { for await (const x of g()) ; })()`, 1, "", ""},
		{"memory that is wanted in vain before exit", `try { "x".repeat(2**29) } catch {} process.exit(0)`, 1, "", "out of memory"},
		{"a deep async recursion", `let n = 0; async function f() { await null; return ++n < 10000 ? f() : n } f().then(console.log)`, 0, "10000\n", ""},
		{"builtins that are gone", `Array.prototype.map = Array.prototype.join = JSON.stringify = null; String = Error = TypeError = null; console.log("a", 1, {b: 2})`, 0, "a 1 {\"b\":2}\n", ""},
		{"builtins that are gone, and a rejection", `Map.prototype.set = Map.prototype.values = Map.prototype.forEach = Reflect.apply = Function.prototype.call = null; Array.prototype[Symbol.iterator] = null; Promise.reject("no")`, 1, "", "Uncaught no"},
		{"names like ours", `function __end() {} let __module = 1, host = 2, keep = 3; globalThis.__rejected = 4; Promise.reject("no")`, 1, "", "Uncaught no"},
		{"bytes instead of text", `process.stdout.write(new Uint8Array([104, 105]))`, 1, "", "TypeError: only text can be written"},
		{"an await without end after a set code", `process.exitCode = 9; await new Promise(() => {})`, 9, "", "awaited a promise"},
		{"an argument", `console.log(name, process.argv.length)`, 0, "Ada 3\n", ""},
		{"no input", `import { readFileSync } from 'node:fs'; console.log(readFileSync(0).length)`, 0, "0\n", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := p.Run(t.Context(), script(c.code))
			if err != nil {
				t.Fatal(err)
			}
			if got.ExitCode != c.want || string(got.Stdout) != c.stdout || !strings.Contains(string(got.Stderr), c.stderr) {
				t.Errorf("got %d, %q, %q", got.ExitCode, got.Stdout, got.Stderr)
			}
		})
	}
}

// TestJobsEndWithTheirContext: also jobs that cannot be interrupted.
func TestJobsEndWithTheirContext(t *testing.T) {
	for name, job := range map[string]process.Job{
		"a loop":                script(`for (;;) {}`),
		"a native search":       script(`Array.prototype.lastIndexOf.call({length: 2**53 - 1}, 0)`),
		"a native sort":         script(`Array.prototype.sort.call({length: 2**31}, () => 0); for (;;) {}`),
		"a regular expression":  script(`/^(a+)+$/.test("a".repeat(60) + "!")`),
		"text without end":      script(`JSON.stringify(new Proxy([], {get: (t, k) => k === 'length' ? 2**53 - 1 : undefined}))`),
		"jobs without end":      script(`const next = () => Promise.resolve().then(next); next()`),
		"a promise that spins":  script(`const next = async () => { for (;;) await null }; next()`),
		"a command":             shell(`sleep 1000`),
		"one that ignores TERM": shell(`trap '' TERM; while :; do sleep 0.01; done`),
		"an endless output":     shell(`while :; do echo x >/dev/null; done`),
	} {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithTimeoutCause(t.Context(), 100*time.Millisecond, errTime)
			defer cancel()
			if got, err := poolFor(t, job).Run(ctx, job); err != errTime {
				t.Errorf("got %+v, %v", got, err)
			}
		})
	}
}

var errTime = errors.New("its time is over")

// TestKilledSupervisor: a command that kills its supervisor fails, and ends with its session.
func TestKilledSupervisor(t *testing.T) {
	if goruntime.GOOS != "linux" {
		t.Skip("only there the processes of a session can be listed")
	}
	mark := t.TempDir()
	job := shell("sleep 1000 & kill -9 $PPID; sleep 1000")
	job.Environment = append(job.Environment, "MARK="+mark)
	var crash *process.CrashError
	if got, err := processtest.Commands(t).Run(t.Context(), job); !errors.As(err, &crash) {
		t.Errorf("got %+v, %v", got, err)
	}
	for deadline := time.Now().Add(pacetest.Patience); ; goruntime.Gosched() {
		left := processesWith(t, mark)
		if len(left) == 0 {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("still running: %q", left)
		}
	}
}

// TestMemoryOutsideTheHeap: what the engine does not count is bounded too.
func TestMemoryOutsideTheHeap(t *testing.T) {
	p := processtest.Pool(t)
	for _, code := range []string{
		`const all = []; for (;;) all.push(new SharedArrayBuffer(1 << 24))`,
		`new SharedArrayBuffer(2 ** 40)`,
		`const all = []; for (;;) all.push(new Uint8Array(1 << 24).fill(1))`,
		`let a = []; for (;;) a = [a, a, new Array(1000).fill(a)]`,
		`new Array(2 ** 32 - 1).fill(0)`,
		`new Array(1e6).join("x".repeat(1000))`,
		`"x".padEnd(2 ** 29)`,
		`2n ** (2n ** 40n)`,
	} {
		got, err := p.Run(t.Context(), script(code))
		var crash *process.CrashError
		if err == nil && got.ExitCode == 1 || errors.As(err, &crash) && crash.OutOfMemory {
			continue
		}
		t.Errorf("%s: got %+v, %v", code, got, err)
	}
}

func TestOutputIsBounded(t *testing.T) {
	for name, c := range map[string]struct {
		job    process.Job
		stream string
	}{
		"a command":                    {shell(`yes`), "stdout"},
		"a command's errors":           {shell(`yes >&2`), "stderr"},
		"one that has ended":           {shell(`head -c 3000000 /dev/zero`), "stdout"},
		"what it has left":             {shell(`(trap '' TERM; yes) & exit 0`), "stdout"},
		"a script":                     {script(`for (;;) console.log("x".repeat(1000))`), "stdout"},
		"a script's errors":            {script(`for (;;) console.error("x".repeat(1000))`), "stderr"},
		"a script that catches it all": {script(`for (;;) { try { process.stdout.write("x".repeat(1e6)) } catch {} finally { continue } }`), "stdout"},
	} {
		t.Run(name, func(t *testing.T) {
			var limit *process.LimitError
			got, err := poolFor(t, c.job).Run(t.Context(), c.job)
			if !errors.As(err, &limit) || limit.Stream != c.stream || limit.Max != 1<<20 {
				t.Errorf("got %d, %v", got.ExitCode, err)
			}
		})
	}
	exact, err := processtest.Commands(t).Run(t.Context(), shell(`head -c 1048576 /dev/zero`))
	if err != nil || len(exact.Stdout) != 1<<20 {
		t.Errorf("1 MiB is refused: %d bytes, %v", len(exact.Stdout), err)
	}
}

// TestNothingIsLeft: whatever a command has started is gone when the job has ended, by itself or by its context.
func TestNothingIsLeft(t *testing.T) {
	for name, text := range leavers() {
		for how, end := range map[string]string{"ended by itself": "", "cut off": "sleep 1000"} {
			t.Run(name+", "+how, func(t *testing.T) {
				mark := t.TempDir()
				job := shell(waiting + text + end)
				job.Environment = append(job.Environment, "MARK="+mark)
				ctx, cancel := context.WithCancelCause(t.Context())
				defer cancel(nil)
				var ended sync.WaitGroup
				ended.Go(func() {
					if _, err := processtest.Commands(t).Run(ctx, job); err != nil && err != errTime {
						t.Error(err)
					}
				})
				if end != "" {
					waitFor(t, filepath.Join(mark, "started"))
					cancel(errTime)
				}
				ended.Wait()
				if left := processesWith(t, mark); len(left) > 0 {
					t.Errorf("still running: %q", left)
				}
			})
		}
	}
}

// TestNothingOutlivesTheProgram: a program that is killed, or whose terminal hangs up, takes everything with it.
func TestNothingOutlivesTheProgram(t *testing.T) {
	// The tests may run with hangups ignored, as nohup does. A program inherits that, unless the signal is handled here.
	hangups := make(chan os.Signal, 1)
	ossignal.Notify(hangups, syscall.SIGHUP)
	defer ossignal.Stop(hangups)
	for _, signal := range []syscall.Signal{syscall.SIGKILL, syscall.SIGHUP, syscall.SIGTERM} {
		for name, text := range leavers() {
			t.Run(fmt.Sprint(name, ", ", signal), func(t *testing.T) {
				mark := t.TempDir()
				program := exec.Command(os.Args[0], "program", text+"sleep 1000")
				program.Env = append(os.Environ(), "MARK="+mark)
				if err := program.Start(); err != nil {
					t.Fatal(err)
				}
				waitFor(t, filepath.Join(mark, "started"))
				if err := program.Process.Signal(signal); err != nil {
					t.Fatal(err)
				}
				_ = program.Wait() // it was killed
				waitGone(t, mark)
			})
		}
	}
}

// TestNothingOutlivesAnOrder: a program that has ordered the end of a job, and is killed while the job may still end by itself, takes it with it.
func TestNothingOutlivesAnOrder(t *testing.T) {
	mark := t.TempDir()
	program := exec.Command(os.Args[0], "program", `trap 'touch "$MARK/ordered"' TERM; touch "$MARK/started"; while :; do sleep 0.01; done`)
	program.Env = append(os.Environ(), "MARK="+mark)
	if err := program.Start(); err != nil {
		t.Fatal(err)
	}
	waitFor(t, filepath.Join(mark, "started"))
	if err := os.WriteFile(filepath.Join(mark, "cut"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	waitFor(t, filepath.Join(mark, "ordered"))
	time.Sleep(time.Second) // longer than a job has whose program was gone at once
	if err := program.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = program.Wait() // it was killed
	waitGone(t, mark)
}

// waitGone waits until nothing is left of a job.
func waitGone(t *testing.T, mark string) {
	t.Helper()
	for deadline := time.Now().Add(pacetest.Patience); ; goruntime.Gosched() {
		left := processesWith(t, mark)
		if len(left) == 0 {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("still running: %q", left)
		}
	}
}

// leavers are scripts that leave processes behind; these have started when the file $MARK/started exists.
func leavers() map[string]string {
	const stay = `touch "$MARK/started"; while :; do sleep 1000; done`
	return map[string]string{
		"in the background":     "(" + stay + ") & wait_for; ",
		"without its output":    "(" + stay + ") >/dev/null 2>&1 </dev/null & wait_for; ",
		"in a session":          "setsid sh -c '" + stay + "' >/dev/null 2>&1 & wait_for; ",
		"after a double fork":   `(setsid sh -c 'sh -c "trap : TERM HUP; ` + strings.ReplaceAll(stay, `"`, `\"`) + `" & exit' & exit); wait_for; `,
		"in spite of a hangup":  "nohup sh -c '" + stay + "' >/dev/null 2>&1 & wait_for; ",
		"that ignores TERM":     "(trap '' TERM; " + stay + ") & wait_for; ",
		"a crowd":               `f() { trap '' TERM; if [ $1 -gt 0 ]; then f $(($1 - 1)) & f $(($1 - 1)) & wait; fi; touch "$MARK/started"; while :; do (exit); done; }; f 4 & wait_for; `,
		"that is stopped":       `sh -c 'touch "$MARK/started"; kill -STOP $$; sleep 1000' & wait_for; `,
		"that goes on starting": `f() { touch "$MARK/started"; sleep 0.01; (f &) ; }; f & wait_for; `,
	}
}

func waitFor(t *testing.T, file string) {
	t.Helper()
	for deadline := time.Now().Add(pacetest.Patience); ; goruntime.Gosched() {
		if _, err := os.Stat(file); err == nil {
			return
		}
		if time.Now().After(deadline) {
			t.Fatal("nothing has started")
		}
	}
}

// processesWith returns the processes whose environment holds text.
func processesWith(t *testing.T, text string) []string {
	t.Helper()
	files, err := filepath.Glob("/proc/[0-9]*/environ")
	if err != nil || len(files) == 0 {
		t.Skip("no process table")
	}
	var found []string
	for _, file := range files {
		environment, err := os.ReadFile(file)
		if err == nil && strings.Contains(string(environment), text) { // a process may end while we look
			found = append(found, filepath.Dir(file))
		}
	}
	return found
}

// BenchmarkJob is the time from a job to its end, on a supervisor that is ready and on a new one.
func BenchmarkJob(b *testing.B) {
	for name, job := range map[string]process.Job{"command": shell("exit 0"), "script": script("console.log(1)")} {
		b.Run(name, func(b *testing.B) {
			p := processtest.Pool(b)
			for b.Loop() {
				if _, err := p.Run(b.Context(), job); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run(name+"/new", func(b *testing.B) {
			for b.Loop() {
				p := processtest.Pool(b)
				if _, err := p.Run(b.Context(), job); err != nil {
					b.Fatal(err)
				}
				p.Close()
			}
		})
	}
}
