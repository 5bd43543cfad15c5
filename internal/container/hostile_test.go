package container_test

import (
	"context"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/swrun/swrun/internal/brokers/brokertest"
	"github.com/swrun/swrun/internal/container"
	"github.com/swrun/swrun/internal/enginetest"
)

// errGivenUp ends the task of a test whose engine sends too little.
var errGivenUp = errors.New("the task has ended")

// flood is the data of a hostile engine: a text, and then another text repeatedly.
type flood struct {
	first, next string
	waits       bool // the client may wait for more: its task ends it
}

func attacks() map[string]flood {
	const ok = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
	return map[string]flood{
		"silence":             {waits: true},
		"no HTTP":             {first: "\x00\x01\x02\xff\r\n\r\n"},
		"endless status line": {first: "HTTP/1.1 200 ", next: strings.Repeat("a", 64<<10)},
		"endless header line": {first: "HTTP/1.1 200 OK\r\nX-A: ", next: strings.Repeat("a", 64<<10)},
		"endless headers":     {first: "HTTP/1.1 200 OK\r\n", next: strings.Repeat("x-a: b\r\n", 8<<10)},
		"endless text":        {first: ok + "\r\n" + `{"Id": "`, next: strings.Repeat("a", 64<<10)},
		"endless members":     {first: ok + "\r\n{", next: strings.Repeat(`"a":"b",`+"\n", 8<<10)},
		"endless refusal":     {first: "HTTP/1.1 500 Broken\r\n\r\n", next: strings.Repeat("a", 64<<10)},
		"announced length":    {first: ok + "Content-Length: 99999999999999\r\n\r\n", waits: true},
		"impossible length":   {first: ok + "Content-Length: 99999999999999999999\r\n\r\n"},
		"broken chunk":        {first: ok + "Transfer-Encoding: chunked\r\n\r\nzz\r\n"},
		"announced chunk":     {first: ok + "Transfer-Encoding: chunked\r\n\r\n7fffffffffffffff\r\n", waits: true},
		"deep JSON":           {first: ok + "Content-Length: 2000000\r\n\r\n" + strings.Repeat(`{"a":`, 400_000)},
		"half an answer":      {first: ok + "Content-Length: 100\r\n\r\n" + `{"Id"`, waits: true},
		"compressed":          {first: ok + "Content-Encoding: gzip\r\nContent-Length: 10\r\n\r\n\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\xff"},
	}
}

// attached is the header of an attached stream.
const attached = "HTTP/1.1 101 UPGRADED\r\nContent-Type: application/vnd.docker.multiplexed-stream\r\nConnection: Upgrade\r\nUpgrade: tcp\r\n\r\n"

// streamAttacks are the outputs of containers that a hostile engine sends, attached or from the log.
func streamAttacks(header string) map[string]flood {
	frame := func(announced uint32, data string) string {
		return string(binary.BigEndian.AppendUint32([]byte{1, 0, 0, 0}, announced)) + data
	}
	return map[string]flood{
		"endless output":       {first: header, next: strings.Repeat(frame(8, "12345678"), 4<<10)},
		"announced frame":      {first: header + frame(1<<32-1, "1"), next: strings.Repeat("a", 64<<10)},
		"announced, no data":   {first: header + frame(1<<32-1, ""), waits: true},
		"empty frames":         {first: header, next: strings.Repeat(frame(0, ""), 8<<10), waits: true},
		"unknown stream":       {first: header + "\x09\x00\x00\x00\x00\x00\x00\x01a"},
		"half a header":        {first: header + "\x01\x00\x00", waits: true},
		"silence once there":   {first: header, waits: true},
		"no frames":            {first: header, next: strings.Repeat("a", 64<<10)},
		"headers of the other": {first: "HTTP/1.1 101 UPGRADED\r\n", next: strings.Repeat("x-a: b\r\n", 8<<10)},
	}
}

// send writes until the client disconnects.
func (f flood) send(conn net.Conn) {
	defer conn.Close()
	if _, err := io.WriteString(conn, f.first); err != nil {
		return
	}
	for sent := 0; f.next != "" && sent < 1<<30; sent += len(f.next) {
		if _, err := io.WriteString(conn, f.next); err != nil {
			return
		}
	}
	_, _ = io.Copy(io.Discard, conn) // until the client disconnects
}

