package filter_test

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/swrun/swrun/errors"
	"github.com/swrun/swrun/interpreter"
	"github.com/swrun/swrun/runtime/definition"
	"github.com/swrun/swrun/runtime/execution"
	"github.com/swrun/swrun/runtime/filter"
	"github.com/swrun/swrun/runtime/store"
)

var now = time.Date(2026, 11, 22, 17, 30, 0, 0, time.UTC)

// run is a run that has timed out at 17:00, which began at 16:00.
func run(change func(*filter.Run)) *filter.Run {
	r := &filter.Run{
		Instance: store.Instance{Namespace: "demo", ID: "order-7"},
		Lifecycle: store.Lifecycle{
			Status: interpreter.StatusFaulted, Reason: store.ReasonTimedOut, Failure: store.NewFailure(errors.Timeout, interpreter.DeadlineRun),
			Attempts: 3, Created: now.Add(-2 * time.Hour), Started: now.Add(-90 * time.Minute), Closed: now.Add(-30 * time.Minute),
		},
		Invocation: &execution.Invocation{
			Workflow: definition.Reference{Namespace: "demo", Name: "order", Version: "1.0.0"}, BusinessKey: "K 1",
			Labels: map[string]string{"team": "pay", "a,b": `say "hi"`},
			Parent: &execution.Parent{Instance: store.Instance{Namespace: "demo", ID: "day"}},
		},
	}
	change(r)
	return r
}

func TestMatches(t *testing.T) {
	closed := run(func(*filter.Run) {})
	retrying := run(func(r *filter.Run) {
		r.Lifecycle = store.Lifecycle{Status: interpreter.StatusWaiting, Attempts: 2, Retrying: true, Deadline: now.Add(4 * time.Minute), Wake: now.Add(time.Minute)}
		r.Invocation.Labels, r.Invocation.Parent, r.Invocation.BusinessKey = nil, nil, ""
	})
	pending := run(func(r *filter.Run) {
		r.Lifecycle = store.Lifecycle{Status: interpreter.StatusPending, Started: now.Add(-time.Minute)}
	})
	waiting := run(func(r *filter.Run) { r.Waiting = []string{"event", "timer"} })
	failing := run(func(r *filter.Run) {
		r.Lifecycle = store.Lifecycle{Status: interpreter.StatusWaiting, Attempts: 2, Retrying: true, Trouble: store.NewTrouble(errors.Communication, "/do/0/pay", "api.test:8443", now)}
	})
	own := run(func(r *filter.Run) {
		r.Lifecycle.Failure = store.NewFailure("https://example.com/errors/out of stock", "")
	})
	for _, c := range []struct {
		r    *filter.Run
		text string
		want bool
	}{
		{closed, "", true},
		{closed, "status=running,faulted workflow=demo/* label.team=pay", true},
		{closed, "status=running,waiting", false},
		{closed, "status!=running,waiting", true},
		{closed, "status!=running,faulted", false},
		{closed, "reason=timed_out closed>=today", true},
		{closed, "reason=timed_out closed<today", false},
		{closed, "closed>=2026-11-22T17:00:00Z closed<=2026-11-22T18:00:00+01:00", true},
		{closed, "closed>yesterday closed<2026-11-23", true},
		{closed, "error=timeout", true},
		{closed, "error=https://open-workflow-specification.org/spec/1.0.0/errors/timeout", true},
		{closed, "error=*/errors/timeout", true},
		{closed, "error=communication", false},
		{closed, "error!=timeout", false},
		{own, "error=*out?of?stock", true},
		{own, `error="https://example.com/errors/out of stock"`, true},
		{own, `error~"out of"`, true},
		{closed, "timeout=run", true},
		{closed, "timeout=workflow,execution", false},
		{retrying, "timeout=*", false},
		{retrying, "timeout!=*", true},
		{closed, "attempts>1", true},
		{closed, "attempts>3", false},
		{closed, "attempts>=3 attempts<=3 attempts=3 attempts!=2", true},
		{pending, "attempts=1", true},
		{waiting, "waiting=event", true},
		{waiting, "waiting=timer,worker", true},
		{waiting, "waiting=worker", false},
		{waiting, "waiting!=timer", false},
		{closed, "trouble=timeout", true},
		{closed, "host!=* task!=*", true},
		{failing, "trouble=communication host=api.test:8443 task=/do/0/pay", true},
		{failing, "trouble=timeout", false},
		{failing, "error=communication", false},
		{own, `trouble~"out of"`, true},
		{closed, "waiting=*", false},
		{closed, "waiting!=*", true},
		{retrying, "attention=retrying", true},
		{closed, "attention=*", false},
		{closed, "started>-2h", true},
		{closed, "started>-1h", false},
		{pending, "started>-1h", false},
		{pending, "started!=*", true},
		{pending, "deadline<5m", false},
		{retrying, "deadline<5m", true},
		{retrying, "deadline<+3m", false},
		{retrying, "deadline=*", true},
		{retrying, "wake<90s", true},
		{closed, `text~"ORD"`, true},
		{closed, "text~pay", true},
		{closed, "text~nothing", false},
		{closed, "text!~nothing", true},
		{closed, "workflow=demo/order version=1.*", true},
		{closed, "workflow=demo/order:1.0.0", true},
		{closed, "workflow=*order", true},
		{closed, "workflow=?emo*1.0.?", true},
		{closed, "workflow=demo/ord", false},
		{closed, "id=order-7 namespace=demo", true},
		{closed, `key="K 1"`, true},
		{closed, `key="K *"`, false},
		{closed, "key=K?1", true},
		{closed, "parent=demo/day", true},
		{closed, "parent=day", true},
		{retrying, "parent=*", false},
		{closed, `label."a,b"="say \"hi\""`, true},
		{closed, "label.team=*", true},
		{retrying, "label.team=*", false},
		{retrying, "label.team!=*", true},
		{retrying, "label.team!=pay", true},
		{closed, "label.team~PA", true},
	} {
		f, err := filter.Parse(c.text, now)
		if err != nil {
			t.Errorf("%s: %s", c.text, err)
		} else if f.Matches(c.r) != c.want {
			t.Errorf("%s chooses %v, want %v", c.text, !c.want, c.want)
		}
	}
}

