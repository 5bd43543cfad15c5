package storetest

import (
	"fmt"
	"sync"

	"github.com/swrun/swrun/runtime/store"
)

// Records of runs that are continued by other runs.

// continuation records that a run continues as another one, if it continued as after before.
func continuation(i store.Instance, id, after string) store.Command {
	return store.Command{To: i, ID: "continue " + id, Verb: store.VerbContinue, Continuation: id, After: after}
}

func continuedOnce(s *suite) {
	i := s.start("a")
	_, err := s.Commit(s.ctx(), closing(s.claim(i)))
	s.must(err)
	refused := make([]error, 8)
	var group sync.WaitGroup
	for n := range refused {
		group.Go(func() { refused[n] = s.Store.Command(s.ctx(), continuation(i, fmt.Sprintf("a~%d", n), "")) })
	}
	group.Wait()
	noted := s.load(i).Lifecycle.Continuation
	for n, err := range refused {
		if id := fmt.Sprintf("a~%d", n); id == noted {
			s.must(err)
		} else {
			s.refused(err, store.Conflict)
		}
	}
	s.must(s.Store.Command(s.ctx(), continuation(i, noted, "")))
	s.must(s.Store.Command(s.ctx(), continuation(i, "b", noted)))
	s.refused(s.Store.Command(s.ctx(), continuation(i, "c", noted)), store.Conflict)
	s.refused(s.Store.Command(s.ctx(), continuation(instance("x"), "y", "")), store.NoSuch)
	if got := s.load(i); got.Lifecycle.Continuation != "b" || got.Lifecycle.Mail != 0 {
		s.Errorf("the record is %+v", got.Lifecycle)
	}
	page, err := s.List(s.ctx(), i.Partition(s.Layout().Partitions), "", 10)
	s.must(err)
	if len(page.Items) != 1 || page.Items[0].Lifecycle.Continuation != "b" {
		s.Errorf("the list is %+v", page.Items)
	}
}

func continuedMeanwhile(s *suite) {
	i := s.start("a")
	claimed := s.claim(i)
	s.must(s.Store.Command(s.ctx(), continuation(i, "b", "")))
	_, err := s.Commit(s.ctx(), closing(claimed))
	s.must(err)
	if got := s.load(i).Lifecycle; got.Continuation != "b" || !got.Status.Final() {
		s.Errorf("the record is %+v", got)
	}
}