// against returns an engine that answers a request with a flood, at a separate socket.
func against(t *testing.T, what string, f flood) *container.Engine {
	t.Helper()
	fake := enginetest.New()
	var talks sync.WaitGroup
	fake.Intercept = func(w http.ResponseWriter, _ *http.Request, asked string) bool {
		if asked != what {
			return false
		}
		conn, _, err := http.NewResponseController(w).Hijack()
		if err != nil {
			t.Error(err)
			return true
		}
		talks.Go(func() {
			defer context.AfterFunc(t.Context(), func() { conn.Close() })()
			f.send(conn)
		})
		return true
	}
	socket := t.TempDir() + "/engine.sock"
	stop, err := fake.Listen(socket)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		stop()
		talks.Wait()
	})
	if what == "logs" {
		return closes{sent: enginetest.Frame(2, []byte(podmanReport))}.against(t, fake)
	}
	return container.New(container.Config{Lookup: func(name string) (string, bool) {
		return map[string]string{"DOCKER_HOST": "unix://" + socket}[name], true
	}})
}

// TestHostileEngines: regardless of the data of an engine, at any request, the process uses limited memory, and the task ends with an error that
// explains it, or by its own end.
func TestHostileEngines(t *testing.T) {
	stages := map[string]map[string]flood{"attach": streamAttacks(attached), "logs": streamAttacks("HTTP/1.1 200 OK\r\n\r\n")}
	for _, what := range []string{"_ping", "json", "create", "pull", "attach", "start", "wait", "logs", "stop", "remove"} {
		if stages[what] == nil {
			stages[what] = map[string]flood{}
		}
		for name, f := range attacks() {
			if !f.waits || what != "stop" && what != "remove" { // an engine has half a minute to stop or to remove a container
				stages[what][name] = f
			}
		}
	}
	for what, all := range stages {
		for name, f := range all {
			t.Run(what+"/"+strings.ReplaceAll(name, " ", "_"), func(t *testing.T) {
				t.Parallel()
				attackEngine(t, against(t, what, f), what, f)
			})
		}
	}
}

func attackEngine(t *testing.T, e *container.Engine, what string, f flood) {
	ctx, cancel := context.WithCancelCause(t.Context())
	defer cancel(nil)
	ended := f.waits || what == "stop" || what == "start" // no more data comes from a container that was not started
	if ended {
		time.AfterFunc(300*time.Millisecond, func() { cancel(errGivenUp) })
	}
	j := job("true")
	switch what {
	case "logs":
		j.Stdin = new("unread")
	case "pull":
		j.Image = "pulled"
	case "stop":
		j = job("sleep 600")
	}
	_, err := e.Run(ctx, j)
	if what == "json" && err == nil { // the job continues without the sweep
		err = e.Sweep(ctx)
	}
	switch {
	case err == nil:
		if what == "_ping" || what == "start" || what == "remove" {
			return // the client does not read the rest of such an answer, and needs none of it
		}
		t.Error("it ends without an error")
	case errors.Is(err, errGivenUp) && ended:
	default:
		var refused *container.RefusedError
		var unreachable *container.UnreachableError
		var limit *container.LimitError
		if !errors.As(err, &refused) && !errors.As(err, &unreachable) && !errors.As(err, &limit) {
			t.Errorf("it ends with %T: %v", err, err)
		}
		if len(err.Error()) > 2000 {
			t.Errorf("the error has %d bytes: %.200v", len(err.Error()), err)
		}
	}
}

// TestHostileEnginesTakeLittleMemory: of an endless answer, the client keeps at most some answers of the largest size.
func TestHostileEnginesTakeLittleMemory(t *testing.T) {
	for _, what := range []string{"create", "pull", "attach", "wait", "logs"} {
		for name, f := range attacks() {
			if f.next == "" || name == "endless status line" {
				continue
			}
			e := against(t, what, f)
			before := brokertest.Allocated()
			attackEngine(t, e, what, f)
			if took := brokertest.Allocated() - before; took > 256<<20 {
				t.Errorf("%s, %s: %d MiB were allocated", what, name, took>>20)
			}
		}
	}
}
