package storetest

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/swrun/swrun/runtime/store"
)

// register stores an entry, and expects that it is stored.
func (s *suite) register(r store.Registration) store.Registered {
	s.Helper()
	done, err := s.Register(s.ctx(), r)
	s.must(err)
	return done
}

// keysOf lists entries, and returns their keys.
func (s *suite) keysOf(l store.RegistryList) string {
	s.Helper()
	all, err := s.ListRegistered(s.ctx(), l)
	s.must(err)
	var keys []string
	for _, r := range all {
		keys = append(keys, r.Key)
	}
	return strings.Join(keys, " ")
}

// registry: an entry is replaced and deleted only with its current version.
func registry(s *suite) {
	for _, kind := range store.RegistryKinds() {
		one := store.Registration{Kind: kind, Key: "a/b:1", Value: []byte("one")}
		first := s.register(one)
		_, err := s.Register(s.ctx(), one)
		s.refused(err, store.Conflict)
		one.Version, one.Value = first.Version, []byte("two\x00 {}")
		second := s.register(one)
		_, err = s.Register(s.ctx(), one)
		s.refused(err, store.Conflict)
		got, err := s.Registered(s.ctx(), kind, "a/b:1")
		if err != nil || got.Version != second.Version || got.Version == first.Version || !bytes.Equal(got.Value, one.Value) || !got.Ends.IsZero() {
			s.Errorf("%s: got %+v, %v", kind, got, err)
		}
		s.refused(s.Unregister(s.ctx(), kind, "a/b:1", first.Version), store.Conflict)
		for range 2 {
			s.must(s.Unregister(s.ctx(), kind, "a/b:1", second.Version))
		}
		_, err = s.Registered(s.ctx(), kind, "a/b:1")
		s.refused(err, store.NoSuch)
		one.Version = second.Version
		_, err = s.Register(s.ctx(), one)
		s.refused(err, store.Conflict)
		one.Version = store.AnyVersion
		if third := s.register(one); third.Version == first.Version || third.Version == second.Version {
			s.Errorf("%s: the new entry has the version %d of the former one", kind, third.Version)
		}
		s.register(one)
		s.must(s.Unregister(s.ctx(), kind, "a/b:1", store.AnyVersion))
	}
}

// registryEnds: an entry exists for its time by the store's clock, which begins anew when it is stored again.
func registryEnds(s *suite) {
	for _, kind := range store.RegistryKinds() {
		short := store.Registration{Kind: kind, Key: "short", Value: []byte("v"), For: 10 * time.Second, Version: store.AnyVersion}
		first := s.register(short)
		s.register(store.Registration{Kind: kind, Key: "long", Value: []byte("v"), For: time.Hour})
		s.register(store.Registration{Kind: kind, Key: "ever", Value: []byte("v")})
		s.Advance(6 * time.Second)
		second := s.register(short)
		if !second.Ends.After(first.Ends) {
			s.Errorf("%s: it ends %s, and %s when it is stored again", kind, first.Ends, second.Ends)
		}
		s.Advance(6 * time.Second)
		_, err := s.Registered(s.ctx(), kind, "short")
		s.must(err)
		s.Advance(6 * time.Second)
		_, err = s.Registered(s.ctx(), kind, "short")
		s.refused(err, store.NoSuch)
		if kind.Listed() {
			if got := s.keysOf(store.RegistryList{Kind: kind}); got != "ever long" {
				s.Errorf("%s: there are %s", kind, got)
			}
		}
		short.Version = second.Version
		_, err = s.Register(s.ctx(), short)
		s.refused(err, store.Conflict)
		s.must(s.Unregister(s.ctx(), kind, "short", second.Version))
		short.Version = 0
		s.register(short)
	}
}

