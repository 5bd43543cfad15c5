package main

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"strconv"
	"strings"
	"testing"
)

// TestRunHasABoundOfMemory: while one answer uses all memory, another waits, and its timeout keeps running. With more memory it does not wait.
func TestRunHasABoundOfMemory(t *testing.T) {
	for memory, want := range map[string]string{"1MiB": "waited\n", "1GiB": "read\n"} {
		t.Run(memory, func(t *testing.T) {
			const large = 9 << 20 // larger than the buffers of a connection: a client that received it has reserved memory
			taken, wanted := make(chan struct{}), make(chan struct{})
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("Content-Type", "text/plain")
				switch r.URL.Path {
				case "/large":
					w.Header().Set("Content-Length", strconv.Itoa(large+1))
					_, _ = w.Write([]byte(strings.Repeat("x", large)))
					_ = http.NewResponseController(w).Flush()
					close(taken)
					select {
					case <-wanted:
						_, _ = w.Write([]byte("x"))
					case <-r.Context().Done():
					}
				case "/taken":
					<-taken
				case "/other":
					_, _ = w.Write([]byte(strings.Repeat("x", 64<<10)))
				case "/end":
					close(wanted)
				}
			}))
			defer server.Close()
			file := mustWriteFile(t, "memory.yaml", fmt.Sprintf(`document: {dsl: 1.0.3, namespace: demo, name: memory, version: 0.1.0}
do:
- both:
    fork:
      branches:
      - large: {call: http, with: {method: get, endpoint: '%[1]s/large'}, output: {as: '${ null }'}}
      - other:
          do:
          - taken: {call: http, with: {method: get, endpoint: '%[1]s/taken'}}
          - try:
              try:
              - ask: {call: http, with: {method: get, endpoint: '%[1]s/other'}, timeout: {after: PT3S}, output: {as: '${ "read" }'}}
              catch:
                errors: {with: {status: 408}}
                do: [{waited: {set: {how: waited}, output: {as: '${ .how }'}}}]
          - end: {call: http, with: {method: get, endpoint: '%[1]s/end'}, output: {as: '${ $input }'}}
- last: {set: {how: '${ .[1] }'}, output: {as: '${ .how }'}}
`, server.URL))
			var stderr strings.Builder
			cmd := command(t, "run", "--progress", "none", "-r", file)
			cmd.Stderr, cmd.Env = &stderr, append(os.Environ(), "SWRUN_EFFECT_MEMORY="+memory)
			out, err := cmd.Output()
			if err != nil || string(out) != want {
				t.Errorf("got %q, want %q, %v, %s", out, want, err, stderr.String())
			}
		})
	}
}