// TestErrors: an error contains its place, and the expected text.
func TestErrors(t *testing.T) {
	for text, want := range map[string]string{
		"waiting=signal":                     `at character 9: "signal" is not what a run waits for`,
		"status=wating":                      `at character 8: "wating" is not a status; did you mean waiting?`,
		"workflow=demo/* stauts=running":     `at character 17: "stauts" is not a field of a run; did you mean status?`,
		"ü=1":                                `at character 1: "ü" is not a field of a run`,
		`key="ü" foo=1`:                      `at character 9: "foo" is not a field of a run`,
		"closedReason=timed_out":             `at character 1: "closedReason" is not a field of a run; did you mean reason?`,
		"label=a":                            `at character 1: "label" is not a field of a run; did you mean label.NAME?`,
		"label.=a":                           `at character 1: "label." is not a field of a run`,
		"status":                             `at character 1: "status" is not a condition`,
		"=a":                                 `at character 1: "=a" is not a condition`,
		"status=running and workflow=demo/a": `at character 16: "and" is not needed`,
		"status=running or status=waiting":   `at character 16: "or" is not a condition`,
		"id=":                                `at character 4: a value is missing`,
		"id= status=running":                 `at character 4: a value is missing`,
		"id=a,":                              `at character 6: a value is missing`,
		`id=""`:                              `at character 4: a value is missing`,
		"id==a":                              ``,
		"attempts>many":                      `at character 10: "many" is not a whole number`,
		"attempts~1":                         `at character 1: "attempts~" is not how attempts is compared`,
		"started=today":                      `at character 9: "today" is one moment, which no run hits`,
		"started>soon":                       `at character 9: "soon" is not a time`,
		"started>-1":                         `at character 9: "-1" is not a time`,
		"started>--1h":                       `at character 9: "--1h" is not a time`,
		"text=a":                             `at character 1: "text=" is not how text is compared`,
		"status<running":                     `at character 1: "status<" is not how status is compared`,
		"workflow=order":                     `at character 10: "order" does not name a workflow`,
		"workflow=demo/order:latest":         `at character 10: "demo/order:latest" is no version: a run is one of a version, and never of latest`,
		"error=timeot":                       `at character 7: "timeot" is not a type of error; did you mean timeout?`,
		"timeout=runs":                       `at character 9: "runs" is not a kind of timeout; did you mean run?`,
		"reason=timeout":                     `at character 8: "timeout" is not why a run ends`,
		"attention=retry":                    `at character 11: "retry" is not a reason why a run needs attention; did you mean retrying?`,
		"forked=*":                           `at character 8: "*" is a pattern, where yes or no is asked: whether a run was forked`,
		"forked!=*":                          `at character 9: "*" is a pattern, where yes or no is asked`,
		"forked=yes,y?s":                     `at character 12: "y?s" is a pattern, where yes or no is asked`,
		`forked="*"`:                         `at character 8: "*" is not whether a run was forked`,
		"acknowledged=*":                     `at character 14: "*" is a pattern, where yes or no is asked: whether trouble is acknowledged`,
		"status=wating*":                     `at character 8: "wating*" is a pattern that fits nothing that is a status`,
		"attention=*,x*":                     `at character 13: "x*" is a pattern that fits nothing that is a reason why a run needs attention`,
		"version=latest":                     `at character 9: "latest" is no version`,
		"version=>1":                         `at character 9: ">1" is no version of a workflow`,
		"version=1.0":                        `at character 9: "1.0" is no version of a workflow`,
		"id='a'":                             `at character 4: "'a'" is the id of no run`,
		"id=demo/a":                          `at character 4: "demo/a" is the id of no run`,
		"namespace=demo/a":                   `at character 11: "demo/a" is no namespace`,
		"closed<1h":                          `at character 8: "1h" is a time to come, at which no run was closed yet`,
		"created>=+PT5M":                     `at character 10: "+PT5M" is a time to come`,
		"started>2d":                         `at character 9: "2d" is a time to come`,
		"attempts=*":                         `at character 10: "*" is not a whole number`,
		"attempts>1.5":                       `at character 10: "1.5" is not a whole number`,
		"attempts<99999999999999999999":      `at character 10: "99999999999999999999" is not a whole number`,
		`id="a`:                              `at character 4: "\"a" has no closing quote`,
		`id="a"b`:                            `at character 1: "id=\"a\"b" goes on after a value in quotes`,
		"id=\xff":                            `is not UTF-8`,
		strings.Repeat("id=a ", 101):         `has more conditions or values than a filter may have`,
		"id=a" + strings.Repeat(",a", 1001):  `has more conditions or values than a filter may have`,
		"id=" + strings.Repeat("a", 16<<10):  `is longer than a filter may be`,
	} {
		_, err := filter.Parse(text, now)
		if wrong := (*filter.Error)(nil); want == "" && err == nil {
			continue
		} else if !errors.As(err, &wrong) || !strings.Contains(err.Error(), want) {
			t.Errorf("%.40q: %v, want %s", text, err, want)
		}
	}
}

