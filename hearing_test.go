package swrun_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/swrun/swrun"
	"github.com/swrun/swrun/internal/access"
	"github.com/swrun/swrun/runtime/filter"
	"github.com/swrun/swrun/runtime/settings"
	"github.com/swrun/swrun/runtime/store"
)

// TestWhoHearsWhatRunsEmit: runs of all namespaces receive an event that a run emits. If a token is limited to some namespaces, only runs of the
// namespace of the emitting run receive it, unless a setting allows more; then its source and id are taken for that namespace alone.
func TestWhoHearsWhatRunsEmit(t *testing.T) {
	const limited, everywhere = "limited", "everywhere"
	for _, c := range []struct {
		name, token, deployment, namespace string // the settings of both
		want                               string
	}{
		{"nothing is said", "", "", "", "aa bb cc"},
		{"a token for all", everywhere, "", "", "aa bb cc"},
		{"a limited token", limited, "", "", "aa"},
		{"a limited token, and all", limited, "all", "", "aa bb cc"},
		{"no token, and own", "", "own", "", "aa"},
		{"one other", "", "bb", "", "aa bb"},
		{"the namespace goes before the deployment", "", "own", "cc , bb", "aa bb cc"},
		{"the namespace says own", "", "all", "own", "aa"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s, err := swrun.OpenStore(t.Context(), "memory:", swrun.StoreConfig{})
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			if c.token != "" {
				g := access.Grant{Role: access.RoleViewer, Everywhere: c.token == everywhere}
				if !g.Everywhere {
					g.Namespaces = []string{"zz"}
				}
				if _, _, err := access.NewTokens(s, nil).New(t.Context(), "x", g, 0, ""); err != nil {
					t.Fatal(err)
				}
			}
			mustSetEvents(t, s, "", c.deployment)
			mustSetEvents(t, s, "aa", c.namespace)
			e := emitted(t, s)
			if got := startedBy(t, e); got != c.want {
				t.Errorf("%q hear it, want %q", got, c.want)
			}
			_, err = e.Publish(t.Context(), map[string]any{"specversion": "1.0", "id": "1", "source": "/s", "type": "other"}, []string{"bb"})
			if taken := errors.As(err, new(*swrun.OtherEventError)); taken != (c.want == "aa bb cc" && c.namespace == "") {
				t.Errorf("its id is taken for bb: %v", err)
			}
		})
	}
}

func mustSetEvents(t *testing.T, r store.Registry, scope settings.Scope, value string) {
	t.Helper()
	if value == "" {
		return
	}
	if _, err := settings.Change(t.Context(), r, scope, func(s *settings.Settings) error { return s.Set("events", value) }, nil); err != nil {
		t.Fatal(err)
	}
}

// emitted lets a run of aa emit an event, which starts a run of each namespace that receives it, and returns when all have received it.
func emitted(t *testing.T, s *swrun.Store) *swrun.Engine {
	t.Helper()
	published := make(chan struct{})
	e, err := swrun.NewEngine(s, swrun.EngineConfig{Host: swrun.Host{Publish: func(context.Context, map[string]any) error { close(published); return nil }}})
	if err != nil {
		t.Fatal(err)
	}
	for _, namespace := range []string{"aa", "bb", "cc"} {
		d, _ := swrun.Parse("", []byte("document: {dsl: 1.0.3, namespace: "+namespace+", name: hears, version: 1.0.0}\nschedule: {on: {one: {with: {type: go}}}}\ndo: [{a: {wait: {hours: 1}}}]"))
		if err := e.Deploy(t.Context(), d); err != nil {
			t.Fatal(err)
		}
	}
	d, _ := swrun.Parse("", []byte("document: {dsl: 1.0.3, namespace: aa, name: emits, version: 1.0.0}\ndo: [{e: {emit: {event: {with: {type: go, id: '1', source: /s}}}}}]"))
	if _, err := e.StartDocument(t.Context(), d, nil, swrun.StartOptions{}); err != nil {
		t.Fatal(err)
	}
	working, stop := context.WithCancel(t.Context())
	worked := make(chan error, 1)
	go func() { worked <- e.Work(working) }()
	<-published
	stop()
	if err := <-worked; err != nil {
		t.Fatal(err)
	}
	return e
}

// startedBy returns the namespaces in which runs of hears have started.
func startedBy(t *testing.T, e *swrun.Engine) string {
	t.Helper()
	where, err := filter.Parse("id!=x", time.Now())
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]bool{}
	err = e.Client().Each(t.Context(), where, func(r *filter.Run) bool {
		if r.Invocation.Workflow.Name == "hears" {
			found[r.Instance.Namespace] = true
		}
		return true
	})
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, namespace := range []string{"aa", "bb", "cc"} {
		if found[namespace] {
			all = append(all, namespace)
		}
	}
	return strings.Join(all, " ")
}

// TestSettingOfEvents: the setting accepts its valid values, and refuses others.
func TestSettingOfEvents(t *testing.T) {
	for text, want := range map[string]string{
		"all": "all", "own": "own", "bb": "bb", "cc,bb": "bb,cc", "bb, bb": "bb", "": "", " ": "", "all,bb": "", "own,own": "", "b b": "", "*": "", "bb,": "", "ALL": "ALL", "null": "null", "5": "5", strings.Repeat("a", 64): "",
	} {
		s := settings.Settings{}
		err := s.Set("events", text)
		if (err == nil) != (want != "") || s.Events != want {
			t.Errorf("%q: %q %v", text, s.Events, err)
		}
	}
	names := ""
	for n := range 101 {
		names += fmt.Sprintf(",n%d", n)
	}
	if err := new(settings.Settings).Set("events", names[1:]); err == nil {
		t.Error("101 namespaces may be named")
	}
}
