package doctor_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/swrun/swrun"
	"github.com/swrun/swrun/internal/api"
	"github.com/swrun/swrun/internal/doctor"
	"github.com/swrun/swrun/runtime/definition"
	"github.com/swrun/swrun/runtime/schedule"
	"github.com/swrun/swrun/runtime/store"
)

// TestReport: the status of a report is the status of its worst finding, regardless of the order; notes do not count (promises 134).
func TestReport(t *testing.T) {
	for name, c := range map[string]struct {
		levels []string
		status string
	}{
		"nothing":               {nil, doctor.OK},
		"all is well":           {[]string{doctor.OK, doctor.OK}, doctor.OK},
		"notes":                 {[]string{doctor.Note, doctor.OK, doctor.Note}, doctor.OK},
		"a warning":             {[]string{doctor.OK, doctor.Warning, doctor.Note}, doctor.Warning},
		"an error":              {[]string{doctor.Warning, doctor.Error, doctor.Warning, doctor.Note}, doctor.Error},
		"an error is the worst": {[]string{doctor.Error, doctor.Warning}, doctor.Error},
	} {
		t.Run(name, func(t *testing.T) {
			var found []doctor.Finding
			for _, level := range c.levels {
				found = append(found, doctor.Finding{Code: "SD001", Level: level, What: "what", Fix: "fix"})
			}
			report := doctor.Report(found)
			if report.Status != c.status || report.Schema != api.SchemaHealth || report.Checks == nil || len(report.Checks) != len(found) {
				t.Errorf("the report is %+v, want %s", report, c.status)
			}
			for n, check := range report.Checks {
				if check.Status != c.levels[n] || check.Name == "" || check.Reason != "what" {
					t.Errorf("a check says %+v", check)
				}
			}
		})
	}
}

// TestSchedules: schedules whose time passed without a worker are reported with their lateness, and paused schedules are not.
func TestSchedules(t *testing.T) {
	now := time.Now()
	of := func(name string) definition.Reference {
		return definition.Reference{Namespace: "demo", Name: name, Version: "1.0.0"}
	}
	at := func(ago time.Duration) []schedule.Timer {
		return []schedule.Timer{{Kind: schedule.KindEvery, Text: "PT1H", Next: now.Add(-ago)}}
	}
	for _, c := range []struct {
		what, level, text string
		entries           []schedule.Schedule
	}{
		{"none", doctor.OK, "no schedule is overdue", nil},
		{"one to come", doctor.Note, "no worker is connected that could start the runs of 1 schedule", []schedule.Schedule{{Workflow: of("a"), Timers: at(-time.Hour)}}},
		{"paused", doctor.OK, "no schedule is overdue", []schedule.Schedule{{Workflow: of("a"), Timers: at(time.Hour), Paused: &schedule.Pause{At: now}}}},
		{"passed", doctor.Warning, "schedules are overdue: demo/a, by 1h", []schedule.Schedule{{Workflow: of("a"), Timers: at(time.Hour)}, {Workflow: of("b"), Timers: at(-time.Hour)}}},
		{"decided, and not started", doctor.Warning, "demo/a, by 2h", []schedule.Schedule{{Workflow: of("a"), Pending: []schedule.Firing{{ID: "x", Of: of("a"), For: now.Add(-2 * time.Hour), At: now.Add(-time.Hour)}}}}},
		{"of events", doctor.Note, "no worker is connected", []schedule.Schedule{{Workflow: of("a"), Events: true}}},
	} {
		s, err := swrun.OpenStore(t.Context(), "memory:", swrun.StoreConfig{})
		if err != nil {
			t.Fatal(err)
		}
		register := func(key string, value any) {
			text, _ := store.EncodeEntry(store.RegistrySchedules, value)
			if _, err := s.Register(t.Context(), store.Registration{Kind: store.RegistrySchedules, Key: key, Value: text, Version: store.AnyVersion}); err != nil {
				t.Fatal(err)
			}
		}
		for _, x := range c.entries {
			register(x.Workflow.Namespace+"/"+x.Workflow.Name, x)
			register("changes", struct{}{})
		}
		found := doctor.Examine(t.Context(), s, time.Now, "it is tested")
		i := slices.IndexFunc(found, func(f doctor.Finding) bool { return f.Code == "SD017" })
		if i < 0 || found[i].Level != c.level || !strings.Contains(found[i].What, c.text) {
			t.Errorf("%s: %+v", c.what, found)
		}
		s.Close()
	}
}
