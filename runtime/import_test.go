package runtime_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/swrun/swrun/errors"
	"github.com/swrun/swrun/internal/pacetest"
	"github.com/swrun/swrun/interpreter"
	"github.com/swrun/swrun/memstore"
	"github.com/swrun/swrun/runtime/client"
	"github.com/swrun/swrun/runtime/execution"
	"github.com/swrun/swrun/runtime/store"
	"github.com/swrun/swrun/runtime/worker"
)

// elsewhere returns a host with another store.
func (h *host) elsewhere() *host {
	other := *h
	other.store = memstore.New(memstore.Config{Partitions: 3})
	other.client = client.New(client.Config{Store: other.store, Compile: other.compile})
	return &other
}

// archived returns all that a store has of a run.
func (h *host) archived(i store.Instance) *client.Archive {
	h.Helper()
	a, err := h.client.Archive(h.Context(), i)
	h.must(err)
	return a
}

// TestImport: a run is transferred to another store unchanged, at any position, and continues there. Deadlines that passed in between fire
// immediately.
func TestImport(t *testing.T) {
	for name, c := range pacetest.ThinnedMap(map[string]struct {
		document string
		options  client.StartOptions
		before   time.Duration // until it is exported
		between  time.Duration // until it is imported
		took     time.Duration
		status   interpreter.Status
	}{
		"one that has ended":            {"do: [{a: {set: {n: 1}}}]", client.StartOptions{}, time.Second, time.Hour, 0, interpreter.StatusCompleted},
		"one that has failed":           {"do: [{a: {raise: {error: {type: https://a.b/c, status: 400}}}}]", client.StartOptions{}, time.Second, time.Hour, 0, interpreter.StatusFaulted},
		"one that waits":                {"do: [{a: {wait: PT1M}}, {b: " + task + "}]", client.StartOptions{}, time.Second, time.Second, time.Minute, interpreter.StatusCompleted},
		"one whose wait ends meanwhile": {"do: [{a: {wait: PT1M}}, {b: " + task + "}]", client.StartOptions{}, time.Second, time.Hour, time.Hour + time.Second, interpreter.StatusCompleted},
		"one whose deadline passes":     {"timeout: {after: PT2M}\ndo: [{a: {wait: PT1H}}]", client.StartOptions{}, time.Second, 10 * time.Minute, 10*time.Minute + time.Second, interpreter.StatusFaulted},
		"one that is to start later":    {"do: [{a: {set: {n: 1}}}]", client.StartOptions{Delay: time.Minute}, time.Second, time.Second, 0, interpreter.StatusCompleted},
		"one in a branch of a loop":     {"do: [{l: {for: {in: '[1,2]'}, do: [{f: {fork: {branches: [{x: {wait: PT10S}}, {y: {wait: PT20S}}]}}}]}}]", client.StartOptions{}, 15 * time.Second, time.Second, 40 * time.Second, interpreter.StatusCompleted},
		"one that waits for a retry":    {"do: [{t: {try: [{a: {raise: {error: {type: https://a.b/c, status: 400}}}}], catch: {retry: {delay: PT1M, limit: {attempt: {count: 1}}}}}}]", client.StartOptions{}, time.Second, time.Second, time.Minute, interpreter.StatusFaulted},
		"one with large data":           {"do: [{a: {set: {n: '${ [range(20000)] }'}}}, {b: {wait: PT1M}}]", client.StartOptions{}, time.Second, time.Second, time.Minute, interpreter.StatusCompleted},
	}, 4) {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := newHost(t)
				h.perform = effortless
				stop := h.work(worker.Config{ParkAfter: time.Millisecond})
				i := h.begin(c.document, c.options)
				time.Sleep(c.before)
				stop()
				archive := h.archived(i)
				time.Sleep(c.between)
				there := h.elsewhere()
				again, err := there.client.Import(t.Context(), mustReadAgain(t, archive))
				if err != nil || again != i {
					t.Fatalf("imported as %s: %v", again, err)
				}
				if diff := cmp.Diff(archive, there.archived(i)); diff != "" {
					t.Errorf("exported again, it differs:\n%s", diff)
				}
				if _, err := there.client.Import(t.Context(), archive); store.RefusedAs(err) != store.Conflict {
					t.Errorf("what is there already: %v", err)
				}
				defer there.work(worker.Config{})()
				if o := there.wait(i); o.Status != c.status || took(o) != c.took {
					t.Errorf("%s after %s: %v", o.Status, took(o), o.Fault)
				}
				there.verifyReplay(i)
			})
		})
	}
}

func mustReadAgain(t *testing.T, a *client.Archive) *client.Archive {
	t.Helper()
	data, err := a.Encode()
	if err != nil {
		t.Fatal(err)
	}
	again, err := client.ParseArchive(data)
	if err != nil {
		t.Fatal(err)
	}
	return again
}

// TestHostileImports: an archive that was changed anywhere is refused with a typed error and leaves nothing, or is a run that a worker ends
// or continues. Nothing panics.
func TestHostileImports(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHost(t)
		stop := h.work(worker.Config{ParkAfter: time.Millisecond})
		i := h.begin("do: [{l: {for: {in: '[1,2]'}, do: [{f: {fork: {branches: [{x: {wait: PT10S}}, {y: {wait: PT20S}}]}}}]}}]", client.StartOptions{})
		time.Sleep(time.Second)
		stop()
		data, err := h.archived(i).Encode()
		h.must(err)
		for name, change := range hostileChanges(data) {
			there := h.elsewhere()
			a, err := client.ParseArchive(change)
			if err == nil {
				_, err = there.client.Import(t.Context(), a)
			}
			var wrong *client.OptionError
			if !errors.As(err, &wrong) {
				t.Errorf("%s: %v", name, err)
			}
			if page, err := there.client.List(t.Context(), client.Query{Limit: 1}); err != nil || len(page.Runs) != 0 {
				t.Errorf("%s: it has left %v, %v", name, page.Runs, err)
			}
		}
	})
}

