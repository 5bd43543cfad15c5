package tasks

import (
	"context"
	"net/http"
	"time"

	"github.com/swrun/swrun/interpreter"
	"github.com/swrun/swrun/process"
)

// Config is the part of the outside that tasks may use. The zero value grants only calls over the network.
type Config struct {
	Transport   http.RoundTripper   // for all calls over HTTP; nil is net/http's default
	Dial        Dial                // for all other connections; nil reaches everything
	Secrets     interpreter.Secrets // for policies that name a secret; read when a request is sent, and never stored
	Credentials *Credentials        // obtained by calls; if nil, only the calls of this configuration share them
	Load        interpreter.Loader  // for resources whose location only a run knows; nil reads none
	Processes   *process.Pool       // where shell commands and scripts run; nil refuses them
	Containers  *Containers         // where containers run; nil refuses them
	ScriptHost  *ScriptHost         // finds the programs for scripts; nil is the embedded engine and the programs on PATH
	KillAfter   time.Duration       // between SIGTERM and SIGKILL of a process whose task is over; default 2 s
	Silence     time.Duration       // of an MCP server that swrun started, before it is asked for an older version; default 30 s

	// Publish receives the events that tasks emit; nil drops them.
	Publish func(ctx context.Context, event map[string]any) error
}