// registryList: entries are listed in the order of their keys, by prefix, in pages, and separately for each kind.
func registryList(s *suite) {
	for _, key := range []string{"b/2", "a/1", "b/10", "ü", "b/1"} {
		s.register(store.Registration{Kind: store.RegistrySettings, Key: key, Value: []byte(key)})
	}
	s.register(store.Registration{Kind: store.RegistryTokens, Key: "t", Value: []byte("v")})
	s.register(store.Registration{Kind: store.RegistrySettings, Key: "b/11", Value: []byte("gone"), For: time.Second})
	s.Advance(2 * time.Second)
	for _, c := range []struct {
		list store.RegistryList
		want string
	}{
		{store.RegistryList{Kind: store.RegistrySettings}, "a/1 b/1 b/10 b/2 ü"},
		{store.RegistryList{Kind: store.RegistrySettings, Prefix: "b/"}, "b/1 b/10 b/2"},
		{store.RegistryList{Kind: store.RegistrySettings, Prefix: "b/", After: "b/1", N: 1}, "b/10"},
		{store.RegistryList{Kind: store.RegistrySettings, N: 2}, "a/1 b/1"},
		{store.RegistryList{Kind: store.RegistrySettings, After: "b/10", N: 2}, "b/2 ü"},
		{store.RegistryList{Kind: store.RegistrySettings, After: "b", N: 9}, "b/1 b/10 b/2 ü"},
		{store.RegistryList{Kind: store.RegistrySettings, Prefix: "b/", After: "b/2", N: 2}, ""},
		{store.RegistryList{Kind: store.RegistrySettings, Prefix: "b/", After: "a", N: 2}, "b/1 b/10"},
		{store.RegistryList{Kind: store.RegistrySettings, Prefix: "*"}, ""},
		{store.RegistryList{Kind: store.RegistryTokens}, "t"},
		{store.RegistryList{Kind: store.RegistryWorkers}, ""},
	} {
		if got := s.keysOf(c.list); got != c.want {
			s.Errorf("%+v lists %q, want %q", c.list, got, c.want)
		}
	}
	_, err := s.ListRegistered(s.ctx(), store.RegistryList{Kind: store.RegistryReplies})
	s.refused(err, store.Invalid)
}

// registryRefuses: an invalid entry is refused, and nothing is stored.
func registryRefuses(s *suite) {
	good := store.Registration{Kind: store.RegistryTokens, Key: "k", Value: []byte("v")}
	for _, c := range []struct {
		change func(*store.Registration)
		want   store.Code
	}{
		{func(r *store.Registration) { r.Kind = "" }, store.Invalid},
		{func(r *store.Registration) { r.Kind = "others" }, store.Invalid},
		{func(r *store.Registration) { r.Key = "" }, store.Invalid},
		{func(r *store.Registration) { r.Key = " " }, store.Invalid},
		{func(r *store.Registration) { r.Key = "a\x00b" }, store.Invalid},
		{func(r *store.Registration) { r.Key = "a\nb" }, store.Invalid},
		{func(r *store.Registration) { r.Key = "{x}" }, store.Invalid},
		{func(r *store.Registration) { r.Key = "\xff" }, store.Invalid},
		{func(r *store.Registration) { r.Key = "a\u200bb" }, store.Invalid},
		{func(r *store.Registration) { r.Key = strings.Repeat("k", store.MaxRegistryKey+1) }, store.Limit},
		{func(r *store.Registration) { r.Value = nil }, store.Invalid},
		{func(r *store.Registration) { r.Value = make([]byte, store.MaxRegistryValue+1) }, store.Limit},
		{func(r *store.Registration) { r.Version = -2 }, store.Invalid},
		{func(r *store.Registration) { r.For = -time.Second }, store.Invalid},
	} {
		r := good
		c.change(&r)
		_, err := s.Register(s.ctx(), r)
		s.refused(err, c.want)
		if r.Kind != good.Kind || r.Key != good.Key {
			_, err = s.Registered(s.ctx(), r.Kind, r.Key)
			s.refused(err, c.want)
			s.refused(s.Unregister(s.ctx(), r.Kind, r.Key, 1), c.want)
		}
	}
	if got := s.keysOf(store.RegistryList{Kind: good.Kind}); got != "" {
		s.Errorf("there are %s", got)
	}
	good.Key, good.Value = strings.Repeat("k", store.MaxRegistryKey), bytes.Repeat([]byte{0}, store.MaxRegistryValue)
	s.register(good)
}

// registryContended: of concurrent replacements of the same version, one succeeds.
func registryContended(s *suite) {
	var group sync.WaitGroup
	var won atomic.Int64
	first := s.register(store.Registration{Kind: store.RegistryQueues, Key: "q", Value: []byte("0")})
	for n := range 8 {
		group.Go(func() {
			_, err := s.Register(s.ctx(), store.Registration{Kind: store.RegistryQueues, Key: "q", Value: fmt.Append(nil, n), Version: first.Version})
			if err == nil {
				won.Add(1)
			} else if store.RefusedAs(err) != store.Conflict {
				s.Error(err)
			}
		})
	}
	if group.Wait(); won.Load() != 1 {
		s.Errorf("%d have replaced the same version", won.Load())
	}
}

