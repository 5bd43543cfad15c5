package storetest

import (
	"fmt"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/swrun/swrun/interpreter"
	"github.com/swrun/swrun/runtime/store"
)

// exported returns everything that the store contains about a run.
func (s *suite) exported(i store.Instance) (invocation []byte, r *store.Imported) {
	s.Helper()
	l := s.load(i)
	r = &store.Imported{Lifecycle: l.Lifecycle, State: l.State, Payloads: map[string][]byte{}}
	var err error
	r.History, err = s.History(s.ctx(), i, 0, 10_000)
	s.must(err)
	r.Messages, err = s.Inbox(s.ctx(), i, 10_000)
	s.must(err)
	return l.Invocation, r
}

// importRun: a run is created with the complete content of another store, and keeps its times. An existing run is refused.
func importRun(s *suite) {
	i := s.start("a")
	c := commit(s.claim(i))
	c.Entries, c.Records, c.Payloads = nil, 1200, map[string][]byte{"ref": []byte("large")}
	for n := range 1200 { // more entries than one command takes
		c.Entries = append(c.Entries, fmt.Appendf(nil, `{"n":%d}`, n))
	}
	c.Changes = interpreter.Changes{Head: []byte(`{"a":1}`), Context: []byte(`{"b":1}`), Frames: []interpreter.StoredFrame{{Key: 1, Data: []byte("f")}, {Key: 7, Data: []byte("g")}}}
	c.Release, c.Wake, c.Deadline, c.Status = true, c.At.Add(time.Hour), c.At.Add(2*time.Hour), interpreter.StatusWaiting
	_, err := s.Commit(s.ctx(), c)
	s.must(err)
	s.must(s.Store.Command(s.ctx(), store.Command{To: i, ID: "c1", Verb: store.VerbSuspend, Message: store.Message("m")}))
	claimed := s.claim(i)
	c = commit(claimed)
	c.Read, c.Release, c.Wake, c.Status = 1, true, c.At.Add(time.Hour), interpreter.StatusWaiting
	_, err = s.Commit(s.ctx(), c)
	s.must(err)
	invocation, whole := s.exported(i)
	whole.Payloads["ref"], err = s.Payload(s.ctx(), i, "ref")
	s.must(err)
	copied := store.Instance{Namespace: i.Namespace, ID: "copied"}
	_, err = s.Store.Start(s.ctx(), store.Start{Instance: copied, Invocation: invocation, Imported: whole})
	s.must(err)
	again, same := s.exported(copied)
	same.Payloads["ref"], err = s.Payload(s.ctx(), copied, "ref")
	s.must(err)
	if diff := cmp.Diff(whole, same); diff != "" || string(again) != string(invocation) {
		s.Errorf("it is there with %s, and differs:\n%s", again, diff)
	}
	if _, err = s.Store.Start(s.ctx(), store.Start{Instance: copied, Invocation: []byte("another"), Imported: whole}); store.RefusedAs(err) != store.Conflict {
		s.Errorf("existing run: %v", err)
	}
	s.must(s.Store.Command(s.ctx(), store.Command{To: copied, ID: "c2", Verb: store.VerbCancel, Message: store.Message("cancel")}))
	if claimed := s.claim(copied); len(claimed.Inbox) != 1 || string(claimed.Inbox[0]) != "cancel" {
		s.Errorf("its messages are %q", claimed.Inbox)
	}
}

// importHeld: a run that was held, or had messages, can be claimed. A quarantined run stays quarantined, and a finished run stays finished.
func importHeld(s *suite) {
	i := s.start("a")
	held := s.claim(i)
	s.must(s.Store.Command(s.ctx(), store.Command{To: i, ID: "c1", Verb: store.VerbSuspend, Message: store.Message("m")}))
	invocation, whole := s.exported(i)
	copied := func(id string, r store.Imported) store.Instance {
		to := store.Instance{Namespace: i.Namespace, ID: id}
		_, err := s.Store.Start(s.ctx(), store.Start{Instance: to, Invocation: invocation, Imported: &r})
		s.must(err)
		return to
	}
	claimed := s.claim(copied("held", *whole))
	if claimed.Token == held.Token || len(claimed.Inbox) != 1 {
		s.Errorf("it was claimed as %+v", claimed)
	}
	stuck, over := *whole, *whole
	stuck.Lifecycle.Owner, stuck.Lifecycle.Reason, stuck.Messages = "", store.Quarantined, nil
	over.Lifecycle.Status, over.Lifecycle.Reason, over.Lifecycle.Owner, over.Messages = interpreter.StatusCompleted, "completed", "", nil
	over.Lifecycle.Closed = held.At
	if r := s.load(copied("stuck", stuck)).Lifecycle; !r.Ready.IsZero() || r.Reason != store.Quarantined {
		s.Errorf("the quarantined run is %+v", r)
	}
	if r := s.load(copied("over", over)).Lifecycle; !r.Ready.IsZero() || !r.Closed.Equal(held.At) {
		s.Errorf("the run that ended is %+v", r)
	}
	quarantined := int64(0)
	for p := range s.Layout().Partitions {
		st, err := s.Statistics(s.ctx(), p)
		s.must(err)
		quarantined += st.Quarantined
	}
	if quarantined != 1 {
		s.Errorf("%d runs count as quarantined", quarantined)
	}
}
