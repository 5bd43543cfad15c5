// Package tasks holds the kinds of tasks: one file per kind, named by its stem. Read set.go and for.go first.
//
// A composite kind (do, for, fork, try, switch, call_function) is pure logic over its children; a leaf kind prepares a
// request and has a performer, the only code that talks to others.
package tasks

import (
	"github.com/swrun/swrun/interpreter"
)

// All returns the table of every kind that can run.
func All(c Config) []interpreter.Kind {
	if c.Credentials == nil {
		c.Credentials = &Credentials{}
	}
	return []interpreter.Kind{
		callA2A(c),
		callActivity(),
		callAsyncAPI(c),
		callContinueAsNew(),
		callFunction(),
		callGRPC(c),
		callHTTP(c),
		callMCP(c),
		callOpenAPI(c),
		do(),
		emit(c),
		forEach(),
		fork(),
		listen(),
		raise(),
		runContainer(c),
		runScript(c),
		runShell(c),
		runWorkflow(),
		set(),
		choose(),
		try(),
		wait(),
	}
}
