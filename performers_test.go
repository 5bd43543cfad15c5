package swrun_test

import (
	"bytes"
	"context"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/swrun/swrun"
	"github.com/swrun/swrun/errors"
)

func done(context.Context, swrun.Call) (any, error) { return "done", nil }

// TestMissingPerformer: the error of a document that needs a performer names it, and lists the registered performers.
func TestMissingPerformer(t *testing.T) {
	for call, want := range map[string]string{
		"charge@default":          "no performer is registered for `charge@default`; registered: audit@default, http",
		"charge:1.0.0@default":    "no performer is registered for `charge:1.0.0@default`",
		"Audit@default":           "registered: audit@default, http",
		"https://x.test/@default": "cannot read https://x.test/@default/function.yaml",
	} {
		d, err := swrun.Parse("", []byte(document+"do: [{a: {call: '"+call+"', with: {server: 'http://x.test', method: tasks/get}}}]\n"))
		if err != nil {
			t.Fatalf("%s: %v", call, err)
		}
		host := swrun.Host{Calls: map[string]swrun.Performer{"audit@default": done, "http": done}}
		_, err = d.Run(t.Context(), nil, swrun.RunConfig{Host: host})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", call, err, want)
		}
		engine := mustEngine(t, "memory:", swrun.EngineConfig{Host: host})
		if err := engine.Deploy(t.Context(), d); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("deploy %s: %v, want %s", call, err, want)
		}
	}
}

// TestWorkersWithoutAPerformer: a run waits for a worker that has its performers. Its deadlines hold, its description names the missing performer,
// and it is not quarantined.
func TestWorkersWithoutAPerformer(t *testing.T) {
	for name, task := range map[string]string{
		"a function":   "{call: charge@default}",
		"at most once": "{call: charge@default, metadata: {swrun: {delivery: at-most-once}}}",
		"in a branch":  "{fork: {compete: true, branches: [{x: {call: charge@default}}, {y: {wait: P1D}}]}}",
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var log bytes.Buffer
				able := swrun.Host{Calls: map[string]swrun.Performer{"charge@default": done}}
				s, err := swrun.OpenStore(t.Context(), "memory:", swrun.StoreConfig{})
				if err != nil {
					t.Fatal(err)
				}
				with, err := swrun.NewEngine(s, swrun.EngineConfig{Host: able})
				if err != nil {
					t.Fatal(err)
				}
				without, err := swrun.NewEngine(s, swrun.EngineConfig{Host: swrun.Host{Log: slog.New(slog.NewTextHandler(&log, nil))}})
				if err != nil {
					t.Fatal(err)
				}
				var runs []*swrun.Run
				for _, id := range []string{"patient", "timed"} {
					d := mustParse(t, "do: [{before: {wait: PT5S}}, {a: "+task+"}]\n")
					if id == "timed" {
						d = mustParse(t, "timeout: {after: PT1M}\ndo: [{before: {set: {b: 1}}}, {a: "+task+"}]\n")
					}
					run, err := with.StartDocument(t.Context(), d, nil, swrun.StartOptions{ID: id})
					if err != nil {
						t.Fatal(err)
					}
					runs = append(runs, run)
				}
				stop := work(t, without)
				time.Sleep(time.Hour)
				if fault := errors.AsError(second(without.Run("demo", "timed").Await(t.Context()))); fault == nil || fault.Status != 408 {
					t.Errorf("the deadline has not held: %v", fault)
				}
				for _, engine := range []*swrun.Engine{with, without} {
					d, err := engine.Run("demo", "patient").Describe(t.Context())
					if err != nil || !strings.Contains(d.Why, "waits for a worker that has a performer of") || !strings.Contains(d.Why, "; none is there, for 59m55s") {
						t.Errorf("described as %+v, %v", d.Why, err)
					}
				}
				stop()
				if n := strings.Count(log.String(), "something is missing to perform"); n != 2 || strings.Contains(log.String(), "ERROR") {
					t.Errorf("it is logged %d times for two definitions:\n%s", n, log.String())
				}
				l, err := s.Load(t.Context(), runs[0].Instance)
				if err != nil || l.Lifecycle.Deaths > 0 || l.Lifecycle.Version > 10 {
					t.Errorf("after an hour: %+v, %v", l.Lifecycle, err)
				}
				stopIdle, stopAble := work(t, without), work(t, with)
				result, err := runs[0].Await(t.Context())
				if err != nil || result.Output != "done" {
					t.Errorf("got %v, %v", result.Output, err)
				}
				stopAble()
				stopIdle()
			})
		})
	}
}
