package storetest

import (
	"fmt"
	"slices"
	"strings"

	"github.com/swrun/swrun/interpreter"
	"github.com/swrun/swrun/runtime/store"
)

// longFilters: a run is found by its filter even if the expressions or the type are too long for the index: by the type alone then, or by every
// event.
func longFilters(s *suite) {
	short, long := `[".data.n`+strings.Repeat(" ", 3000)+`"]`, `[".data.n`+strings.Repeat(" ", 60<<10)+`"]`
	s.listensIn("b", interpreter.EventFilter{Type: "paid", From: short, Key: "1"})
	s.listensIn("c", interpreter.EventFilter{Type: "paid", From: long, Key: "1"})
	s.listensIn("d", interpreter.EventFilter{Type: strings.Repeat("%", 60<<10), From: short, Key: "1"})
	s.listensIn("e", interpreter.EventFilter{Type: strings.Repeat("%", 60<<10), From: long, Key: "1"})
	s.findsOf("", []string{"", short}, "b/run")
	s.findsOf("b", []string{"", short}, "b/run")
	s.findsOf("c", []string{""}, "")
	paid := interpreter.EventFilter{Type: "paid"}
	s.hears("[0 c/run 1 e/run]", []string{"paid", ""}, paid, interpreter.EventFilter{})
	s.hears("[0 d/run]", []string{""}, interpreter.EventFilter{From: "  " + short, Key: "1"})
}

// listensIn starts a run of a namespace that listens with a filter.
func (s *suite) listensIn(namespace string, filter interpreter.EventFilter) {
	s.Helper()
	i := store.Instance{Namespace: namespace, ID: "run"}
	s.listens(i)
	c := commit(s.claimReady(i))
	c.Read, c.Release, c.Listens = 1, true, store.NewListens(namespace, []interpreter.EventFilter{filter})
	_, err := s.Commit(s.ctx(), c)
	s.must(err)
	s.scrubs(i, "")
}

// typesOfManyNamespaces: an event for many namespaces finds the expressions of each, and no others. A query for all namespaces finds each
// expression once.
func typesOfManyNamespaces(s *suite) {
	ask := store.Listening{Partitions: s.partitions(), N: 100}
	paid := interpreter.EventFilter{Type: "paid", From: `[".data.n"]`, Key: "1"}
	for n := range 20 {
		namespace := fmt.Sprintf("n%d", n)
		s.listensIn(namespace, paid)
		if n < 9 {
			ask.Types = append(ask.Types, store.ListenType{Type: "paid", Namespace: namespace})
		}
	}
	found, err := s.Listeners(s.ctx(), ask)
	s.must(err)
	for _, f := range found.From {
		f.Key = "1"
		ask.Filters = append(ask.Filters, exactly(f)...)
	}
	found, err = s.Listeners(s.ctx(), ask)
	s.must(err)
	var runs []string
	for _, some := range found.Runs {
		for _, i := range some.Runs {
			runs = append(runs, i.String())
		}
	}
	slices.Sort(runs)
	if got, want := strings.Join(runs, " "), "n0/run n1/run n2/run n3/run n4/run n5/run n6/run n7/run n8/run"; got != want {
		s.Errorf("an event of nine namespaces finds %s, want %s", got, want)
	}
	s.findsOf("", []string{paid.From}, "n0/run n1/run n10/run n11/run n12/run n13/run n14/run n15/run n16/run n17/run n18/run n19/run n2/run n3/run n4/run n5/run n6/run n7/run n8/run n9/run")
}
