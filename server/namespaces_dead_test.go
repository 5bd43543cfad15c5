package server_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/swrun/swrun/internal/access"
	"github.com/swrun/swrun/internal/cloudevent"
	"github.com/swrun/swrun/internal/deadletter"
)

// keepDead keeps a message that a source of some namespaces (none means all) could not publish, and returns its id.
func (g *guarded) keepDead(t *testing.T, source string, namespaces ...string) (id string) {
	t.Helper()
	m := deadletter.Message{Source: source, Kind: "kafka", Namespaces: namespaces, Place: "p", Why: "w", Message: cloudevent.Message{Body: []byte("{")}}
	if err := deadletter.Keep(t.Context(), g.store, m); err != nil {
		t.Fatal(err)
	}
	boxes, err := deadletter.All(t.Context(), g.store, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, b := range boxes {
		if b.Source == source {
			id = b.ID(b.Letters[0])
		}
	}
	return id
}

// TestNamespaceOnADeadMessage calls the operations on one message, for each namespace and for all, with tokens for one namespace, for two, for
// another one, and for all. A message exists for a caller if the request includes every namespace that the source reaches, and the caller sees them.
// Otherwise the message does not exist for the caller, and it stays kept.
func TestNamespaceOnADeadMessage(t *testing.T) {
	g := mustGuard(t, nil)
	grants := map[string]access.Grant{
		"root": {Everywhere: true},
		"one":  {Namespaces: []string{"mine"}}, "two": {Namespaces: []string{"mine", "third"}}, "stranger": {Namespaces: []string{"nowhere"}},
	}
	sources := map[string][]string{"of-all": nil, "of-mine": {"mine"}, "of-other": {"other"}, "of-two": {"third", "mine"}, "of-three": {"mine", "other", "third"}}
	for name, grant := range grants {
		grant.Role = access.RoleAdmin
		token := g.token(t, name, grant)
		for source, reaches := range sources {
			for _, asked := range []string{"", "mine", "other", "third", "nowhere"} {
				id := g.keepDead(t, source, reaches...)
				t.Run(fmt.Sprintf("%s of %q as %s", source, asked, name), func(t *testing.T) {
					g.asksDead(t, askedDead{id: id, namespace: asked, reaches: reaches, seen: deadIsSeen(grant, reaches, asked)}, token)
				})
			}
		}
	}
}

// deadIsSeen reports whether a caller that names a namespace (empty means all) may see a message of a source that reaches some namespaces (none means
// all).
func deadIsSeen(grant access.Grant, reaches []string, asked string) bool {
	sees := func(namespace string) bool {
		return (grant.Everywhere || slices.Contains(grant.Namespaces, namespace)) && (asked == "" || asked == namespace)
	}
	if len(reaches) == 0 {
		return grant.Everywhere && asked == ""
	}
	return !slices.ContainsFunc(reaches, func(n string) bool { return !sees(n) })
}

type askedDead struct {
	id, namespace string
	reaches       []string
	seen          bool
}

// asksDead requests a message, publishes it, which fails, and drops it; and likewise for a missing message.
func (g *guarded) asksDead(t *testing.T, a askedDead, token string) {
	t.Helper()
	source, _, _ := strings.Cut(a.id, "/")
	of := ""
	if a.namespace != "" {
		of = "namespace=" + a.namespace
	}
	for _, id := range []string{a.id, source, source + "/0123456789abcdef", "missed"} {
		choice := fmt.Sprintf(`{"ids": [%q]}`, id)
		for _, o := range [][3]string{{"GET", "/one?id=" + id + "&", ""}, {"POST", "/retry?", choice}, {"POST", "/drop?", choice}} {
			g.now.pass(time.Second) // no caller exceeds its rate
			w := g.send(o[0], "/v1/events/dead"+o[1]+of, o[2], "Authorization", token)
			want := 404
			if a.seen && (id == a.id || id == source && o[0] == "POST") {
				want = 200
			}
			if w.Code != want {
				t.Errorf("%s %s of %s: want %d, got %d %s", o[0], o[1], id, want, w.Code, w.Body)
			}
			if want == 200 && o[1] == "/drop?" {
				if left, err := deadletter.All(t.Context(), g.store, nil); err != nil || slices.ContainsFunc(left, func(b deadletter.Box) bool { return b.Source == source }) {
					t.Errorf("it was dropped, and is kept: %v", err)
				}
				g.keepDead(t, source, a.reaches...)
			}
		}
	}
	if _, _, _, err := deadletter.Load(t.Context(), g.store, a.id, nil); err != nil {
		t.Errorf("it is kept no longer: %v", err)
	}
}
