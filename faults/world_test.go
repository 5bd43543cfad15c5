package faults

import (
	"bufio"
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/redis/go-redis/v9"

	"github.com/swrun/swrun/dsl"
	"github.com/swrun/swrun/interpreter"
	"github.com/swrun/swrun/redisstore"
	"github.com/swrun/swrun/redisstore/redistest"
	"github.com/swrun/swrun/runtime/client"
	"github.com/swrun/swrun/runtime/execution"
	"github.com/swrun/swrun/runtime/store"
	"github.com/swrun/swrun/tasks"
)

var long = flag.Bool("long", false, "let the tests take minutes")

// of returns n, or ten times as much with -long.
func of(n int) int {
	if *long {
		return 10 * n
	}
	return n
}

// binary is the program under test, built once.
var binary string

func TestMain(m *testing.M) {
	if server := os.Getenv(outsideVariable); server != "" { // this is an outside worker
		fmt.Fprintln(os.Stderr, performOutside(server, os.Getenv(outsideVariable+"_SINK")))
		os.Exit(1)
	}
	flag.Parse()
	folder, err := os.MkdirTemp("", "swrun-faults")
	if err == nil {
		binary = filepath.Join(folder, "swrun")
		err = exec.Command("go", "build", "-o", binary, "github.com/swrun/swrun/cmd/swrun").Run()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "build swrun:", err)
		os.Exit(1)
	}
	code := m.Run()
	os.RemoveAll(folder)
	os.Exit(code)
}

// world is a Redis, a proxy before it, workers and the outside.
type world struct {
	*testing.T
	redis   *redistest.Server
	proxy   *proxy
	sink    *sink
	store   *redisstore.Store // not through the proxy
	client  *client.Client
	workers []*worker
	runs    []store.Instance
}

// lease is short, so that tests are short.
const lease = 2 * time.Second

// soon is the maximum delay of something that nothing prevents: a machine may be busy with other work.
const soon = time.Minute

// newWorld starts a server, which keeps everything unless persistence specifies otherwise: it writes each confirmed change before the confirmation,
// and leaves the disk to the machine, which is not killed. With everysec it would confirm unwritten changes while the disk is slow.
func newWorld(t *testing.T, delay time.Duration, persistence ...string) *world {
	t.Helper()
	if persistence == nil {
		persistence = []string{"--appendonly", "yes", "--appendfsync", "no"}
	}
	return newWorldOn(t, redistest.Start(t, persistence...), delay)
}

func newWorldOn(t *testing.T, server *redistest.Server, delay time.Duration) *world {
	t.Helper()
	w := &world{T: t, redis: server, sink: startSink(t, delay)}
	w.proxy = startProxy(t, w.redis.Addr)
	var err error
	if w.store, err = redisstore.Open(t.Context(), w.redis.URL(), redisstore.Config{Partitions: 8}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { w.store.Close() }) // the server may be stopped
	w.client = client.New(client.Config{Store: w.store})
	return w
}

// worker is a process.
type worker struct {
	command *exec.Cmd
	mu      sync.Mutex
	log     []string
}

// work starts a worker that reaches Redis through the proxy.
func (w *world) work(args ...string) *worker {
	w.Helper()
	all := append([]string{"worker", "--store", "redis://" + w.proxy.addr, "--network", "any", "--lease", lease.String()}, args...)
	return w.spawn(exec.Command(binary, all...))
}

// spawn starts a process, and keeps its log.
func (w *world) spawn(command *exec.Cmd) *worker {
	w.Helper()
	k := &worker{command: command}
	stderr, err := k.command.StderrPipe()
	if err != nil {
		w.Fatal(err)
	}
	if err := k.command.Start(); err != nil {
		w.Fatal(err)
	}
	go func() {
		for lines := bufio.NewScanner(stderr); lines.Scan(); {
			k.mu.Lock()
			k.log = append(k.log, lines.Text())
			k.mu.Unlock()
		}
	}()
	w.workers = append(w.workers, k)
	w.Cleanup(func() {
		k.kill()
		if w.Failed() {
			w.Logf("log of %d:\n%s", k.command.Process.Pid, strings.Join(k.lines(), "\n"))
		}
	})
	return k
}

