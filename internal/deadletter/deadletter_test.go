package deadletter_test

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/swrun/swrun"
	"github.com/swrun/swrun/internal/cloudevent"
	"github.com/swrun/swrun/internal/deadletter"
	"github.com/swrun/swrun/internal/doctor"
	"github.com/swrun/swrun/redisstore/redistest"
	"github.com/swrun/swrun/runtime/store"
)

func stores() map[string]func(*testing.T) string {
	return map[string]func(*testing.T) string{
		"memory":  func(*testing.T) string { return "memory:" },
		"file":    func(t *testing.T) string { return "file:" + filepath.Join(t.TempDir(), "runs.db") },
		"Redis":   func(t *testing.T) string { return redistest.Start(t, "--appendonly", "yes").URL() },
		"Cluster": func(t *testing.T) string { return redistest.Cluster(t, 3) },
	}
}

func mustOpen(t *testing.T, url string) *swrun.Store {
	t.Helper()
	s, err := swrun.OpenStore(t.Context(), url, swrun.StoreConfig{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() }) // the store is discarded anyway
	return s
}

func unfit(source, place, body string) deadletter.Message {
	return deadletter.Message{
		Source: source, Kind: "redis", Place: place, Why: "it is no event", Headers: map[string][]string{"X-A": {"1", "2"}}, Message: cloudevent.Message{Body: []byte(body)},
	}
}

func mustKeep(t *testing.T, r store.Registry, m deadletter.Message) {
	t.Helper()
	if err := deadletter.Keep(t.Context(), r, m); err != nil {
		t.Fatal(err)
	}
}

// TestStores: every store keeps the newest letters of a source with their content, counts repeated ones, and deletes dropped ones.
func TestStores(t *testing.T) {
	for name, url := range stores() {
		t.Run(name, func(t *testing.T) {
			s, ctx := mustOpen(t, url(t)), t.Context()
			const more = 3
			for n := range deadletter.MaxOfSource + more {
				mustKeep(t, s, unfit("orders", fmt.Sprint("place ", n), fmt.Sprint("body ", n)))
			}
			last := unfit("orders", fmt.Sprint("place ", more), fmt.Sprint("body ", more))
			mustKeep(t, s, last)
			mustKeep(t, s, unfit("other", "here", ""))
			all, err := deadletter.All(ctx, s, nil)
			if err != nil || len(all) != 2 || len(all[0].Letters) != deadletter.MaxOfSource || all[0].Forgotten != more || len(all[1].Letters) != 1 {
				t.Fatalf("%v: %+v", err, all)
			}
			newest := all[0].Letters[deadletter.MaxOfSource-1]
			if newest.Place != last.Place || newest.Times != 2 || newest.Last.Before(newest.First) || newest.Bytes != len(last.Body) || newest.Why != "it is no event" {
				t.Errorf("the one that came again is %+v", newest)
			}
			id := all[0].ID(newest)
			_, _, held, err := deadletter.Load(ctx, s, id, nil)
			if err != nil || string(held.Body) != string(last.Body) || len(held.Headers["X-A"]) != 2 {
				t.Errorf("%v: %+v", err, held)
			}
			if found := deadletter.Examine(ctx, s); len(found) != 2 || found[0].Level != doctor.Warning || !strings.Contains(found[0].What, "100 dead letters, and 3 older ones were forgotten") {
				t.Errorf("doctor says %+v", found)
			}
			for range 2 { // the second time it is gone
				if err := deadletter.Drop(ctx, s, id); err != nil {
					t.Error(err)
				}
			}
			if _, _, _, err := deadletter.Load(ctx, s, id, nil); store.RefusedAs(err) != store.NoSuch {
				t.Errorf("what was dropped: %v", err)
			}
			if _, err := s.Registered(ctx, store.RegistryContents, id); store.RefusedAs(err) != store.NoSuch {
				t.Errorf("what it held: %v", err)
			}
			if err := deadletter.Drop(ctx, s, all[1].ID(all[1].Letters[0])); err != nil {
				t.Error(err)
			}
			if all, err := deadletter.All(ctx, s, nil); err != nil || len(all) != 1 || all[0].Source != "orders" {
				t.Errorf("a source without letters is left: %v %+v", err, all)
			}
		})
	}
}

// TestKeepsNewerContent: the content of a message that a newer swrun has kept stays when the message comes again. A damaged content is replaced.
func TestKeepsNewerContent(t *testing.T) {
	s := mustOpen(t, "memory:")
	m := unfit("orders", "place", "body")
	mustKeep(t, s, m)
	all, err := deadletter.All(t.Context(), s, nil)
	if err != nil {
		t.Fatal(err)
	}
	to := store.Registration{Kind: store.RegistryContents, Key: "orders/" + all[0].Letters[0].Hash, Version: store.AnyVersion}
	for text, want := range map[string]string{"99 {}": "99 {}", "rubbish": "1 {"} {
		to.Value = []byte(text)
		if _, err := s.Register(t.Context(), to); err != nil {
			t.Fatal(err)
		}
		mustKeep(t, s, m)
		if is, err := s.Registered(t.Context(), to.Kind, to.Key); err != nil || !strings.HasPrefix(string(is.Value), want) || is.Ends.IsZero() {
			t.Errorf("%q: is %q until %s, %v", text, is.Value, is.Ends, err)
		}
	}
}

