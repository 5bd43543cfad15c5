package tasks

import (
	"context"
	"net/http"
	"time"

	"github.com/swrun/swrun/interpreter"
	"github.com/swrun/swrun/process"
)

// Config is what tasks may use of the outside. The zero value grants nothing but calls over the network.
type Config struct {
	Transport   http.RoundTripper   // for all calls over HTTP; nil is net/http's default
	Dial        Dial                // for all other connections; nil reaches everything
	Secrets     interpreter.Secrets // for policies that name a secret; read when a request is sent, and never stored
	Credentials *Credentials        // that calls have got; nil has the calls of this configuration get theirs alone
	Load        interpreter.Loader  // for resources whose location only a run knows; nil reads none
	Processes   *process.Pool       // where shell commands and scripts run; nil refuses them
	Containers  *Containers         // where containers run; nil refuses them
	ScriptHost  *ScriptHost         // what runs scripts; nil is the embedded engine and whatever else is on PATH
	KillAfter   time.Duration       // between SIGTERM and SIGKILL of a process whose task has ended; 2 s unless set
	Silence     time.Duration       // of an MCP server that was started, before it is asked for an older version; 30 s unless set

	// Publish receives the events that tasks emit; nil drops them.
	Publish func(ctx context.Context, event map[string]any) error
}
