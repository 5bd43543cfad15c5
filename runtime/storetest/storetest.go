// Package storetest is the contract of Store as a test suite. Every store passes it.
package storetest

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/swrun/swrun/interpreter"
	"github.com/swrun/swrun/runtime/store"
)

// Opened is a store under test.
type Opened struct {
	store.Store
	// Advance moves the clock of all partitions.
	Advance func(time.Duration)
}

// Run checks a store against the contract. Each call of open returns an empty store.
func Run(t *testing.T, open func(*testing.T) Opened) {
	for _, c := range cases() {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			c.run(&suite{T: t, Opened: open(t)})
		})
	}
}

type testCase struct {
	name string
	run  func(*suite)
}

func cases() []testCase {
	return []testCase{
		{"start once", startOnce},
		{"a family has a maximum number of runs", startFamily},
		{"a start that counts itself", startAsked},
		{"start later", startLater},
		{"a deadline comes before a delayed start", deadlineBeforeStart},
		{"claim takes ready runs once", claimOnce},
		{"claim again with the same nonce", claimAgain},
		{"counted runs", countedRuns},
		{"claim fixes the time of the start", claimStarts},
		{"claim leaves runs that are not ready", claimNotReady},
		{"commit stores changes", commitChanges},
		{"commit again", commitAgain},
		{"commit of the invocation", commitInvocation},
		{"commit of counted requests", asked},
		{"import", importRun},
		{"import of a held run", importHeld},
		{"commit of another version", commitVersion},
		{"commit overtaken by an earlier one", commitOvertaken},
		{"commit with a stale token", commitFenced},
		{"commit after the end", commitClosed},
		{"commit at the deadline", commitTimedOut},
		{"commit after its guard", commitGuarded},
		{"commit of the timeout itself", commitTimeout},
		{"commit from the future", commitGuard},
		{"commit of an unknown instance", commitNoSuch},
		{"release", release},
		{"release with unread messages", releaseUnread},
		{"release with more to do", releaseReady},
		{"renew", renew},
		{"renew many partitions", renewMany},
		{"renew an expired lease", renewLate},
		{"renew after others have taken everything", renewLost},
		{"a worker that stops has its lease forgotten", ownLease},
		{"held by a worker", heldBy},
		{"a lease ends", leaseEnds},
		{"a lease ends in its own time", leasesApart},
		{"runs that a worker gives up", givenUp},
		{"a hanging run without a lease is due once", dueOnce},
		{"a hung owner is revoked", hungOwner},
		{"a busy owner is not revoked", busyOwner},
		{"an overdue instance leaves its owner time", overdueOwner},
		{"five deaths quarantine", quarantine},
		{"owners that only waited for a slot are not counted", lostWhileWaitingForASlot},
		{"a quarantined run is checked at its deadline", quarantinedEnds},
		{"a run released during a check continues", releasedMeanwhile},
		{"a run that kills its checking owners is left alone", quarantinedForGood},
		{"a run that ends before its start has no start", endsBeforeStart},
		{"progress forgets deaths", progress},
		{"an activity is offered to its queue", activityOffered},
		{"an activity becomes available later", activityLater},
		{"an activity is taken once", activityTakenOnce},
		{"the end of an activity comes to its run", activityEnds},
		{"the end of an activity comes with a commit", activityEndsWithCommit},
		{"the outcome of an activity must be in time", activityTooLate},
		{"an activity of a suspended run is parked", activityParked},
		{"activities that are due", activityDue},
		{"dismissed activities", activityDismissed},
		{"activities of several namespaces", activitiesFairly},
		{"activities of many namespaces", activitiesOfMany},
		{"hints of activities", activityHints},
		{"activities of which nothing is left", activitiesLost},
		{"data of a newer build is left alone", newerForms},
		{"runs of a newer build hide no others", newerHidesNone},
		{"promote due runs", promoteDue},
		{"due runs precede new runs", overdueFirst},
		{"begun runs precede new runs", begunFirst},
		{"deliver once", deliverOnce},
		{"deliver to the owner", deliverHeld},
		{"deliver to a closed instance", deliverClosed},
		{"a maximum number of messages waits for a run", inboxFull},
		{"messages keep their order", inboxOrder},
		{"command", command},
		{"command to a closed instance", commandClosed},
		{"a run is continued once", continuedOnce},
		{"a continuation outlasts commits of the owner", continuedMeanwhile},
		{"a command may come too late", commandInTime},
		{"a timeout overlooks no message", commitTimesOut},
		{"an end overlooks no message", commitLast},
		{"outbox", outbox},
		{"relay thousands", relayMany},
		{"history", history},
		{"payload", payload},
		{"values are bytes", anyBytes},
		{"list", list},
		{"list failed runs", troubled},
		{"upcoming", upcoming},
		{"remove", remove},
		{"scrub finds nothing", scrubClean},
		{"adopt lost writes", adopt},
		{"definitions", definitions},
		{"the registry compares versions", registry},
		{"entries of the registry end", registryEnds},
		{"the registry is listed", registryList},
		{"the registry refuses invalid entries", registryRefuses},
		{"one of many replaces an entry", registryContended},
		{"the registry makes no work", registryQuiet},
		{"the registry is full", registryFull},
		{"namespaces share the registry", registryShared},
		{"permits limit the number at a time", permitsAtATime},
		{"permits limit the rate", permitsInATime},
		{"invalid permits are refused", permitsRefused},
		{"permits for concurrent requests", permitsContended},
		{"ready runs are offered fairly", offeredFairly},
		{"workers attend", attend},
		{"a run with a need is left to matching workers", needs},
		{"a run with a need is checked in time", needsInTime},
		{"runs with a need are in order", needsInOrder},
		{"runs with a need are offered fairly", neededFairly},
		{"a listening run is found", listeners},
		{"an event of a namespace finds the expressions of that", listenersOfNamespaces},
		{"a run with a long filter is found", longFilters},
		{"an event of many namespaces finds the expressions of each", typesOfManyNamespaces},
		{"a listening run is found until it stops listening", listenersFollow},
		{"many who listen are found page by page", listenersInPages},
		{"a listening run is found in another store", listenersImported},
		{"a listening run is found with any owner", listenersStay},
		{"a listening run is found by its last commit", listenersReplaced},
		{"adopting ends with the last run", listenersAdopted},
		{"unknown instance", unknown},
		{"bad ids", badIDs},
		{"hints", hints},
		{"concurrent runs", many},
		{"concurrent claims", concurrentClaims},
	}
}

