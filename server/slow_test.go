package server_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/swrun/swrun"
	"github.com/swrun/swrun/internal/control"
	"github.com/swrun/swrun/server"
)

// TestSlowFollowers: a follower of a run that does not read is cut off, and followers that read see all events. The follower that was cut off
// continues after the last event that it received.
func TestSlowFollowers(t *testing.T) {
	s, err := swrun.OpenStore(t.Context(), "memory:", swrun.StoreConfig{})
	if err != nil {
		t.Fatal(err)
	}
	engine, err := swrun.NewEngine(s, swrun.EngineConfig{})
	if err != nil {
		t.Fatal(err)
	}
	h := httptest.NewUnstartedServer(server.New(server.Config{Control: control.New(engine, s, time.Now), Authorize: server.TrustEveryone, WriteWithin: 300 * time.Millisecond}))
	closed := make(chan string, 100)
	h.Config.ConnState = func(c net.Conn, is http.ConnState) {
		if is == http.StateClosed {
			closed <- c.RemoteAddr().String()
		}
	}
	h.Listener = smallBuffers{h.Listener}
	h.Start()
	defer h.Close()
	d := &deployment{Server: h, engine: engine}
	d.mustDeploy(t, "large", "do: [{w: {wait: {milliseconds: 100}}}, {l: {for: {in: '${ [range(2000)] }'}, do: [{x: {set: {n: 1}}}]}}]")
	location := d.mustStart(t, "large", "one")
	c, err := net.Dial("tcp", strings.TrimPrefix(h.URL, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if err := c.(*net.TCPConn).SetReadBuffer(4096); err != nil {
		t.Fatal(err)
	}
	fmt.Fprintf(c, "GET %s/events HTTP/1.1\r\nHost: localhost\r\n\r\n", location)
	defer working(t, engine)()
	size, last := 0, ""
	d.follow(t, t.Context(), location+"/events", "", func(e sent) bool { size, last = size+len(e.data), e.id; return true })
	if size < 500_000 {
		t.Fatalf("all events have %d bytes: that is not too much for anybody", size)
	}
	for address := range closed {
		if address == c.LocalAddr().String() {
			break
		}
	}
	answer, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil || answer.StatusCode != http.StatusOK {
		t.Fatal(answer, err)
	}
	text, err := io.ReadAll(answer.Body)
	if err == nil || strings.Contains(string(text), "id: "+last+"\n") {
		t.Errorf("%d of %d bytes have come to who did not read, %v", len(text), size, err)
	}
	came := ""
	for event := range strings.SplitSeq(string(text), "\n\n") {
		if id, _, ok := strings.Cut(strings.TrimPrefix(event, "id: "), "\ndata: "); ok && strings.HasSuffix(event, "}") {
			came = id
		}
	}
	d.follow(t, t.Context(), location+"/events", came, func(e sent) bool { came = e.id; return true })
	if came != last {
		t.Errorf("who goes on has seen %s at last, and not %s", came, last)
	}
}

// smallBuffers accepts connections with small buffers.
type smallBuffers struct{ net.Listener }

func (l smallBuffers) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if tcp, ok := c.(*net.TCPConn); ok {
		err = tcp.SetWriteBuffer(4096)
	}
	return c, err
}
