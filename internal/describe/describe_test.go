package describe_test

import (
	"regexp"
	"testing"
	"time"

	"github.com/swrun/swrun/internal/api"
	"github.com/swrun/swrun/internal/describe"
	"github.com/swrun/swrun/interpreter"
	"github.com/swrun/swrun/runtime/client"
	"github.com/swrun/swrun/runtime/execution"
	"github.com/swrun/swrun/runtime/store"
)

// TestWorkerIsNamed: people and programs see which worker holds a run, and whether it is there.
func TestWorkerIsNamed(t *testing.T) {
	now := time.UnixMilli(1_800_000_000_000)
	held := func(lease time.Time, gone bool) *client.Description {
		return &client.Description{
			Instance: store.Instance{Namespace: "demo", ID: "r"}, Invocation: &execution.Invocation{}, At: now, Gone: gone,
			State: interpreter.NewState("demo", "r"), Status: "running",
			Lifecycle: store.Lifecycle{Status: interpreter.StatusRunning, Owner: "WORKER7", Lease: lease},
		}
	}
	for name, c := range map[string]struct {
		d    *client.Description
		want string
	}{
		"there":          {held(now.Add(time.Second), false), `(?m)^Worker: +WORKER7, has it until 2027-`},
		"its lease over": {held(now.Add(-time.Second), true), `(?m)^Worker: +WORKER7, gone: it last renewed its lease before .* 1s ago$`},
		"no lease":       {held(time.Time{}, true), `(?m)^Worker: +WORKER7, gone: its lease has ended$`},
		"another file":   {held(now.Add(time.Second), true), `(?m)^Worker: +WORKER7, gone: nothing works on the store now$`},
	} {
		t.Run(name, func(t *testing.T) {
			if got := describe.Run(c.d, &client.Review{Source: c.d}, ""); !regexp.MustCompile(c.want).MatchString(got) {
				t.Errorf("got\n%s\nwant %s", got, c.want)
			}
			if got := api.NewRun(c.d.Listed()).Worker; got != "WORKER7" {
				t.Errorf("the JSON names %q", got)
			}
		})
	}
	free := held(now, false)
	free.Lifecycle.Owner = ""
	if got := describe.Run(free, &client.Review{Source: free}, ""); regexp.MustCompile("Worker:").MatchString(got) {
		t.Errorf("got\n%s", got)
	}
}
