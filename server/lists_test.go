package server_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/swrun/swrun/internal/api"
)

// TestListsHavePages follows the links of lists from their beginning to their end.
func TestListsHavePages(t *testing.T) {
	d := mustDeployment(t)
	d.mustDeploy(t, "echo", echoes)
	var want []string
	for n := range 7 {
		want = append([]string{fmt.Sprintf("run-%d", n)}, want...)
		d.mustStart(t, "echo", fmt.Sprintf("run-%d", n))
	}
	var got []string
	d.pages(t, "/v1/runs?limit=3&where="+"workflow%3Ddemo%2Fecho", func(a answer) {
		for _, r := range mustRead[[]api.Run](t, a, http.StatusOK) {
			got = append(got, r.ID)
		}
		if strings.Contains(a.body, "input") {
			t.Errorf("a list has data: %s", a.body)
		}
	})
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("want %v, got %v", want, got)
	}
	d.ask(t, "GET", "/v1/runs/demo/run-0/output?wait=30s", "")
	var records []int
	d.pages(t, "/v1/runs/demo/run-0/history?limit=1", func(a answer) {
		for _, r := range mustRead[api.History](t, a, http.StatusOK).Records {
			records = append(records, r.Seq)
		}
	})
	if fmt.Sprint(records) != "[1 2 3 4]" {
		t.Errorf("records %v", records)
	}
	for _, query := range []string{"/v1/runs/count?by=odd", "/v1/runs?namespace=%2F", "/v1/deadlines?namespace=%7Bx%7D"} {
		if p := d.ask(t, "GET", query, "").isProblem(t, http.StatusUnprocessableEntity, "invalid-request"); !strings.Contains(query, p.Field+"=") {
			t.Errorf("%s: the problem is about %q", query, p.Field)
		}
	}
	d.ask(t, "GET", "/v1/runs?cursor=odd", "").isProblem(t, http.StatusUnprocessableEntity, "invalid-request")
	d.ask(t, "GET", "/v1/runs?limit=1000000000", "").isProblem(t, http.StatusUnprocessableEntity, "invalid-request")
	d.ask(t, "GET", "/v1/runs?where=odd", "").isProblem(t, http.StatusUnprocessableEntity, "invalid-filter")
	d.ask(t, "GET", "/v1/runs/demo/run-0/history?cursor=-1.0", "").isProblem(t, http.StatusUnprocessableEntity, "invalid-request")
	d.ask(t, "GET", "/v1/runs/demo/nothing/history", "").isProblem(t, http.StatusNotFound, "not-found")
	a := d.ask(t, "GET", "/v1/runs/count?by=workflow", "")
	if counted := mustRead[api.Count](t, a, http.StatusOK); counted.Count != 7 || len(counted.Groups) != 1 {
		t.Errorf("%s", a.body)
	}
}

// pages requests a page, and all pages that its links lead to.
func (d *deployment) pages(t *testing.T, path string, each func(answer)) {
	t.Helper()
	for range 20 {
		a := d.ask(t, "GET", path, "")
		each(a)
		link := a.Header.Get("Link")
		if link == "" {
			return
		}
		path = strings.TrimSuffix(strings.TrimPrefix(link, "<"), `>; rel="next"`)
	}
	t.Errorf("the pages do not end: %s", path)
}

// TestDeadlines lists the next deadlines.
func TestDeadlines(t *testing.T) {
	d := mustDeployment(t)
	d.mustDeploy(t, "catch", catches)
	for n := range 3 {
		body := fmt.Sprintf(`{"workflow": "demo/catch", "id": "run-%d", "executionTimeout": "%dh", "timeoutStarts": "accept"}`, n, n+1)
		mustRead[api.Description](t, d.ask(t, "POST", "/v1/runs", body), http.StatusCreated)
	}
	var got []string
	d.pages(t, "/v1/deadlines?within=150m&limit=1", func(a answer) {
		for _, u := range mustRead[[]api.UpcomingDeadline](t, a, http.StatusOK) {
			if u.Kind == "execution" {
				got = append(got, u.Run)
			}
		}
	})
	if fmt.Sprint(got) != "[demo/run-0 demo/run-1]" {
		t.Errorf("got %v", got)
	}
	d.ask(t, "GET", "/v1/deadlines?within=0", "").isProblem(t, http.StatusUnprocessableEntity, "invalid-request")
}