// TestImportOfAFork: a fork that no worker took begins at its fork position, and is refused with the state of another run.
func TestImportOfAFork(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHost(t)
		stop := h.work(worker.Config{})
		i := h.begin("do: [{a: {set: {n: 1}}}, {b: {raise: {error: {type: https://a.b/c, status: 400}}, if: '.m == null'}}]", client.StartOptions{})
		h.wait(i)
		stop()
		var input any = map[string]any{"m": 1}
		archive := h.archived(h.mustFork(i, client.ForkOptions{Input: &input}).Instance)
		wrong := mustReadAgain(t, archive)
		there := h.elsewhere()
		forked, err := there.client.Import(t.Context(), archive)
		h.must(err)
		defer there.work(worker.Config{})()
		if o := there.wait(forked); o.Status != interpreter.StatusCompleted {
			t.Errorf("got %+v", o)
		}
		var info execution.Invocation
		h.must(json.Unmarshal(wrong.Invocation, &info))
		info.Fork.State.Frames = map[interpreter.FrameKey][]byte{1: []byte(`{"i":9,"u":7,"p":"/do/7/z"}`)}
		wrong.Invocation, err = json.Marshal(&info)
		h.must(err)
		wrong.ID = "wrong"
		if _, err := there.client.Import(t.Context(), wrong); !errors.As(err, new(*client.OptionError)) {
			t.Errorf("a state of something else: %v", err)
		}
	})
}

// hostileChanges returns broken archives.
func hostileChanges(data []byte) map[string][]byte {
	edited := func(edit func(*client.Archive)) []byte {
		var a client.Archive
		if err := json.Unmarshal(data, &a); err != nil {
			panic(err)
		}
		edit(&a)
		text, err := a.Encode()
		if err != nil {
			panic(err)
		}
		return text
	}
	record := func(field int, value string) []byte {
		return edited(func(a *client.Archive) {
			fields := strings.Split(a.Record, " ")
			fields[field] = value
			a.Record = strings.Join(fields, " ")
		})
	}
	all := map[string][]byte{
		"nothing":                nil,
		"null":                   []byte("null"),
		"an array":               []byte("[]"),
		"an empty object":        []byte("{}"),
		"cut":                    data[:len(data)/2],
		"deep":                   bytes.Repeat([]byte(`{"invocation":`), 20_000),
		"no id":                  edited(func(a *client.Archive) { a.ID = "" }),
		"an id with a path":      edited(func(a *client.Archive) { a.ID = "../x" }),
		"another namespace":      edited(func(a *client.Archive) { a.Namespace = "other" }),
		"no invocation":          edited(func(a *client.Archive) { a.Invocation = nil }),
		"another invocation":     edited(func(a *client.Archive) { a.Invocation = []byte(`{"w":"test/a:1.0.0","d":"x","i":{}}`) }),
		"no record":              edited(func(a *client.Archive) { a.Record = "" }),
		"no definition":          edited(func(a *client.Archive) { a.Definitions = nil }),
		"another definition":     edited(func(a *client.Archive) { a.Definitions[0].Document += "\n" }),
		"one definition more":    edited(func(a *client.Archive) { a.Definitions = append(a.Definitions, a.Definitions[0]) }),
		"no state":               edited(func(a *client.Archive) { a.Head = nil }),
		"a state that is none":   edited(func(a *client.Archive) { a.Head = []byte("{") }),
		"a context that is none": edited(func(a *client.Archive) { a.Context = []byte("{") }),
		"no history":             edited(func(a *client.Archive) { a.History = nil }),
		"a gap in the history": edited(func(a *client.Archive) {
			a.History[0] = bytes.Replace(a.History[0], []byte(`"q":1`), []byte(`"q":2`), 1)
		}),
		"a broken entry":         edited(func(a *client.Archive) { a.History[0] = []byte("1 1 x") }),
		"a message that is none": edited(func(a *client.Archive) { a.Messages = [][]byte{[]byte("{}")} }),
		"a completed run":        record(0, "completed"),
		"an unknown status":      record(1, "asleep"),
		"an unknown reason":      record(2, "because"),
		"a negative version":     record(6, "-1"),
		"a version too large":    record(6, "9223372036854775807"),
		"a number that is none":  record(8, "x"),
	}
	var whole client.Archive
	if err := json.Unmarshal(data, &whole); err != nil {
		panic(err)
	}
	for key, frame := range whole.Frames {
		of := func(change []byte) []byte { return edited(func(a *client.Archive) { a.Frames[key] = change }) }
		all[fmt.Sprintf("the frame %d is none", key)] = of([]byte("{"))
		if bytes.Contains(frame, []byte(`"u":`)) {
			all[fmt.Sprintf("the frame %d has no parent", key)] = of(bytes.Replace(frame, []byte(`"u":`), []byte(`"u":9`), 1))
		}
		if !bytes.Contains(frame, []byte(`"l":`)) { // the frame of a task
			all[fmt.Sprintf("the frame %d is of another task", key)] = of(bytes.ReplaceAll(frame, []byte(`/do/0/l`), []byte(`/do/7/z`)))
		}
	}
	return all
}
