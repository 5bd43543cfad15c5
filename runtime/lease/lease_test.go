package lease

import (
	"slices"
	"testing"
	"time"

	"github.com/swrun/swrun/runtime/store"
)

func start() time.Time { return time.Unix(1_800_000_000, 0) }

func at(ms int) time.Time { return start().Add(time.Duration(ms) * time.Millisecond) }

func run(id string) store.Instance { return store.Instance{Namespace: "n", ID: id} }

// holder returns the leases of a worker in two partitions. It has claimed runs a and b in the first one at the beginning.
func holder() *Leases[string] {
	l := New[string](Config{Worker: "w", Length: 3 * time.Second, Poll: time.Second}, 2)
	l.claim(0, 0, "a", "b")
	return l
}

// claim claims runs of a partition, at a number of milliseconds after the beginning.
func (l *Leases[R]) claim(partition, ms int, ids ...R) (lost []R) {
	c := Claim[R]{Sent: at(ms), Answered: true, Got: map[store.Instance]R{}}
	for _, id := range ids {
		i := run(any(id).(string))
		c.Asked, c.Got[i] = append(c.Asked, i), id
	}
	c.Asked = l.Claiming(partition, c.Asked)
	return l.Claimed(partition, c, at(ms))
}

func TestTrustEndsBeforeTheLease(t *testing.T) {
	l := holder()
	for ms, want := range map[int]Trust{0: Valid, 2399: Valid, 2400: Unsure, 60_000: Unsure} {
		if got := l.Trust(0, at(ms)); got != want {
			t.Errorf("after %d ms it is %d, want %d", ms, got, want)
		}
	}
	if got := l.Trust(1, at(0)); got != Unsure {
		t.Errorf("without a lease it is %d", got)
	}
	l.Leave()
	if got := l.Trust(0, at(2400)); got != Expired {
		t.Errorf("a worker that leaves has %d", got)
	}
}

// TestRenewal: a third of the lease goes by before it is renewed. Younger ones are renewed with it, and those without runs are not.
func TestRenewal(t *testing.T) {
	l := holder()
	l.claim(1, 400, "c")
	for _, c := range []struct {
		ms         int
		partitions []int
		lost       []string
	}{
		{1000, nil, nil}, {1001, []int{0, 1}, nil}, {9999, []int{0, 1}, nil}, {10_000, []int{0, 1}, []string{"a", "b"}},
		{10_400, []int{0, 1}, []string{"a", "b", "c"}},
	} {
		request, lost := l.Renewal(at(c.ms))
		if !slices.Equal(request.Partitions, c.partitions) || !slices.Equal(lost, c.lost) {
			t.Errorf("after %d ms %v are renewed and %v are lost, want %v and %v", c.ms, request.Partitions, lost, c.partitions, c.lost)
		}
	}
	l.Ended(1, run("c"), "c")
	if request, _ := l.Renewal(at(1001)); !slices.Equal(request.Partitions, []int{0}) {
		t.Errorf("%v are renewed, and one has no runs", request.Partitions)
	}
}

// TestLeaseThatIsGone: runs that were claimed before a renewal that finds no lease are lost, unless they are being given back.
func TestLeaseThatIsGone(t *testing.T) {
	l := holder()
	l.Releasing(0, run("b"), "b", true)
	request, _ := l.Renewal(at(1500))
	l.claim(0, 1600, "c")
	if lost := l.Renewed(request, at(1500), at(1700), nil); !slices.Equal(lost, []string{"a"}) {
		t.Errorf("%v are lost", lost)
	}
}

// TestLateRenewal: a lease that could not be trusted is trusted again when the losses to other workers are known.
func TestLateRenewal(t *testing.T) {
	l := holder()
	request, _ := l.Renewal(at(5000))
	if lost := l.Renewed(request, at(5000), at(5010), []store.Renewed{{Partition: 0}}); lost != nil || l.Trust(0, at(5010)) != Unsure {
		t.Fatalf("%v are lost, and the trust is %d", lost, l.Trust(0, at(5010)))
	}
	if due := l.Comparisons(at(5020)); !slices.Equal(due, []int{0}) {
		t.Fatalf("%v are compared", due)
	}
	found := l.Compared(0, []store.Held{{Instance: run("b"), Notice: true}}, at(5030))
	if !slices.Equal(found.Lost, []string{"a"}) || !slices.Equal(found.Mail, []string{"b"}) || l.Trust(0, at(5030)) != Valid {
		t.Errorf("it found %+v, and the trust is %d", found, l.Trust(0, at(5030)))
	}
	if l.Trust(0, at(7400)) != Unsure {
		t.Error("it is trusted longer than from when it was asked for")
	}
}

