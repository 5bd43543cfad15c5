package server_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/swrun/swrun/internal/access"
	"github.com/swrun/swrun/internal/api"
	"github.com/swrun/swrun/server"
)

// TestTwoLengthsEndTheConnection: after a request with Content-Length and Transfer-Encoding, the bytes after the body are not answered as another
// request.
func TestTwoLengthsEndTheConnection(t *testing.T) {
	d := mustDeployment(t)
	for name, c := range map[string]struct {
		header string
		closes bool
	}{
		"both":         {"Content-Length: 4\r\nTransfer-Encoding: chunked\r\n", true},
		"chunks alone": {"Transfer-Encoding: chunked\r\n", true},
	} {
		t.Run(name, func(t *testing.T) {
			conn, err := net.Dial("tcp", strings.TrimPrefix(d.URL, "http://"))
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			fmt.Fprintf(conn, "POST /v1/runs HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n%s\r\n2\r\n{}\r\n0\r\n\r\nGET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n", c.header)
			from := bufio.NewReader(conn)
			answer, err := http.ReadResponse(from, nil)
			if err != nil {
				t.Fatal(err)
			}
			_, _ = io.Copy(io.Discard, answer.Body)
			if rest, _ := io.ReadAll(from); !answer.Close || len(rest) > 0 {
				t.Errorf("the answer closes: %v; then came %q", answer.Close, rest)
			}
		})
	}
}

// TestBusyStreamsBeat: a follower of idle runs receives heartbeats, even while other runs are busy.
func TestBusyStreamsBeat(t *testing.T) {
	const every = 300 * time.Millisecond
	d := mustDeploymentWith(t, func(c *server.Config, _ *access.Tokens) { c.Heartbeat = every })
	d.mustDeploy(t, "echo", echoes)
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	beats := make(chan bool, 100)
	go d.follow(t, ctx, "/v1/runs/events?where=id%3Dnever", "", func(e sent) bool {
		beats <- e.data == "nothing has happened"
		return true
	})
	for n, heard := 0, 0; heard < 3; n++ {
		d.mustStart(t, "echo", fmt.Sprint("busy-", n))
		select {
		case beat := <-beats:
			if beat {
				heard++
			}
		default:
		}
	}
}

// TestRepliesAreOfOneToken: a new token with the name of a revoked token gets none of the revoked token's replies.
func TestRepliesAreOfOneToken(t *testing.T) {
	var tokens *access.Tokens
	d := mustDeploymentWith(t, func(c *server.Config, all *access.Tokens) { c.Authorize, tokens = server.TrustTokens(all), all })
	made := func() string {
		secret, _, err := tokens.New(t.Context(), "ci", access.Grant{Role: access.RoleAdmin, Everywhere: true}, 0, "me")
		if err != nil {
			t.Fatal(err)
		}
		return secret
	}
	first := made()
	a := d.ask(t, "PUT", "/v1/workflows/demo/echo/1.0.0", document("echo", "1.0.0", echoes), "Content-Type", "application/yaml", "Authorization", "Bearer "+first)
	if a.StatusCode != http.StatusCreated {
		t.Fatal(a.body)
	}
	start := func(secret string) api.Description {
		a := d.ask(t, "POST", "/v1/runs", `{"workflow": "demo/echo"}`, "Idempotency-Key", "k", "Authorization", "Bearer "+secret)
		return mustRead[api.Description](t, a, http.StatusCreated)
	}
	run := start(first)
	if again := start(first); again.ID != run.ID {
		t.Errorf("the same token started %s and %s", run.ID, again.ID)
	}
	if err := tokens.Revoke(t.Context(), "ci"); err != nil {
		t.Fatal(err)
	}
	if other := start(made()); other.ID == run.ID {
		t.Error("the new token got the reply of the revoked one")
	}
}