// registryQuiet: registrations cause no polls of partitions.
func registryQuiet(s *suite) {
	before, err := s.Written(s.ctx())
	s.must(err)
	for _, kind := range store.RegistryKinds() {
		r := s.register(store.Registration{Kind: kind, Key: "k", Value: []byte("v"), For: time.Minute})
		s.must(s.Unregister(s.ctx(), kind, "k", r.Version))
	}
	after, err := s.Written(s.ctx())
	s.must(err)
	for n := range before {
		if before[n].Writes != after[n].Writes {
			s.Errorf("partition %d was written to %d times, and %d times afterwards", n, before[n].Writes, after[n].Writes)
		}
	}
}

// attend: a worker is present from its announcement until it leaves.
func attend(s *suite) {
	attending := func(want ...string) {
		s.Helper()
		for end := time.Now().Add(10 * time.Second); ; {
			there, err := s.Attending(s.ctx(), []string{"v", "w", "x"})
			s.must(err)
			if slices.Equal(there, want) {
				return
			}
			if time.Now().After(end) {
				s.Fatalf("there are %v, want %v", there, want)
			}
		}
	}
	attending()
	leaveW, leaveX := s.Attend(s.ctx(), "w"), s.Attend(s.ctx(), "x")
	attending("w", "x")
	leaveW()
	attending("x")
	leaveX()
	attending()
}

// fill stores as many entries as MaxRegistered, with keys of a prefix.
func (s *suite) fill(r store.Registration, prefix string) {
	var group sync.WaitGroup
	for side := range 100 {
		group.Go(func() {
			for n := range store.MaxRegistered / 100 {
				one := r
				one.Key = fmt.Sprintf("%s%d-%d", prefix, side, n)
				if _, err := s.Register(s.ctx(), one); err != nil {
					s.Error(err)
				}
			}
		})
	}
	group.Wait()
}

// registryFull: the number of entries of a kind that can be listed is limited, and there is room for more when some have expired.
func registryFull(s *suite) {
	one := store.Registration{Kind: store.RegistryWorkers, Key: "w", Value: []byte("v"), For: time.Minute}
	s.fill(one, "w")
	_, err := s.Register(s.ctx(), one)
	s.refused(err, store.Limit)
	s.register(store.Registration{Kind: store.RegistryWorkers, Key: "w1-1", Value: []byte("again"), Version: store.AnyVersion, For: time.Hour})
	s.register(store.Registration{Kind: store.RegistryTokens, Key: "w", Value: []byte("v")})
	s.Advance(2 * time.Minute)
	s.register(one)
	if got := s.keysOf(store.RegistryList{Kind: store.RegistryWorkers}); got != "w w1-1" {
		s.Errorf("there are %s", got)
	}
}

// registryShared: a namespace has as many schedules as a kind has entries, and leaves places for other namespaces.
func registryShared(s *suite) {
	one := store.Registration{Kind: store.RegistrySchedules, Value: []byte("v")}
	s.fill(one, "full/")
	at := func(key string) store.Registration {
		one.Key = key
		return one
	}
	_, err := s.Register(s.ctx(), at("full/w"))
	s.refused(err, store.Limit)
	if want := "the namespace full has 10000 schedules, and a namespace has at most half of the 20000 places that the others leave"; !strings.Contains(fmt.Sprint(err), want) {
		s.Errorf("%v, want %s", err, want)
	}
	s.register(at("changes"))
	for _, key := range []string{"ful/w", "fulla/w", "other/w", "other/v"} {
		s.register(at(key))
	}
	replaced := at("full/1-1")
	replaced.Version = store.AnyVersion
	s.register(replaced)
	for n := range 3 {
		s.must(s.Unregister(s.ctx(), one.Kind, fmt.Sprintf("full/2-%d", n), store.AnyVersion))
	}
	s.register(at("full/w"))
	_, err = s.Register(s.ctx(), at("full/v"))
	s.refused(err, store.Limit)
}