// TestGiveUp: a run that is held and not executed is given up: immediately if its claim was not answered, after a lease if it failed.
func TestGiveUp(t *testing.T) {
	l := holder()
	unanswered := Claim[string]{Asked: l.Claiming(0, []store.Instance{run("lost")}), Sent: at(10)}
	l.Claimed(0, unanswered, at(1000))
	l.Failed(0, run("a"), "a", at(1000))
	stored := []store.Held{{Instance: run("a")}, {Instance: run("b")}, {Instance: run("claimed")}, {Instance: run("lost")}}
	compare := func(ms int) []store.Promote {
		if due := l.Comparisons(at(ms)); !slices.Equal(due, []int{0}) {
			t.Fatalf("after %d ms %v are compared", ms, due)
		}
		l.claim(0, ms, "claimed") // while the store is asked
		return l.Compared(0, stored, at(ms)).GiveUp
	}
	first := compare(1100)
	if len(first) != 1 || first[0].Died || !slices.Equal(first[0].Instances, []store.Instance{run("lost")}) {
		t.Fatalf("given up are %+v", first)
	}
	if may := l.Claiming(0, []store.Instance{run("lost")}); len(may) > 0 {
		t.Errorf("%v may be claimed while the store is asked to take it", may)
	}
	l.GaveUp(first[0], true)
	stored = stored[:3]
	if second := compare(4000); len(second) != 1 || !second[0].Died || !slices.Equal(second[0].Instances, []store.Instance{run("a")}) {
		t.Errorf("given up are %+v", second)
	}
}

// TestOutage: leases that expired during an outage are left to their owners for a while.
func TestOutage(t *testing.T) {
	work := store.Work{Ended: []store.Ended{{Worker: "other", Instances: []store.Instance{run("x")}}, {Worker: "w", Instances: []store.Instance{run("a")}}}}
	l := holder()
	taken := func(ms int) bool {
		request, lookAgain := l.Polled(0, work, at(ms))
		if (lookAgain == 0) != (len(request.Gone) == 1) || slices.Contains(request.Instances, run("a")) {
			t.Errorf("after %d ms: %+v, and again in %s", ms, request, lookAgain)
		}
		return len(request.Instances) == 1
	}
	l.Answered(at(0))
	l.Answered(at(1000))
	for _, c := range []struct {
		ms     int
		before func()
		want   bool
	}{
		{1499, func() {}, false},
		{1500, func() {}, true},
		{2600, func() {}, false}, // it has not answered for too long
		{3600, func() { l.Answered(at(3000)); l.Answered(at(3600)) }, false},
		{4500, func() { l.Answered(at(4500)) }, true},
		{4600, func() { l.Unreachable(at(4600)) }, false},
	} {
		if c.before(); taken(c.ms) != c.want {
			t.Errorf("after %d ms it is not %t", c.ms, c.want)
		}
	}
}

// TestClockShowsTheTimeThatWasAwaited: after a wait for the duration of Until, Estimate has reached the time, also if the time is between
// two milliseconds. Otherwise a worker would ask repeatedly without a pause.
func TestClockShowsTheTimeThatWasAwaited(t *testing.T) {
	began := time.UnixMilli(1000)
	for _, skew := range []time.Duration{0, 300 * time.Microsecond, -300 * time.Microsecond} {
		for _, after := range []time.Duration{0, time.Nanosecond, 171 * time.Microsecond, time.Millisecond, 1234567 * time.Nanosecond} {
			c := new(Clock)
			c.Update(began, began.Add(skew))
			at, now := began.Add(after), began.Add(skew)
			if is := c.Estimate(now.Add(c.Until(at, now))); is.Before(at) {
				t.Errorf("after the wait for %s it is %s", at, is)
			}
		}
	}
}
