package brokertest

import (
	"context"
	"io"
	"net"
	"runtime/metrics"
	"sync"
	"testing"
)

// Hostile is a server that answers each connection with a greeting and then each read with the next answer. An empty answer is silence.
type Hostile struct {
	Answers []string
	Endless string // sent repeatedly after the answers, up to 1 GiB
}

// Start serves until the test ends.
func (h Hostile) Start(t *testing.T) (address string) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var serving sync.WaitGroup
	serving.Go(func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return // the test is over
			}
			serving.Go(func() {
				defer conn.Close()
				defer context.AfterFunc(t.Context(), func() { conn.Close() })()
				h.serve(conn)
			})
		}
	})
	t.Cleanup(func() {
		listener.Close()
		serving.Wait()
	})
	return listener.Addr().String()
}

func (h Hostile) serve(conn net.Conn) {
	buffer := make([]byte, 64<<10)
	for _, answer := range h.Answers {
		if _, err := io.WriteString(conn, answer); err != nil {
			return
		}
		if _, err := conn.Read(buffer); err != nil {
			return
		}
	}
	for sent := 0; h.Endless != "" && sent < 1<<30; sent += len(h.Endless) {
		if _, err := io.WriteString(conn, h.Endless); err != nil {
			return
		}
	}
	_, _ = io.Copy(io.Discard, conn) // until the client is gone
}

// Allocated returns the number of bytes that this process has allocated.
func Allocated() uint64 {
	sample := []metrics.Sample{{Name: "/gc/heap/allocs:bytes"}}
	metrics.Read(sample)
	return sample[0].Value.Uint64()
}
