package storetest

import (
	"fmt"
	"slices"
	"strings"

	"github.com/swrun/swrun/interpreter"
	"github.com/swrun/swrun/runtime/store"
)

// listens starts a run and gives it back so that it listens for events.
func (s *suite) listens(i store.Instance, filters ...interpreter.EventFilter) {
	s.Helper()
	_, err := s.Store.Start(s.ctx(), store.Start{Instance: i, Invocation: []byte(`{}`)})
	s.must(err)
	s.listensNow(i, filters...)
}

// listensNow lets a run listen for other events.
func (s *suite) listensNow(i store.Instance, filters ...interpreter.EventFilter) {
	s.Helper()
	c := commit(s.claim(i))
	c.Release, c.Listens = true, store.NewListens("", filters)
	_, err := s.Commit(s.ctx(), c)
	s.must(err)
}

func (s *suite) partitions() (all []int) {
	for p := range s.Layout().Partitions {
		all = append(all, p)
	}
	return all
}

// heard returns the runs, of all partitions, for each of some filters of some types, and the existing expressions.
func (s *suite) heard(types []string, filters ...interpreter.EventFilter) (ids []string, from []interpreter.EventFilter) {
	s.Helper()
	found, err := s.Listeners(s.ctx(), store.Listening{Partitions: s.partitions(), Types: ofAll(types), Filters: exactly(filters...), N: 1000})
	s.must(err)
	for _, some := range found.Runs {
		for _, i := range some.Runs {
			if s.partition(i) != some.Partition {
				s.Errorf("%s is found in partition %d", i, some.Partition)
			}
			ids = append(ids, fmt.Sprintf("%d %s", some.Filter, i))
		}
	}
	slices.Sort(ids)
	return ids, found.From
}

// ofAll returns the filters for events of some types for all namespaces.
func ofAll(types []string) (all []store.ListenType) {
	for _, kind := range types {
		all = append(all, store.ListenType{Type: kind})
	}
	return all
}

// exactly returns filters for the runs of all namespaces.
func exactly(filters ...interpreter.EventFilter) (all []store.ListenFilter) {
	for _, f := range filters {
		all = append(all, store.ListenFilter{EventFilter: f})
	}
	return all
}

func (s *suite) hears(want string, types []string, filters ...interpreter.EventFilter) {
	s.Helper()
	if got, _ := s.heard(types, filters...); fmt.Sprint(got) != want {
		s.Errorf("%q listen for %v, want %s", got, filters, want)
	}
}

// listeners: a listening run is found by the type, and by the key of its correlation, with any characters; and by nothing else.
func listeners(s *suite) {
	paid := interpreter.EventFilter{Type: "paid"}
	odd := interpreter.EventFilter{Type: "p a%i!d", From: `["a b","!"]`, Key: "k!"}
	other, longer := odd, odd
	other.Key, longer.Key = "k", "k!!"
	first := interpreter.EventFilter{Type: "paid", From: `[".data.n"]`, Key: "1"}
	any := interpreter.EventFilter{From: `[".id"]`, Key: "x"}
	s.listens(store.Instance{Namespace: "a", ID: "unkeyed"}, paid)
	s.listens(store.Instance{Namespace: "b", ID: "odd"}, odd, first)
	s.listens(store.Instance{Namespace: "b", ID: "others"}, other, longer, any)
	s.listens(store.Instance{Namespace: "c", ID: "longer-type"}, interpreter.EventFilter{Type: "paid-late"})
	s.hears("[0 a/unkeyed 1 b/odd]", []string{"paid", ""}, paid, first, interpreter.EventFilter{})
	s.hears("[0 b/odd 1 b/others]", []string{odd.Type}, odd, other)
	s.hears("[0 b/others]", []string{""}, any)
	s.hears("[]", []string{"none", ""}, interpreter.EventFilter{Type: "none"}, interpreter.EventFilter{}, interpreter.EventFilter{Type: "none", From: `["x"]`, Key: "1"})
	s.hears("[0 b/odd]", nil, first)
	_, from := s.heard([]string{"paid", "", odd.Type})
	if want := []interpreter.EventFilter{paid, {From: any.From}, {Type: "paid", From: first.From}, {Type: odd.Type, From: odd.From}}; !slices.Equal(sortedFilters(from), sortedFilters(want)) {
		s.Errorf("there are the expressions %q, want %q", from, want)
	}
}

