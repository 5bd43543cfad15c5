package dsl_test

import (
	"testing"

	"github.com/swrun/swrun/dsl"
	"github.com/swrun/swrun/errors"
)

// TestErrorFilter is the table of the errors that a filter selects, for try, describe and the fault report.
func TestErrorFilter(t *testing.T) {
	timeout := errors.Timeoutf("the task did not finish within 1s").At("/do/0/a")
	text := func(s string) *string { return &s }
	status := func(n int) *int { return &n }
	for _, c := range []struct {
		name   string
		filter *dsl.ErrorFilter
		want   string
	}{
		{"none", nil, ""},
		{"empty", &dsl.ErrorFilter{}, ""},
		{"its type", &dsl.ErrorFilter{Type: errors.Timeout}, ""},
		{"another type", &dsl.ErrorFilter{Type: errors.Communication}, "type"},
		{"its status", &dsl.ErrorFilter{Status: status(408)}, ""},
		{"another status", &dsl.ErrorFilter{Status: status(500)}, "status"},
		{"no status", &dsl.ErrorFilter{Status: status(0)}, "status"},
		{"its title", &dsl.ErrorFilter{Title: text(timeout.Title)}, ""},
		{"another title", &dsl.ErrorFilter{Title: text("No Time")}, "title"},
		{"an empty title", &dsl.ErrorFilter{Title: text("")}, "title"},
		{"its detail", &dsl.ErrorFilter{Detail: text("the task did not finish within 1s")}, ""},
		{"another detail", &dsl.ErrorFilter{Detail: text("slow")}, "detail"},
		{"its place", &dsl.ErrorFilter{Instance: text("/do/0/a")}, ""},
		{"another place", &dsl.ErrorFilter{Instance: text("/do/1/b")}, "instance"},
		{"all but the last", &dsl.ErrorFilter{Type: errors.Timeout, Status: status(408), Title: text(timeout.Title), Instance: text("/")}, "instance"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := c.filter.Mismatch(timeout); got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}