// lines returns the last lines of the worker's log.
func (k *worker) lines() []string {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.log[max(0, len(k.log)-30):]
}

// everything returns all of the worker's log.
func (k *worker) everything() []string {
	k.mu.Lock()
	defer k.mu.Unlock()
	return slices.Clone(k.log)
}

// told reports whether the worker's log contains a text.
func (k *worker) told(text string) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	return slices.ContainsFunc(k.log, func(line string) bool { return strings.Contains(line, text) })
}

// kill ends the process as kill -9 does, and returns whether it was alive.
func (k *worker) kill() bool {
	alive := k.command.Process.Signal(syscall.Signal(0)) == nil
	k.command.Process.Kill() // it may be ended
	k.command.Wait()         // it was killed
	return alive
}

func (w *world) signal(k *worker, s syscall.Signal) {
	w.Helper()
	if err := k.command.Process.Signal(s); err != nil {
		w.Fatal(err)
	}
}

// closed returns the number of ended runs.
func (w *world) closed() (n int64) {
	w.Helper()
	for p := range w.store.Layout().Partitions {
		st, err := w.store.Statistics(w.Context(), p)
		if err != nil {
			w.Fatal(err)
		}
		n += st.Closed
	}
	return n
}

// settle waits until all runs are ended; with -long, ten times as long.
func (w *world) settle(limit time.Duration) {
	w.Helper()
	w.settleAll(int64(len(w.runs)), limit)
}

// settleAll is settle for runs that start others: ends is the total number of ends.
func (w *world) settleAll(ends int64, limit time.Duration) {
	w.Helper()
	limit *= time.Duration(of(1))
	for deadline := time.Now().Add(limit); w.closed() < ends; time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			w.unfinished()
			w.Fatalf("%d of %d runs have ended after %s", w.closed(), ends, limit)
		}
	}
}

// unfinished describes some runs that are not ended.
func (w *world) unfinished() {
	told := 0
	for _, i := range w.runs {
		l, err := w.store.Load(context.Background(), i)
		if err != nil || !l.Lifecycle.Status.Final() {
			w.Logf("%s: %+v %v", i, l.Lifecycle, err)
			if told++; told == 5 {
				return
			}
		}
	}
}

// audit checks every run: its records have no gaps and one end, each effect was committed once, nothing completed after its time, and its history
// yields the stored state (I1, I2, I3, I8, I10 of docs/engine.md). It calls each with every run's history.
func (w *world) audit(want interpreter.Status, each func(store.Instance, []client.HistoryEntry)) {
	w.Helper()
	for _, i := range w.runs {
		l, err := w.store.Load(w.Context(), i)
		if err != nil {
			w.Fatal(err)
		}
		if l.Lifecycle.Status != want {
			w.Errorf("%s is %s (%s), want %s", i, l.Lifecycle.Status, l.Lifecycle.Reason, want)
		}
		var entries []client.HistoryEntry
		if _, err := w.client.History(w.Context(), i, 0, func(e client.HistoryEntry) error {
			entries = append(entries, e)
			return nil
		}); err != nil {
			w.Fatal(err)
		}
		w.auditHistory(i, l, entries)
		if each != nil {
			each(i, entries)
		}
	}
	w.auditIndexes()
}