// TestAnyValue: a condition with * chooses the runs that have a value, of each field that takes it. The condition is refused with a remedy for the others.
func TestAnyValue(t *testing.T) {
	nothing := &filter.Run{Lifecycle: store.Lifecycle{Status: interpreter.StatusPending}, Invocation: &execution.Invocation{}}
	always := []string{"status", "workflow", "version", "namespace", "id"} // every run has them
	for _, name := range filter.Names() {
		f, err := filter.Parse(name+"=*", now)
		if wrong := (*filter.Error)(nil); err != nil {
			if !errors.As(err, &wrong) || wrong.Hint == "" {
				t.Errorf("%s=* is refused without a remedy: %v", name, err)
			}
			continue
		}
		if f.Matches(nothing) != slices.Contains(always, name) {
			t.Errorf("%s=* chooses a run that has nothing: %v", name, f.Matches(nothing))
		}
	}
}

// TestEqual: a single value is taken literally, and impossible values are refused.
func TestEqual(t *testing.T) {
	r := run(func(r *filter.Run) { r.Invocation.BusinessKey = `*,"` })
	for _, c := range []struct {
		field, value string
		want         string
	}{
		{"key", `*,"`, "true"}, {"key", "*", "false"}, {"id", "order-?", `"order-?" is the id of no run: it must be letters and digits, with . _ ~ : - inside`}, {"workflow", "demo/order", "true"}, {"error", "timeout", "true"},
		{"workflow", "demo/*", `"demo/*" is a pattern, where one workflow is named`},
		{"status", "wating", `"wating" is not a status; did you mean waiting?`}, {"colour", "red", `"colour" is not a field of a run`},
	} {
		got := ""
		if f, err := filter.Equal(c.field, c.value); err != nil {
			got = err.Error()
		} else {
			got = fmt.Sprint(f.Matches(r))
		}
		if got != c.want {
			t.Errorf("%s %s: %s, want %s", c.field, c.value, got, c.want)
		}
	}
	if !filter.In("demo").And(filter.Begins("order-")).Matches(r) || filter.In("other").Matches(r) || filter.Begins("rder").Matches(r) || !filter.In("").Matches(r) {
		t.Error("In or Begins is wrong")
	}
}

