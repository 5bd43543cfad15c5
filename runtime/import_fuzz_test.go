package runtime_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/swrun/swrun/interpreter"
	"github.com/swrun/swrun/runtime/client"
	"github.com/swrun/swrun/runtime/store"
	"github.com/swrun/swrun/runtime/worker"
)

// exported returns the archive of a run after a second.
func exported(t *testing.T, document string) (data []byte) {
	synctest.Test(t, func(t *testing.T) {
		h := newHost(t)
		h.perform = effortless
		stop := h.work(worker.Config{ParkAfter: time.Millisecond})
		i := h.begin(document, client.StartOptions{})
		time.Sleep(time.Second)
		stop()
		var err error
		data, err = h.archived(i).Encode()
		h.must(err)
	})
	return data
}

// FuzzImport changes archives: each change consists of a part of the archive, a value in its JSON, and the new value. The result is refused
// with a typed error and leaves nothing, or it is a run that workers continue, end or quarantine. Nothing panics, and the worker's other
// runs continue.
func FuzzImport(f *testing.F) {
	for n := range byte(60) {
		f.Add([]byte{n % 4, n, n * 7, n * 13})
	}
	f.Add([]byte{0, 1, 2, 3, 1, 2, 3, 4, 2, 3, 4, 5})
	documents := []string{
		"do: [{l: {for: {in: '[1,2]'}, do: [{f: {fork: {branches: [{x: {wait: PT10S}}, {y: {wait: PT20S}}]}}}]}}]",
		"timeout: {after: PT1H}\ndo: [{t: {try: [{a: {set: {n: 1}, export: {as: '${ . }'}}}, {w: {wait: PT10S}}, {r: {raise: {error: {type: https://a.b/c, status: 400}}}}], catch: {retry: {delay: PT1M, limit: {attempt: {count: 2}}}, do: []}}}, {b: " + task + "}]",
		"do: [{a: {set: {n: 1}}}, {b: {raise: {error: {type: https://a.b/c, status: 400}}}}]",
		"do: [{a: {listen: {to: {all: [{with: {type: x, data: '${ .n == 1 }'}}, {with: {type: y}}]}}}}]",
	}
	var once sync.Mutex
	made := map[int][]byte{}
	f.Fuzz(func(t *testing.T, changes []byte) {
		if len(changes) < 4 || len(changes) > 64 {
			return
		}
		which := int(changes[0]) % len(documents)
		once.Lock()
		if made[which] == nil {
			made[which] = exported(t, documents[which])
		}
		data := made[which]
		once.Unlock()
		var a client.Archive
		if err := json.Unmarshal(data, &a); err != nil {
			t.Fatal(err)
		}
		for change := range slices.Chunk(changes[1:], 3) {
			if len(change) == 3 {
				changePart(&a, change[0], change[1], change[2])
			}
		}
		data, err := a.Encode()
		if err != nil {
			return
		}
		synctest.Test(t, func(t *testing.T) { goesOn(t, data) })
	})
}

// goesOn imports a possibly valid archive, and lets a worker work on it, beside another run.
func goesOn(t *testing.T, data []byte) {
	h := newHost(t)
	h.perform = effortless
	a, err := client.ParseArchive(data)
	var i store.Instance
	if err == nil {
		i, err = h.client.Import(t.Context(), a)
	}
	var wrong *client.OptionError
	if err != nil {
		if page, listed := h.client.List(t.Context(), client.Query{Limit: 1}); listed != nil || len(page.Runs) != 0 {
			t.Errorf("%v: it has left %v, %v", err, page.Runs, listed)
		}
		if !errors.As(err, &wrong) && store.RefusedAs(err) == "" {
			t.Errorf("it is refused with a %T: %v", err, err)
		}
		return
	}
	var log safeBuffer
	defer h.work(worker.Config{Log: slog.New(slog.NewTextHandler(&log, nil)), ParkAfter: time.Second})()
	other := h.start("do: [{a: {wait: PT5M}}, {b: "+task+"}]", client.StartOptions{ID: "the-other"})
	if o := h.wait(other); o.Status != interpreter.StatusCompleted {
		t.Errorf("the other run has %s", o.Status)
	}
	if text := log.String(); strings.Contains(text, "panic") {
		t.Errorf("a worker has panicked over %s: %s", i, text)
	}
	if _, err := h.client.Describe(t.Context(), i); err != nil {
		t.Errorf("what was imported cannot be described: %v", err)
	}
}

// safeBuffer is a buffer for several goroutines.
type safeBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (b *safeBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

func (b *safeBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}

// changePart changes a part of an archive.
func changePart(a *client.Archive, part, at, how byte) {
	parts := []*[]byte{&a.Invocation, &a.Head, &a.Context}
	keys := slices.Sorted(maps.Keys(a.Frames))
	for n := range a.History {
		parts = append(parts, &a.History[n])
	}
	for n := range a.Messages {
		parts = append(parts, &a.Messages[n])
	}
	switch n := int(part) % (len(parts) + len(keys) + 1); {
	case n < len(parts):
		*parts[n] = changeJSON(*parts[n], at, how)
	case n < len(parts)+len(keys):
		key := keys[n-len(parts)]
		a.Frames[key] = changeJSON(a.Frames[key], at, how)
	default: // a field of the record
		fields := strings.Split(a.Record, " ")
		fields[int(at)%len(fields)] = [...]string{"0", "1", "-1", "9", "", "completed", "running", "waiting", "9223372036854775807", "quarantined", "x", "-"}[int(how)%12]
		a.Record = strings.Join(fields, " ")
	}
}

// changeJSON changes a value of the JSON that a text ends with.
func changeJSON(text []byte, at, how byte) []byte {
	begin := bytes.IndexAny(text, "{[")
	var data any
	if begin < 0 || json.Unmarshal(text[begin:], &data) != nil {
		return append(text, how)
	}
	left := int(at)
	data = changeValue(data, &left, how)
	changed, err := json.Marshal(data)
	if err != nil {
		return nil
	}
	return append(bytes.Clone(text[:begin]), changed...)
}

// changeValue changes the value at the given position of the traversal.
func changeValue(v any, left *int, how byte) any {
	if *left == 0 {
		*left = -1
		if n, ok := v.(float64); ok && how%2 == 0 {
			return n + float64(how%7) - 3
		}
		return [...]any{nil, "", 0, -1, 1, true, []any{}, map[string]any{}, "/do/0", "/do/7/z", 1e300, "completed", []any{v}, map[string]any{"d": v}, strings.Repeat("x", 1000), "2000-01-01T00:00:00Z"}[how%16]
	}
	if *left > 0 {
		*left--
	}
	switch v := v.(type) {
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(v)) {
			v[key] = changeValue(v[key], left, how)
		}
	case []any:
		for n := range v {
			v[n] = changeValue(v[n], left, how)
		}
	}
	return v
}