func sortedFilters(all []interpreter.EventFilter) []string {
	var texts []string
	for _, f := range all {
		texts = append(texts, fmt.Sprintf("%q", f))
	}
	slices.Sort(texts)
	return texts
}

// listenersOfNamespaces: an event of a namespace finds the expressions of that namespace, and expressions written by an older build. An event for all
// namespaces finds each expression once, regardless of the number of its namespaces.
func listenersOfNamespaces(s *suite) {
	paid := interpreter.EventFilter{Type: "paid", From: `[".data.n","~<#\\"]`, Key: "1"}
	for _, namespace := range []string{"b", "bb", "c"} {
		i := store.Instance{Namespace: namespace, ID: "run"}
		s.listens(i)
		c := commit(s.claimReady(i))
		c.Read, c.Release, c.Listens = 1, true, store.NewListens(namespace, []interpreter.EventFilter{paid})
		_, err := s.Commit(s.ctx(), c)
		s.must(err)
		s.scrubs(i, "")
	}
	older := paid
	older.From = `[".data.older"]`
	s.listens(store.Instance{Namespace: "c", ID: "older"}, older)
	both := []string{paid.From, older.From}
	s.findsOf("", both, "b/run bb/run c/older c/run")
	s.findsOf("b", both, "b/run c/older")
	s.findsOf("bb", both, "bb/run c/older")
	s.findsOf("d", []string{older.From}, "c/older")
	bell := interpreter.EventFilter{Type: "bell"}
	for _, namespace := range []string{"a", "b", "b-1", "bb", "b0"} {
		for _, id := range []string{"bell-1", "bell-2", "bell-3"} {
			s.listens(store.Instance{Namespace: namespace, ID: id}, bell)
		}
	}
	s.pagesOf("b", bell)
}

// pagesOf requests the runs of a namespace with a filter, one by one in each partition.
func (s *suite) pagesOf(namespace string, filter interpreter.EventFilter) {
	s.Helper()
	var runs []string
	for _, partition := range s.partitions() {
		ask := store.Listening{Partitions: []int{partition}, Filters: []store.ListenFilter{{EventFilter: filter, Namespace: namespace}}, N: 1}
		for {
			found, err := s.Listeners(s.ctx(), ask)
			s.must(err)
			if len(found.Runs) == 0 {
				break
			}
			ask.After = found.Runs[0].Runs[0]
			runs = append(runs, ask.After.String())
		}
	}
	slices.Sort(runs)
	if got, want := strings.Join(runs, " "), "b/bell-1 b/bell-2 b/bell-3"; got != want {
		s.Errorf("an event of %q finds %s, want %s", namespace, got, want)
	}
}

// findsOf requests the expressions for an event of a namespace, and then the runs with these expressions.
func (s *suite) findsOf(namespace string, expressions []string, want string) {
	s.Helper()
	ask := store.Listening{Partitions: s.partitions(), Types: []store.ListenType{{Type: "paid", Namespace: namespace}}, N: 10}
	found, err := s.Listeners(s.ctx(), ask)
	s.must(err)
	var bare, runs []string
	for _, f := range found.From {
		from, _, _ := store.BareFrom(f.From)
		bare = append(bare, from)
		f.Key = "1"
		ask.Filters = append(ask.Filters, exactly(f)...)
	}
	slices.Sort(bare)
	if !slices.Equal(bare, expressions) {
		s.Errorf("an event of %q finds the expressions %q, want %q", namespace, bare, expressions)
	}
	found, err = s.Listeners(s.ctx(), ask)
	s.must(err)
	for _, some := range found.Runs {
		for _, i := range some.Runs {
			runs = append(runs, i.String())
		}
	}
	slices.Sort(runs)
	if got := strings.Join(runs, " "); got != want {
		s.Errorf("an event of %q finds %s, want %s", namespace, got, want)
	}
}

