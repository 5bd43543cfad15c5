package describe_test

import (
	"regexp"
	"testing"
	"time"

	"github.com/swrun/swrun/internal/api"
	"github.com/swrun/swrun/internal/describe"
)

// TestWorkerIsNamed: people and programs see the worker that holds a run, and whether it is present.
func TestWorkerIsNamed(t *testing.T) {
	now := time.UnixMilli(1_800_000_000_000)
	held := func(lease time.Time, gone bool) *api.Description {
		return &api.Description{
			Run: api.Run{Status: "running", Worker: "WORKER7", HeldUntil: api.Time(lease)}, DescribedAt: api.Time(now), WorkerGone: gone,
		}
	}
	for name, c := range map[string]struct {
		d    *api.Description
		want string
	}{
		"there":          {held(now.Add(time.Second), false), `(?m)^Worker: +WORKER7, has it until 2027-`},
		"its lease over": {held(now.Add(-time.Second), true), `(?m)^Worker: +WORKER7, gone: it last renewed its lease before .* 1s ago$`},
		"no lease":       {held(time.Time{}, true), `(?m)^Worker: +WORKER7, gone: its lease has ended$`},
		"another file":   {held(now.Add(time.Second), true), `(?m)^Worker: +WORKER7, gone: nothing works on the store now$`},
	} {
		t.Run(name, func(t *testing.T) {
			if got := describe.Run(c.d, ""); !regexp.MustCompile(c.want).MatchString(got) {
				t.Errorf("got\n%s\nwant %s", got, c.want)
			}
		})
	}
	free := held(now, false)
	free.Worker = ""
	if got := describe.Run(free, ""); regexp.MustCompile("Worker:").MatchString(got) {
		t.Errorf("got\n%s", got)
	}
}

// TestLateScopesInQuarantine: the timeout of a task ends it once the run is released, unless the timeout ends the run.
func TestLateScopesInQuarantine(t *testing.T) {
	now := time.UnixMilli(1_800_000_000_000)
	for held, want := range map[bool]string{true: "it ends once the run is released", false: "a worker will end it"} {
		soft := api.SoftDeadline{Pointer: "/do/0/a", At: api.Time(now.Add(-time.Minute)), LeftSeconds: -60, EndsAt: api.Time(now.Add(-time.Second)), Held: held}
		d := &api.Description{Run: api.Run{Status: "quarantined"}, DescribedAt: api.Time(now), SoftDeadlines: []api.SoftDeadline{soft}}
		if got := describe.Run(d, ""); !regexp.MustCompile(`(?m)^Late: .*Its time was over at .*, and ` + want + "$").MatchString(got) {
			t.Errorf("got\n%s", got)
		}
	}
}
