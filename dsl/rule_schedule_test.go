package dsl_test

import (
	"slices"
	"testing"

	"github.com/swrun/swrun/dsl"
)

// TestPartsOfASchedule: a warning for parts that authors read as one rule, and no warning for one part, or for events beside times.
func TestPartsOfASchedule(t *testing.T) {
	for schedule, warns := range map[string]bool{
		"{every: PT5M}": false, "{after: PT5M}": false, "{cron: 0 9 * * *}": false, "{on: {any: []}, read: raw}": false,
		"{every: PT5M, on: {any: []}}": false, "{cron: 0 9 * * *, on: {any: []}}": false,
		"{every: PT5M, after: PT1M}": true, "{cron: 0 9 * * *, after: PT1M}": true, "{on: {any: []}, after: PT1M}": true, "{every: PT5M, cron: 0 9 * * *}": true,
	} {
		found := mustCheck(t, "parts.yaml", []byte("document: {dsl: 1.0.3, namespace: demo, name: parts, version: 1.0.0}\nschedule: "+schedule+"\ndo: [{a: {set: {x: 1}}}]\n"))
		if is := slices.ContainsFunc(found, func(d dsl.Diagnostic) bool { return d.Code == "SW709" }); is != warns {
			t.Errorf("%s: %v", schedule, found)
		}
	}
}