// listenersFollow: a run is found from the first commit in which it listens until the first commit in which it does not, its end, or its deletion.
// Scrubbing finds nothing wrong.
func listenersFollow(s *suite) {
	bell, horn := interpreter.EventFilter{Type: "bell"}, interpreter.EventFilter{Type: "horn", From: `["a"]`, Key: "k"}
	types := []string{"bell", "horn"}
	i := instance("a")
	s.listens(i, bell)
	s.hears("[0 test/a]", types, bell, horn)
	s.scrubs(i, "")
	s.must(s.Store.Deliver(s.ctx(), store.Delivery{To: i, ID: "e", Message: []byte("m")}))
	s.hears("[0 test/a]", types, bell, horn)
	c := commit(s.claim(i))
	c.Release, c.Listens, c.Read = true, store.NewListens("", []interpreter.EventFilter{horn}), 1
	_, err := s.Commit(s.ctx(), c)
	s.must(err)
	s.hears("[1 test/a]", types, bell, horn)
	s.must(s.Store.Command(s.ctx(), store.Command{To: i, ID: "c", Verb: store.VerbCancel}))
	done := closing(s.claim(i))
	done.Status, done.Reason, done.Read = interpreter.StatusCancelled, "cancelled", 1
	_, err = s.Commit(s.ctx(), done)
	s.must(err)
	s.hears("[]", types, bell, horn)
	s.scrubs(i, "")
}

// listenersInPages: very many listeners are found page by page, each once.
func listenersInPages(s *suite) {
	bell := interpreter.EventFilter{Type: "bell"}
	want, partition := []string{}, s.partition(instance("r0"))
	for k := 0; len(want) < 25; k++ {
		if i := instance(fmt.Sprint("r", k)); s.partition(i) == partition {
			s.listens(i, bell)
			want = append(want, i.ID)
		}
	}
	s.listens(instance("horn"), interpreter.EventFilter{Type: "bella"})
	var got []string
	ask := store.Listening{Partitions: []int{partition}, Filters: exactly(bell), N: 10}
	for {
		found, err := s.Listeners(s.ctx(), ask)
		s.must(err)
		if len(found.Runs) == 0 {
			break
		}
		for _, i := range found.Runs[0].Runs {
			got = append(got, i.ID)
		}
		ask.After = found.Runs[0].Runs[len(found.Runs[0].Runs)-1]
	}
	slices.Sort(want)
	slices.Sort(got)
	if !slices.Equal(got, want) {
		s.Errorf("%v are found, want %v", got, want)
	}
}

// listenersImported: an imported run is found like the original. A finished run is not found, and neither is a run that was deleted, or started again
// under its ID.
func listenersImported(s *suite) {
	bell, horn := interpreter.EventFilter{Type: "bell"}, interpreter.EventFilter{Type: "horn", From: `["a"]`, Key: "k"}
	types := []string{"bell", "horn"}
	i, copied := instance("a"), instance("copied")
	s.listens(i, bell, horn)
	invocation, whole := s.exported(i)
	_, err := s.Store.Start(s.ctx(), store.Start{Instance: copied, Invocation: invocation, Imported: whole})
	s.must(err)
	s.hears("[0 test/a 0 test/copied 1 test/a 1 test/copied]", types, bell, horn)
	s.scrubs(copied, "")
	done := closing(s.claimReady(i))
	done.Read = 1
	_, err = s.Commit(s.ctx(), done)
	s.must(err)
	s.hears("[0 test/copied 1 test/copied]", types, bell, horn)
	invocation, whole = s.exported(i)
	_, err = s.Store.Start(s.ctx(), store.Start{Instance: instance("ended"), Invocation: invocation, Imported: whole})
	s.must(err)
	s.hears("[0 test/copied 1 test/copied]", types, bell, horn)
	if n, err := s.Store.Remove(s.ctx(), store.Remove{Partition: s.partition(i), Instances: []store.Instance{i}}); n != 1 || err != nil {
		s.Errorf("removed %d, %v", n, err)
	}
	s.start("a")
	s.hears("[0 test/copied 1 test/copied]", types, bell, horn)
	s.listensNow(i, horn)
	s.hears("[0 test/copied 1 test/a 1 test/copied]", types, bell, horn)
	s.scrubs(i, "")
}

// claimReady claims a waiting run, which a message makes ready.
func (s *suite) claimReady(i store.Instance) store.Claimed {
	s.Helper()
	s.must(s.Store.Deliver(s.ctx(), store.Delivery{To: i, ID: s.nonce() + i.String(), Message: store.Message("m")}))
	return s.claim(i)
}

