package main

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
)

// TestLibrariesDoNotWriteToStderr: if a server sends more than requested, net/http writes a line of its own, which may contain secrets.
func TestLibrariesDoNotWriteToStderr(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	gone := make(chan struct{})
	go func() { // it ends with the listener
		first := true
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			// The stray answer ends immediately: the second request may be sent before it is noticed, and get it as its own answer.
			answer, wait := "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nokHTTP/1.1 200 OK stray\r\nContent-Length: 0\r\n\r\n", first
			first = false
			go func() {
				defer conn.Close()
				r := bufio.NewReader(conn)
				if _, err := http.ReadRequest(r); err != nil {
					return
				}
				if !wait {
					<-gone // so that the line would have been written before the run ends
				}
				_, _ = io.WriteString(conn, answer)
				if _, _ = io.Copy(io.Discard, r); wait {
					close(gone)
				}
			}()
		}
	}()
	call := fmt.Sprintf("{call: http, with: {method: get, endpoint: 'http://%s/'}}", l.Addr())
	file := mustWriteFile(t, "stray.yaml", "document: {dsl: 1.0.3, namespace: demo, name: stray, version: 0.1.0}\ndo:\n- a: "+call+"\n- b: "+call+"\n")
	var stderr strings.Builder
	cmd := command(t, "run", "--progress", "none", file)
	cmd.Stderr = &stderr
	if err := cmd.Run(); err != nil {
		t.Fatal(err, stderr.String())
	}
	if stderr.Len() > 0 {
		t.Errorf("on standard error came %q", stderr.String())
	}
}