func (w *world) auditHistory(i store.Instance, l store.Loaded, entries []client.HistoryEntry) {
	w.Helper()
	seq, ends := 0, 0
	nonces := map[int64]string{}
	finished := map[interpreter.Path]bool{}
	plain := make([]interpreter.HistoryStep, len(entries))
	epoch := int64(0)
	for n, e := range entries {
		plain[n] = e.HistoryStep
		if known, ok := nonces[e.Token.Epoch]; ok && known != e.Token.Nonce || e.Token.Epoch < epoch {
			w.Errorf("%s: entry %d is of %v after epoch %d", i, n, e.Token, epoch)
		}
		epoch, nonces[e.Token.Epoch] = e.Token.Epoch, e.Token.Nonce
		if e.CommittedAt.Before(e.At) {
			w.Errorf("%s: entry %d was committed %s before its time", i, n, e.At.Sub(e.CommittedAt))
		}
		for _, r := range e.Events {
			if seq++; r.Seq != seq {
				w.Errorf("%s: record %d has the number %d", i, seq, r.Seq)
			}
			switch r.Type {
			case interpreter.WorkflowCompleted, interpreter.WorkflowFaulted, interpreter.WorkflowCancelled:
				ends++
			case interpreter.EffectFinished:
				if finished[r.Path] && r.Kind != dsl.KindCallAsyncAPI { // a subscription has many
					w.Errorf("%s: the effect of %s was committed twice", i, r.Path)
				}
				finished[r.Path] = true
			}
		}
	}
	if ends != 1 || int64(seq) != l.Lifecycle.Records {
		w.Errorf("%s: %d ends, %d records; the store counts %d", i, ends, seq, l.Lifecycle.Records)
	}
	w.auditState(i, l, plain)
}

func (w *world) auditState(i store.Instance, l store.Loaded, entries []interpreter.HistoryStep) {
	w.Helper()
	info, err := execution.ParseInvocation(l.Invocation)
	if err != nil {
		w.Fatal(err)
	}
	p := w.program(info)
	folded, err := interpreter.Replay(interpreter.Past{Program: p, New: info.NewState(i), Start: info.Start(p, l.Lifecycle), Steps: entries})
	if err != nil {
		w.Fatal(err)
	}
	stored, err := interpreter.Restore(p, info.NewState(i), info.Input.V, l.State)
	if err != nil {
		w.Fatal(err)
	}
	stored.NumberFrom(int(l.Lifecycle.Records))
	want, _ := stored.MarshalJSON() // a decoded state can be encoded
	got, _ := folded.MarshalJSON()
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		w.Errorf("%s: the history does not make the state (-want +got):\n%s", i, diff)
	}
}

func (w *world) program(info *execution.Invocation) *interpreter.Program {
	w.Helper()
	data, err := w.store.Definition(w.Context(), "digest/"+info.Definition)
	if err != nil {
		w.Fatal(err)
	}
	p, err := compileDefinition(data)
	if err != nil {
		w.Fatal(err)
	}
	return p
}

// auditIndexes compares the indexes with the records (I4, I5).
func (w *world) auditIndexes() {
	w.Helper()
	for p := range w.store.Layout().Partitions {
		for cursor := ""; ; {
			done, err := w.store.Scrub(w.Context(), store.Scrub{Partition: p, Cursor: cursor, N: 100})
			if err != nil {
				w.Fatal(err)
			}
			for _, what := range done.Repaired {
				w.Errorf("partition %d: %s", p, what)
			}
			if cursor = done.Cursor; cursor == "" {
				break
			}
		}
	}
}

// takenOver reports whether a run had more than one owner.
func takenOver(entries []client.HistoryEntry) bool {
	return len(entries) > 0 && entries[0].Token.Epoch != entries[len(entries)-1].Token.Epoch
}

func compileDefinition(data []byte) (*interpreter.Program, error) {
	definition, err := parseDefinition(data)
	if err != nil {
		return nil, err
	}
	workflow, found := dsl.Parse("a.yaml", []byte(definition.Document))
	if err := found.Err(); err != nil {
		return nil, err
	}
	p, found := interpreter.Compile(workflow, interpreter.Config{Kinds: tasks.All(tasks.Config{}), Load: definition.Load})
	return p, found.Err()
}

func (w *world) redisClient() *redis.Client {
	c := redis.NewClient(&redis.Options{Addr: w.redis.Addr, DisableIdentity: true})
	w.Cleanup(func() { c.Close() }) // the server may be stopped
	return c
}
