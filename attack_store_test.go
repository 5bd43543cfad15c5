package swrun_test

import (
	"bytes"
	"context"
	"io"
	"net"
	"sync"
	"testing"

	"github.com/swrun/swrun"
	"github.com/swrun/swrun/redisstore/redistest"
)

// keepRuns opens a store in a Redis behind a guard. The guard lets only the client of the store through.
func (w *attackWorld) keepRuns(t *testing.T) {
	t.Helper()
	server := redistest.Start(t)
	guard, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_, w.storePort, _ = net.SplitHostPort(guard.Addr().String()) // a host and a port
	var guarding sync.WaitGroup
	guarding.Go(func() {
		for {
			conn, err := guard.Accept()
			if err != nil {
				return // the test is over
			}
			guarding.Go(func() { w.letIn(conn, server.Addr) })
		}
	})
	t.Cleanup(func() { guard.Close(); guarding.Wait() })
	if w.store, err = swrun.OpenStore(t.Context(), "redis://"+guard.Addr().String(), swrun.StoreConfig{}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := w.store.Close(); err != nil {
			t.Error(err)
		}
	})
}

// letIn connects the client of a store with its server. Such a client first sends the version of the protocol that it uses. Clients of workflows do not.
func (w *attackWorld) letIn(conn net.Conn, server string) {
	defer conn.Close() // it may be closed already
	first := make([]byte, 4096)
	n, err := conn.Read(first)
	if err != nil || !bytes.Contains(bytes.ToLower(first[:n]), []byte("hello\r\n$1\r\n3\r\n")) {
		w.connections.Add(1)
		return
	}
	redis, err := net.Dial("tcp", server)
	if err != nil {
		return // the client gets no answer
	}
	defer redis.Close() // the same
	var answering sync.WaitGroup
	answering.Go(func() {
		_, _ = io.Copy(conn, redis) // until one side closes the connection
		conn.Close()
	})
	if _, err := redis.Write(first[:n]); err == nil {
		_, _ = io.Copy(redis, conn) // the same
	}
	redis.Close()
	answering.Wait()
}

// runStored runs a document in the store.
func (w *attackWorld) runStored(t *testing.T, d *swrun.Document, input any, host swrun.Host) (any, error) {
	t.Helper()
	engine, err := swrun.NewEngine(w.store, swrun.EngineConfig{Host: host})
	if err != nil {
		t.Fatal(err)
	}
	run, err := engine.StartDocument(t.Context(), d, input, swrun.StartOptions{})
	if err != nil {
		return nil, err
	}
	var working sync.WaitGroup
	while, leave := context.WithCancel(t.Context())
	working.Go(func() {
		if err := engine.WorkOn(while, run); err != nil {
			t.Error(err)
		}
	})
	result, err := run.Await(t.Context())
	leave()
	working.Wait()
	return result.Output, err
}

// TestStoresAreGuarded: every connection that is not from the client of the store is counted.
func TestStoresAreGuarded(t *testing.T) {
	w := newAttackWorld(t)
	w.keepRuns(t)
	conn, err := net.Dial("tcp", "127.0.0.1:"+w.storePort)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close() // the other side reports the error
	if _, err := io.WriteString(conn, "PING\r\n"); err != nil {
		t.Fatal(err)
	}
	if _, err := conn.Read(make([]byte, 1)); err != io.EOF || w.connections.Load() != 1 {
		t.Errorf("%v, and %d connections were seen", err, w.connections.Load())
	}
}
