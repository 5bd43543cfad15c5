package storetest

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/swrun/swrun/runtime/store"
)

// wants requests permits of a queue for some holders, and checks the resulting holders.
func (s *suite) wants(c store.Permit, want string) store.Permitted {
	s.Helper()
	done, err := s.Permit(s.ctx(), c)
	s.must(err)
	if got := strings.Join(done.Holding, " "); got != want {
		s.Errorf("%v want permits of %s with the limit %+v, and %q have one, want %q", c.Wanted, c.Queue, c.Limit, got, want)
	}
	return done
}

// permitsAtATime: the limit is the maximum number of held permits. Each is held until it is returned, or its time is over.
func permitsAtATime(s *suite) {
	two := store.QueueLimit{Concurrency: 2}
	done := s.wants(store.Permit{Queue: "q", Limit: two, Wanted: []string{"a", "b", "c"}, For: time.Minute}, "a b")
	if done.Held != 2 || !done.Next.IsZero() || done.At.IsZero() {
		s.Errorf("the answer is %+v", done)
	}
	s.wants(store.Permit{Queue: "q", Limit: two, Wanted: []string{"c", "b"}, For: time.Minute}, "b") // the holder keeps its permit
	s.wants(store.Permit{Queue: "other", Limit: two, Wanted: []string{"ns/x 1 n"}}, "ns/x 1 n")
	s.wants(store.Permit{Queue: "q", Limit: two, Released: []string{"a", "nobody"}, Wanted: []string{"c"}, For: time.Hour}, "c")
	s.Advance(time.Minute)
	if all, err := s.Holders(s.ctx(), "q"); err != nil || !slices.Equal(all, []string{"c"}) {
		s.Errorf("the holders are %q, %v", all, err)
	}
	s.wants(store.Permit{Queue: "q", Limit: two, Wanted: []string{"d", "e"}}, "d")
	s.wants(store.Permit{Queue: "q", Limit: store.QueueLimit{Concurrency: 1}, Released: []string{"c"}, Wanted: []string{"e"}}, "")
	s.Advance(24 * time.Hour)
	s.wants(store.Permit{Queue: "q", Limit: two, Wanted: []string{"e", "f"}}, "e") // d holds it forever
	if all, err := s.Holders(s.ctx(), "other"); err != nil || !slices.Equal(all, []string{"ns/x 1 n"}) {
		s.Errorf("the holders of the other queue are %q, %v", all, err)
	}
	if all, err := s.Holders(s.ctx(), "none"); err != nil || len(all) > 0 {
		s.Errorf("the holders without a queue are %q, %v", all, err)
	}
}

// permitsInATime: within any span of the rate no more effects begin than allowed, even if some of them ended. A returned permit has not
// begun.
func permitsInATime(s *suite) {
	rate := store.QueueLimit{Rate: 2, Per: time.Minute}
	first := s.wants(store.Permit{Queue: "q", Limit: rate, Wanted: []string{"a"}}, "a")
	s.Advance(30 * time.Second)
	s.wants(store.Permit{Queue: "q", Limit: rate, Released: []string{"a"}, Wanted: []string{"b"}}, "b")
	refused := s.wants(store.Permit{Queue: "q", Limit: rate, Released: []string{"b"}, Wanted: []string{"c"}}, "")
	if in := refused.Next.Sub(first.At); in != time.Minute {
		s.Errorf("the next may begin %s after the first, want a minute", in)
	}
	s.Advance(refused.Next.Sub(refused.At))
	s.wants(store.Permit{Queue: "q", Limit: rate, Wanted: []string{"c", "d"}}, "c")
	s.wants(store.Permit{Queue: "q", Limit: rate, Returned: []string{"c"}, Wanted: []string{"d"}}, "d")
	both := store.QueueLimit{Concurrency: 1, Rate: 2, Per: time.Minute}
	s.Advance(time.Hour)
	if done := s.wants(store.Permit{Queue: "q", Limit: both, Wanted: []string{"e"}}, ""); !done.Next.IsZero() {
		s.Errorf("as long as one is held, time changes nothing, and not at %s", done.Next)
	}
	s.wants(store.Permit{Queue: "q", Limit: both, Released: []string{"d"}, Wanted: []string{"e"}}, "e")
}

// permitsRefused: an invalid queue, holder or limit is refused.
func permitsRefused(s *suite) {
	for _, c := range []store.Permit{
		{}, {Queue: "a b"}, {Queue: "q", Wanted: []string{""}}, {Queue: "q", Limit: store.QueueLimit{Concurrency: -1}},
		{Queue: "q", Limit: store.QueueLimit{Rate: 1}}, {Queue: "q", Limit: store.QueueLimit{Rate: 1, Per: 100 * 24 * time.Hour}}, {Queue: "q", For: -1},
	} {
		_, err := s.Permit(s.ctx(), c)
		s.refused(err, store.Invalid)
	}
	_, err := s.Permit(s.ctx(), store.Permit{Queue: "q", Wanted: make([]string, 4000)})
	s.refused(err, store.Limit)
}

// permitsContended: of many concurrent requests, no more succeed than there are permits, and they cause no polls.
func permitsContended(s *suite) {
	before, err := s.Written(s.ctx())
	s.must(err)
	var got atomic.Int64
	var all sync.WaitGroup
	for n := range 40 {
		all.Go(func() {
			done, err := s.Permit(s.ctx(), store.Permit{Queue: "q", Limit: store.QueueLimit{Concurrency: 7, Rate: 9, Per: time.Hour}, Wanted: []string{fmt.Sprint("h", n)}})
			if err != nil {
				s.Error(err)
			}
			got.Add(int64(len(done.Holding)))
		})
	}
	all.Wait()
	if got.Load() != 7 {
		s.Errorf("%d have got one of 7", got.Load())
	}
	after, err := s.Written(s.ctx())
	s.must(err)
	for n := range after {
		if after[n].Writes != before[n].Writes {
			s.Errorf("workers look at the partition %d", n)
		}
	}
}