type suite struct {
	*testing.T
	Opened
	nonces int
}

const (
	lease  = 10 * time.Second
	worker = "w" // the claiming worker, unless a case has several
)

func (s *suite) ctx() context.Context { return s.Context() }

// must fails the test on an error.
func (s *suite) must(err error) {
	s.Helper()
	if err != nil {
		s.Fatal(err)
	}
}

// refused checks the code of a refusal.
func (s *suite) refused(err error, want store.Code) {
	s.Helper()
	if got := store.RefusedAs(err); got != want {
		s.Errorf("got %q (%v), want %q", got, err, want)
	}
}

func instance(id string) store.Instance { return store.Instance{Namespace: "test", ID: id} }

func (s *suite) partition(i store.Instance) int { return i.Partition(s.Layout().Partitions) }

func (s *suite) start(id string) store.Instance {
	s.Helper()
	i := instance(id)
	_, err := s.Store.Start(s.ctx(), store.Start{Instance: i, Invocation: []byte(`{"of":"` + id + `"}`)})
	s.must(err)
	return i
}

func (s *suite) nonce() string {
	s.nonces++
	return fmt.Sprintf("nonce-%d", s.nonces)
}

func (s *suite) tryClaim(i store.Instance, nonce string) []store.Claimed {
	s.Helper()
	claimed, err := s.Claim(s.ctx(), store.Claim{
		Partition: s.partition(i), Instances: []store.Instance{i}, Worker: worker, Nonce: nonce, Lease: lease,
	})
	s.must(err)
	return claimed
}

func (s *suite) claim(i store.Instance) store.Claimed {
	s.Helper()
	claimed := s.tryClaim(i, s.nonce())
	if len(claimed) != 1 {
		s.Fatalf("claimed %d instances", len(claimed))
	}
	return claimed[0]
}

func (s *suite) load(i store.Instance) store.Loaded {
	s.Helper()
	l, err := s.Load(s.ctx(), i)
	s.must(err)
	return l
}

func (s *suite) poll(i store.Instance) store.Work {
	s.Helper()
	w, err := s.Poll(s.ctx(), s.partition(i), 100, true)
	s.must(err)
	return w
}

// promote promotes all due runs, and the runs of workers whose leases expired.
func (s *suite) promote(i store.Instance) store.Promoted {
	s.Helper()
	work := s.poll(i)
	request := store.Promote{Partition: s.partition(i), Instances: work.Due}
	for _, ended := range work.Ended {
		request.Instances = append(request.Instances, ended.Instances...)
		request.Gone = append(request.Gone, ended.Worker)
	}
	p, err := s.Promote(s.ctx(), request)
	s.must(err)
	return p
}

// ready returns the runs that may be claimed, in their order.
func ready(w store.Work) []store.Instance { return slices.Concat(w.Begun, w.New) }

// commit returns a commit that changes nothing.
func commit(c store.Claimed) store.Commit {
	return store.Commit{
		Instance: c.Instance, Token: c.Token, Version: c.Lifecycle.Version, Next: c.Lifecycle.Version + 1, At: c.At, Status: interpreter.StatusRunning,
	}
}

// closing returns a commit that ends the run.
func closing(c store.Claimed) store.Commit {
	done := commit(c)
	done.Status, done.Reason = interpreter.StatusCompleted, "completed"
	return done
}

func contains(all []store.Instance, i store.Instance) bool {
	for _, other := range all {
		if other == i {
			return true
		}
	}
	return false
}
