package main

import (
	"bufio"
	"context"
	"net/http"
	"strings"
	"testing"

	"github.com/swrun/swrun/internal/pacetest"
)

// eventStream is a stream of events that a test follows.
type eventStream struct{ lines *bufio.Scanner }

// follows follows a run, or all runs from the first one on.
func (h *hosted) follows(s *serving, path string) *eventStream {
	h.Helper()
	ctx, cancel := context.WithTimeout(h.Context(), pacetest.Patience)
	h.Cleanup(cancel)
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, s.url+path, nil)
	if err != nil {
		h.Fatal(err)
	}
	if strings.HasPrefix(path, "/v1/runs/events") {
		r.Header.Set("Last-Event-ID", "0-")
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		h.Fatal(err)
	}
	h.Cleanup(func() { answer.Body.Close() })
	f := &eventStream{bufio.NewScanner(answer.Body)}
	f.lines.Buffer(nil, 1<<20)
	return f
}

// until reads lines up to one that contains all texts. It returns the lines that it read, and whether it found that line.
func (f *eventStream) until(texts ...string) (read string, found bool) {
	for f.lines.Scan() {
		read += f.lines.Text() + "\n"
		found = true
		for _, text := range texts {
			found = found && strings.Contains(f.lines.Text(), text)
		}
		if found {
			return read, true
		}
	}
	return read, false
}

// TestFollowedRunIsDamaged: a client that follows a run gets the reason when the history of the run is damaged, and the stream ends. A client that
// follows all runs gets it once, and sees the events of the others.
func TestFollowedRunIsDamaged(t *testing.T) {
	t.Parallel()
	h, client := deployedOnRedis(t)
	s := h.listening("serve", "--listen", "127.0.0.1:0")
	for _, id := range []string{"bad", "good"} {
		h.exits(exitOK, "start", "demo/nap", "--id", id)
		h.until("waiting for the timer", "describe", id)
	}
	one, all := h.follows(s, "/v1/runs/demo/bad/events"), h.follows(s, "/v1/runs/events?where=workflow%3Ddemo/nap")
	if read, found := all.until("demo/good"); !found {
		t.Errorf("the stream of all runs says: %s", read)
	}
	if read, found := one.until("task.started"); !found {
		t.Errorf("the stream of the run says: %s", read)
	}
	for _, key := range client.Keys(t.Context(), "*:h:demo/bad").Val() {
		client.RPush(t.Context(), key, "rubbish")
	}
	if read, found := one.until(": ", "cannot be read", "run demo/bad"); !found {
		t.Errorf("the stream of the run ends without a reason: %s", read)
	}
	if read, found := one.until("anything"); found {
		t.Errorf("the stream of the run goes on: %s", read)
	}
	h.exits(exitOK, "cancel", "bad")
	if read, found := all.until(": ", "cannot be read", "run demo/bad"); !found {
		t.Errorf("the stream of all runs does not tell: %s", read)
	}
	h.exits(exitOK, "cancel", "good")
	if read, found := all.until("workflow.cancelled", "nap-good.demo"); !found || strings.Contains(read, "cannot be read") {
		t.Errorf("the stream of all runs says then: %s", read)
	}
}

// TestDamagedHistoryAmongAll: a client that catches up with all runs gets the name of the unreadable run, and sees the others.
func TestDamagedHistoryAmongAll(t *testing.T) {
	t.Parallel()
	h, path := deployedInFile(t)
	h.naps("early", "bad", "late")
	overwriteEntry(t, path, "/demo/bad/history/", []byte("rubbish"))
	if code, out := h.says("events tail --since 1h --count 2"); code != exitOK || !strings.Contains(out, "run demo/bad") {
		t.Errorf("events tail ends with %d: %s", code, out)
	}
	s := h.listening("serve", "--listen", "127.0.0.1:0")
	if code, out := h.says("events tail --since 1h --count 2 --server " + s.url); code != exitOK || strings.Count(out, "events are left out: ") != 1 || !strings.Contains(out, "run demo/bad") {
		t.Errorf("events tail of the server ends with %d: %s", code, out)
	}
	all := h.follows(s, "/v1/runs/events")
	told, seen := false, map[string]bool{}
	for len(seen) < 2 || !told {
		read, found := all.until("demo/")
		if !found {
			t.Fatalf("the stream says %s, and of %v", read, seen)
		}
		told = told || strings.Contains(read, "run demo/bad") && strings.Contains(read, "cannot be read")
		for _, id := range []string{"early", "late"} {
			if strings.Contains(read, "demo/"+id) {
				seen[id] = true
			}
		}
	}
	h.exits(exitOK, "cancel", "late")
	if read, found := all.until("workflow.cancelled", "nap-late.demo"); !found {
		t.Errorf("the stream says then: %s", read)
	}
}
