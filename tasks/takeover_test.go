package tasks_test

import (
	"testing"
	"time"

	"github.com/swrun/swrun/dsl"
	"github.com/swrun/swrun/errors"
	"github.com/swrun/swrun/interpreter"
	"github.com/swrun/swrun/tasks"
)

const secretCall = `document: {dsl: 1.0.3, namespace: test, name: a, version: 0.1.0}
use: {secrets: [token]}
do: [{a: {call: http, with: {method: get, endpoint: 'http://x.example/', headers: {Authorization: '${ "Bearer " + $secrets.token }'}}}}]
`

// TestTakeoverWithoutTheSecret: a worker that takes over a call and does not hold its secret does not send the call without the secret.
func TestTakeoverWithoutTheSecret(t *testing.T) {
	compile := func(secrets interpreter.Secrets) *interpreter.Program {
		w, found := dsl.Parse("t.yaml", []byte(secretCall))
		if err := found.Err(); err != nil {
			t.Fatal(err)
		}
		p, found := interpreter.Compile(w, interpreter.Config{Kinds: tasks.All(tasks.Config{}), Secrets: secrets})
		if err := found.Err(); err != nil {
			t.Fatal(err)
		}
		return p
	}
	s := interpreter.NewState("test", "i")
	with := compile(func(string) (any, bool) { return "s3cret", true })
	interpreter.Step(with, s, interpreter.Start{Input: map[string]any{}}, time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC))
	c, err := s.TakeChanges()
	if err != nil {
		t.Fatal(err)
	}
	var stored interpreter.StoredState
	stored.Apply(c)
	if s, err = interpreter.Restore(with, interpreter.NewState("test", "i"), map[string]any{}, stored); err != nil {
		t.Fatal(err)
	}
	interrupted := interpreter.Interrupted(compile(func(string) (any, bool) { return nil, false }), s, func(interpreter.EffectID) bool { return false })
	if len(interrupted) != 1 || interrupted[0].Error == nil || !errors.Same(interrupted[0].Error.Type, errors.Authorization) {
		t.Errorf("it is %+v", interrupted)
	}
}
