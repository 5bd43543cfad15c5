package runtime_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/swrun/swrun/errors"
	"github.com/swrun/swrun/runtime/client"
	"github.com/swrun/swrun/runtime/filter"
	"github.com/swrun/swrun/runtime/worker"
)

// pages returns the ids of all pages of a list, each page as one text; between is called after each.
func (h *host) pages(where filter.Filter, limit int, between func()) (all []string) {
	h.Helper()
	for q := (client.Query{Where: where, Limit: limit}); ; between() {
		page, err := h.client.List(h.Context(), q)
		if err != nil {
			h.Fatal(err)
		}
		var ids []string
		for _, r := range page.Runs {
			ids = append(ids, r.Instance.ID)
		}
		all = append(all, strings.Join(ids, " "))
		if q.Cursor = page.Cursor; q.Cursor == "" {
			return all
		}
	}
}

// TestPages: each run is on exactly one page, the newest first, also when other runs start and disappear between the pages.
func TestPages(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHost(t)
		var newest []string
		for n := range 20 {
			id := fmt.Sprintf("r%02d", n)
			h.start("do: []", client.StartOptions{ID: id, Labels: map[string]string{"odd": fmt.Sprint(n%2 == 1)}})
			newest = append([]string{id}, newest...)
			if n%3 > 0 { // the others start at one moment
				time.Sleep(time.Millisecond)
			}
		}
		late := 0
		start := func() {
			late++
			h.start("do: []", client.StartOptions{ID: fmt.Sprintf("late%d", late)})
			time.Sleep(time.Millisecond)
		}
		for _, limit := range []int{1, 3, 7, 19, 20, 1000} {
			got := strings.Fields(strings.Join(h.pages(filter.Begins("r"), limit, start), " "))
			slices.Sort(got)
			if want := slices.Sorted(slices.Values(newest)); !slices.Equal(got, want) {
				t.Errorf("pages of %d have %v", limit, got)
			}
		}
		odd, err := filter.Parse("label.odd=true", time.Now())
		if err != nil {
			t.Fatal(err)
		}
		if got, want := h.pages(odd, 4, start), []string{"r19 r17 r15 r13", "r11 r09 r07 r05", "r03 r01"}; !slices.Equal(got, want) {
			t.Errorf("got %q, want %q", got, want)
		}
	})
}

// TestHostileCursors: a cursor that no page returned is refused, or begins a list somewhere.
func TestHostileCursors(t *testing.T) {
	h := newHost(t)
	for _, cursor := range []string{"x", "!", "AAAA", strings.Repeat("A", 100_000), "q1YqUbJSMtBRKgDRiUpWhjpKBUqWtQA", "\x00"} {
		_, err := h.client.List(t.Context(), client.Query{Limit: 1, Cursor: cursor})
		if !errors.As(err, new(*client.CursorError)) {
			t.Errorf("%.20q: %v", cursor, err)
		}
	}
}

// TestListedFailures: lists contain the failure of a run, and whether it retries the failed task (promise 200), without loading its state.
func TestListedFailures(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHost(t)
		defer h.work(worker.Config{})()
		retry := "do: [{t: {try: [{a: {raise: {error: {type: https://example.com/out-of-stock, status: 500}}}}], catch: {retry: {delay: PT1M, limit: {attempt: {count: 2}}}}}}]"
		h.start("timeout: {after: PT1S}\ndo: [{a: {wait: PT1M}}]", client.StartOptions{ID: "timeout"})
		h.start("do: [{a: {wait: PT1M}}]", client.StartOptions{ID: "run-timeout", RunTimeout: time.Second})
		h.start(retry, client.StartOptions{ID: "retry"})
		h.start("do: [{a: {wait: PT10S}}]", client.StartOptions{ID: "fine"})
		time.Sleep(30 * time.Second)
		listed := func(text string) string {
			where, err := filter.Parse(text, time.Now())
			if err != nil {
				t.Fatal(err)
			}
			all := strings.Fields(strings.Join(h.pages(where, 10, func() {}), " "))
			slices.Sort(all)
			return strings.Join(all, " ")
		}
		check := func(text, want string) {
			t.Helper()
			if got := listed(text); got != want {
				t.Errorf("%s: %s, want %s", text, got, want)
			}
		}
		check("reason=timed_out closed>=today", "run-timeout timeout")
		check("timeout=run", "run-timeout")
		check("timeout=workflow,task error=timeout", "timeout")
		check("attention=retrying", "retry")
		check("attempts>1", "retry")
		check("status=completed", "fine")
		time.Sleep(time.Hour)
		check("attention=retrying", "")
		check("attempts=3", "retry")
		check(`error="https://example.com/out-of-stock"`, "retry")
		groups, _, err := h.client.Count(t.Context(), filter.Filter{}, mustGroup(t, "error"))
		told := func() (text string) {
			for _, g := range groups {
				text += fmt.Sprint(g.Values, g.Runs, ";")
			}
			return text
		}
		if got := fmt.Sprint(told(), err); got != "[timeout] 2;[] 1;[https://example.com/out-of-stock] 1;<nil>" {
			t.Errorf("counted by error: %s", got)
		}
		if groups, _, err = h.client.Count(t.Context(), filter.Begins("none"), nil); fmt.Sprint(told(), err) != "[] 0;<nil>" {
			t.Errorf("counted nothing: %v, %v", groups, err)
		}
	})
}

func mustGroup(t *testing.T, field string) *filter.Grouping {
	t.Helper()
	by, err := filter.Group(field)
	if err != nil {
		t.Fatal(err)
	}
	return by
}