// TestWhatIsKept: a message has a size limit. A message that was cut, or that was never an event, cannot be published again.
func TestWhatIsKept(t *testing.T) {
	const event = `{"specversion":"1.0","id":"1","source":"/s","type":"t","data":"`
	long := event + strings.Repeat("x", deadletter.MaxBody) + `"}`
	for name, c := range map[string]struct {
		message deadletter.Message
		says    string // empty if it can be published
	}{
		"an event":              {unfit("s", "p", event+`x"}`), ""},
		"an event of all bytes": {unfit("s", "p", event+strings.Repeat("x", deadletter.MaxBody-len(event)-2)+`"}`), ""},
		"too long":              {unfit("s", "p", long), "only a part of it is kept"},
		"long headers": {deadletter.Message{Source: "s", Place: "p", Headers: map[string][]string{"a": {strings.Repeat("x", deadletter.MaxHeaders)}},
			Message: cloudevent.Message{Body: []byte(event + `"}`)}}, "only a part of it is kept"},
		"empty":                 {unfit("s", "p", ""), "JSON"},
		"null":                  {unfit("s", "p", "null"), "neither one event nor a list"},
		"no events":             {unfit("s", "p", "[]"), "no event"},
		"not UTF-8":             {unfit("s", "p", "\xff\xfe\x00"), ""},
		"no type":               {unfit("s", "p", `{"specversion":"1.0","id":"1","source":"/s"}`), "type"},
		"second one":            {unfit("s", "p", "["+event+`x"},{"id":"2"}]`), "event 2"},
		"binary mode":           {deadletter.Message{Source: "s", Place: "p", Message: cloudevent.Message{ContentType: "text/plain", Body: []byte("x"), Attributes: map[string]any{"specversion": "1.0", "id": "1", "source": "/s", "type": "t"}}}, ""},
		"broken":                {deadletter.Message{Source: "s", Place: "p", Broken: true, Why: "ce-id stands twice", Message: cloudevent.Message{Body: []byte(event + `"}`)}}, "ce-id stands twice"},
		"a long place, and why": {deadletter.Message{Source: "s", Place: strings.Repeat("p", 5000), Why: strings.Repeat("w", 5000), Message: cloudevent.Message{Body: []byte("x")}}, "JSON"},
	} {
		t.Run(name, func(t *testing.T) {
			s := mustOpen(t, "memory:")
			mustKeep(t, s, c.message)
			all, err := deadletter.All(t.Context(), s, nil)
			if err != nil || len(all) != 1 || len(all[0].Letters[0].Place) > 300 || len(all[0].Letters[0].Why) > 600 {
				t.Fatalf("%v: %+v", err, all)
			}
			_, l, held, err := deadletter.Load(t.Context(), s, all[0].ID(all[0].Letters[0]), nil)
			if err != nil {
				t.Fatal(err)
			}
			events, err := held.Events(l)
			switch {
			case name == "not UTF-8":
				if !errors.As(err, new(*deadletter.UnfitError)) {
					t.Errorf("%v: %v", events, err)
				}
			case c.says == "" && (err != nil || len(events) != 1):
				t.Errorf("%v: %v", events, err)
			case c.says != "" && (!errors.As(err, new(*deadletter.UnfitError)) || !strings.Contains(err.Error(), c.says)):
				t.Errorf("it says %v", err)
			}
		})
	}
}

// TestWhoSeesLetters: a caller of some namespaces sees the letters of sources whose events reach no other namespaces.
func TestWhoSeesLetters(t *testing.T) {
	s := mustOpen(t, "memory:")
	for source, namespaces := range map[string][]string{"of-all": nil, "of-shop": {"shop"}, "of-both": {"shop", "bank"}} {
		m := unfit(source, "p", "x")
		m.Namespaces = namespaces
		mustKeep(t, s, m)
	}
	for want, namespaces := range map[string][]string{"of-all of-both of-shop": nil, "of-shop": {"shop"}, "of-both of-shop": {"bank", "shop"}, "": {}} {
		all, err := deadletter.All(t.Context(), s, namespaces)
		var names []string
		for _, b := range all {
			names = append(names, b.Source)
			if _, _, _, err := deadletter.Load(t.Context(), s, b.ID(b.Letters[0]), namespaces); err != nil {
				t.Error(err)
			}
		}
		if err != nil || strings.Join(names, " ") != want {
			t.Errorf("%v sees %v: %v", namespaces, names, err)
		}
	}
	for _, id := range []string{"of-both", "of-both/none", "none", "", "/", "a b/c", "of-shop/"} {
		if _, _, _, err := deadletter.Load(t.Context(), s, id, nil); store.RefusedAs(err) != store.NoSuch {
			t.Errorf("%q: %v", id, err)
		}
	}
	for _, id := range []string{"of-both", "none", "", "of-shop/none"} {
		if all, err := deadletter.Chosen(t.Context(), s, []string{"of-shop", id}, []string{"shop"}); store.RefusedAs(err) != store.NoSuch {
			t.Errorf("%q: %v %v", id, all, err)
		}
	}
}