// listenersStay: a run is found regardless of its owner, and while it is suspended or given back unchanged.
func listenersStay(s *suite) {
	bell := interpreter.EventFilter{Type: "bell"}
	i := instance("a")
	s.listens(i, bell)
	heard := func() {
		s.Helper()
		s.hears("[0 test/a]", []string{"bell"}, bell)
		s.scrubs(i, "")
	}
	held := s.claimReady(i)
	heard()
	c := held.Lifecycle.GiveBack(i, held.Token, held.At)
	_, err := s.Commit(s.ctx(), c)
	s.must(err)
	heard()
	s.claim(i)
	s.Advance(lease + margin)
	s.promote(i)
	heard()
	s.must(s.Store.Command(s.ctx(), store.Command{To: i, ID: "c", Verb: store.VerbSuspend, Message: store.Message("m")}))
	suspended := commit(s.claim(i))
	suspended.Status, suspended.Read, suspended.Release, suspended.Listens = interpreter.StatusSuspended, 2, true, store.NewListens("", []interpreter.EventFilter{bell})
	_, err = s.Commit(s.ctx(), suspended)
	s.must(err)
	heard()
	_, err = s.Store.Scrub(s.ctx(), store.Scrub{Partition: s.partition(i), N: 100, Adopt: true})
	s.must(err)
	heard()
}

// listenersReplaced: the last commit determines the events that a run listens for, also if they concern the next run of the execution, or
// another definition.
func listenersReplaced(s *suite) {
	bell, horn, whistle := interpreter.EventFilter{Type: "bell"}, interpreter.EventFilter{Type: "horn"}, interpreter.EventFilter{Type: "whistle", From: `["a"]`, Key: "k"}
	types := []string{"bell", "horn", "whistle"}
	i := instance("a")
	s.listens(i, bell, horn)
	c := commit(s.claimReady(i))
	c.Read, c.Release, c.Invocation = 1, true, []byte(`{"again":true}`)
	c.Listens = store.NewListens("", []interpreter.EventFilter{whistle, horn})
	_, err := s.Commit(s.ctx(), c)
	s.must(err)
	s.hears("[1 test/a 2 test/a]", types, bell, horn, whistle)
	if _, err = s.Commit(s.ctx(), c); err != nil { // the answer was lost
		s.Errorf("again: %v", err)
	}
	s.hears("[1 test/a 2 test/a]", types, bell, horn, whistle)
	s.scrubs(i, "")
	stale := commit(s.claimReady(i))
	s.Advance(lease + margin)
	s.promote(i)
	current := commit(s.claim(i))
	stale.Listens, stale.Release = store.NewListens("", []interpreter.EventFilter{bell}), true
	_, err = s.Commit(s.ctx(), stale)
	s.refused(err, store.Fenced)
	s.hears("[1 test/a 2 test/a]", types, bell, horn, whistle)
	current.Read, current.Release = 1, true
	_, err = s.Commit(s.ctx(), current)
	s.must(err)
	s.hears("[]", types, bell, horn, whistle)
	s.scrubs(i, "")
}

// listenersAdopted: after a partition was adopted, runs that are claimed while the listener index is compared are not taken away.
func listenersAdopted(s *suite) {
	bell, partition := interpreter.EventFilter{Type: "bell"}, s.partition(instance("r0"))
	var runs []store.Instance
	for k := 0; len(runs) < 4; k++ {
		if i := instance(fmt.Sprint("r", k)); s.partition(i) == partition {
			s.listens(i, bell)
			runs = append(runs, i)
		}
	}
	s.must(s.Store.Deliver(s.ctx(), store.Delivery{To: runs[0], ID: "m", Message: store.Message("m")}))
	var held *store.Claimed
	for request := (store.Scrub{Partition: partition, N: 1, Adopt: true}); ; {
		done, err := s.Scrub(s.ctx(), request)
		s.must(err)
		if len(done.Repaired) > 0 {
			s.Errorf("repaired %q", done.Repaired)
		}
		if held == nil && done.Compared == 0 {
			held = new(s.claim(runs[0]))
		}
		if request.Cursor = done.Cursor; request.Cursor == "" {
			break
		}
	}
	if held == nil {
		s.Fatal("the listener index is not compared in pages of its own")
	}
	s.scrubs(runs[0], "")
	if !s.renew(runs[0], worker) {
		s.Error("the lease was taken away")
	}
	c := commit(*held)
	c.Listens = store.NewListens("", []interpreter.EventFilter{bell})
	_, err := s.Commit(s.ctx(), c)
	s.must(err)
}
