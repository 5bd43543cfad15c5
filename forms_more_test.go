package swrun_test

import (
	"errors"
	"testing"

	"github.com/swrun/swrun"
	"github.com/swrun/swrun/runtime/client"
	"github.com/swrun/swrun/runtime/matching"
)

// moreFormsOfStores are the workflows of leaveMore.
const moreFormsOfStores = `---
document: {dsl: 1.0.3, namespace: aa, name: breaks, version: 1.0.0}
do:
  - before: {set: {a: 1}}
  - child: {run: {workflow: {namespace: aa, name: broken, version: 1.0.0}}}
---
document: {dsl: 1.0.3, namespace: aa, name: broken, version: 1.0.0}
do:
  - asks: {raise: {error: {type: 'https://example.com/e', status: 500, title: wrong}}}
---
document: {dsl: 1.0.3, namespace: aa, name: gathers, version: 1.0.0}
schedule: {on: {all: [{with: {type: one}}, {with: {type: two}}]}}
do: [{sets: {set: {a: 1}}}]
`

// leaveMore leaves the data of forks, functions and events in a store: a run whose child failed, a fork of that run, a function, a paused schedule,
// and an event that waits for another one.
func leaveMore(t *testing.T, engine *swrun.Engine) {
	t.Helper()
	ctx := t.Context()
	_, _ = must(engine.Start(ctx, "aa/breaks", nil, swrun.StartOptions{ID: "breaks"})).Await(ctx) // the run fails
	forked := must(engine.Client().Fork(ctx, engine.Run("aa", "breaks").Instance, client.ForkOptions{}))
	_, _ = engine.Run("aa", forked.Instance.ID).Await(ctx) // the fork fails too
	greet := must(swrun.ParseFunction("greet:1.0.0", []byte("set: {greeting: '${ .name }'}\n"), nil))
	if _, _, err := engine.DeployFunction(ctx, greet); err != nil {
		t.Fatal(err)
	}
	must(engine.Publish(ctx, map[string]any{"specversion": "1.0", "id": "1", "source": "/s", "type": "one"}, nil))
	must(engine.Schedules().Pause(ctx, "aa", "timed", "me", "a break"))
	if err := engine.Deploy(ctx, movedDocument(map[string]string{"https://a.test/f.yaml": "https://b.test/lib/f.yaml"}, "https://b.test/lib/inner.yaml")); err != nil {
		t.Fatal(err)
	}
}

// movedDocument returns a document with a function that calls another one beside it, which was read from a place.
func movedDocument(locations map[string]string, inner string) *swrun.Document {
	d, _ := swrun.Parse("moved.yaml", []byte("document: {dsl: 1.0.3, namespace: aa, name: moved, version: 1.0.0}\ndo: [{calls: {call: 'https://a.test/f.yaml'}}]\n"))
	d.Resources = map[string][]byte{"https://a.test/f.yaml": []byte("do: [{inner: {call: 'file://inner.yaml'}}]"), inner: []byte("set: {a: 1}")}
	d.Locations = locations
	return d
}

// TestDefinitionsWithoutLocations: a definition of an earlier build contains no redirects. A redirected function in it finds its references beside
// the URI that the document names.
func TestDefinitionsWithoutLocations(t *testing.T) {
	for _, c := range []struct {
		locations map[string]string
		inner     string
		valid     bool
	}{
		{nil, "https://a.test/inner.yaml", true},
		{nil, "https://b.test/lib/inner.yaml", false},
		{map[string]string{"https://a.test/f.yaml": "https://b.test/lib/f.yaml"}, "https://b.test/lib/inner.yaml", true},
		{map[string]string{"https://a.test/f.yaml": "https://b.test/lib/f.yaml"}, "https://a.test/inner.yaml", false},
	} {
		if err := movedDocument(c.locations, c.inner).Check(swrun.CheckConfig{}); (err == nil) != c.valid {
			t.Errorf("%v with %s: %v", c.locations, c.inner, err)
		}
	}
}

// leaveLate leaves a late report in the inbox of a run whose activity waits.
func leaveLate(t *testing.T, engine *swrun.Engine) {
	t.Helper()
	ctx := t.Context()
	taken := must(engine.Activities().Poll(ctx, matching.Poll{Queues: []string{"default"}, Limit: 1, Worker: "w0"}))
	if err := engine.Activities().Return(ctx, taken[0].Token); err != nil {
		t.Fatal(err)
	}
	if err := engine.Activities().Complete(ctx, taken[0].Token, 1); !errors.As(err, new(*matching.SupersededError)) {
		t.Fatalf("a late report is answered with %v", err)
	}
}