// TestGroup: runs are counted by every field that is a text.
func TestGroup(t *testing.T) {
	for name, want := range map[string]string{
		"status": "faulted", "reason": "timed_out", "error": "timeout", "timeout": "run", "workflow": "demo/order:1.0.0", "version": "1.0.0", "namespace": "demo",
		"label.team": "pay", "label.none": "", "parent": "demo/day", "attention": "", "trouble": "timeout", "task": "", "host": "",
		"text": "refused", "started": "refused", "attempts": "refused", "colour": "refused", "": "refused",
	} {
		got := "refused"
		if by, err := filter.Group(name); err == nil {
			got = by.Of(run(func(*filter.Run) {}))[0]
		}
		if got != want {
			t.Errorf("by %s: %q, want %q", name, got, want)
		}
	}
}

// TestGroupsAreChosen: the filter of a group chooses the runs that it counts, whatever their values hold.
func TestGroupsAreChosen(t *testing.T) {
	for _, host := range []string{"", "api.test", "*", "a b,c", `"`, "-", "ü"} {
		r := run(func(r *filter.Run) { r.Lifecycle.Trouble = store.NewTrouble("urn:e*", "/do/0/a b", host, now) })
		other := run(func(r *filter.Run) { r.Lifecycle.Trouble = store.NewTrouble("urn:e*", "/do/0/a b", "x"+host, now) })
		by, err := filter.Group("trouble,workflow,task,host,waiting")
		if err != nil {
			t.Fatal(err)
		}
		text := by.Where(by.Of(r))
		f, err := filter.Parse(text, now)
		if err != nil {
			t.Fatalf("%s: %s", text, err)
		}
		if !f.Matches(r) || f.Matches(other) {
			t.Errorf("%s chooses the group: %v, and another one: %v", text, f.Matches(r), f.Matches(other))
		}
	}
	by, err := filter.Group("acknowledged")
	if err != nil {
		t.Fatal(err)
	}
	calm := run(func(r *filter.Run) { r.Lifecycle = store.Lifecycle{Status: interpreter.StatusRunning} })
	failed := run(func(r *filter.Run) { r.Invocation.Parent = nil })
	for _, r := range []*filter.Run{calm, failed} {
		f, err := filter.Parse(by.Where(by.Of(r)), now)
		if err != nil || !f.Matches(r) || f.Matches(calm) == f.Matches(failed) {
			t.Errorf("%s: %v", by.Where(by.Of(r)), err)
		}
	}
	for _, names := range []string{"trouble,", ",", "trouble,trouble", "trouble,text", "trouble, host", "created"} {
		if _, err := filter.Group(names); err == nil {
			t.Errorf("%q is taken", names)
		}
	}
}

// TestDocumentedFilters: the filters that the pages show can be read, and the table of fields has all of them.
func TestDocumentedFilters(t *testing.T) {
	page, err := os.ReadFile("../../docs/operating.md")
	if err != nil {
		t.Fatal(err)
	}
	shown := regexp.MustCompile("--where '([^']+)'").FindAllStringSubmatch(string(page), -1)
	if len(shown) < 5 {
		t.Errorf("only %d filters are shown", len(shown))
	}
	for _, m := range shown {
		if _, err := filter.Parse(m[1], now); err != nil {
			t.Errorf("%s: %s", m[1], err)
		}
	}
	_, table, _ := strings.Cut(string(page), "\n## Finding runs\n")
	table, _, _ = strings.Cut(table, "\n## ")
	for _, name := range filter.Names() {
		if !strings.Contains(table, "`"+name+"`") {
			t.Errorf("the field %s is not in docs/operating.md", name)
		}
	}
}

// FuzzParse: a filter is read or refused with its place, and asking it about a run ends.
func FuzzParse(f *testing.F) {
	for _, text := range []string{`status=running,waiting workflow=demo/* label.team=pay error=timeout attempts>1 deadline<5m started>-1h text~"ord"`, `id="\"`, "a*b=?*?", "\xff"} {
		f.Add(text)
	}
	r := run(func(*filter.Run) {})
	f.Fuzz(func(t *testing.T, text string) {
		read, err := filter.Parse(text, now)
		if wrong := (*filter.Error)(nil); err != nil && (!errors.As(err, &wrong) || wrong.Problem == "") {
			t.Errorf("%q: %v", text, err)
		}
		read.Matches(r)
	})
}
