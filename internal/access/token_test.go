package access_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/swrun/swrun/errors"
	"github.com/swrun/swrun/internal/access"
	"github.com/swrun/swrun/memstore"
	"github.com/swrun/swrun/runtime/store"
)

// clock is a clock that tests move.
type clock struct{ at time.Time }

func (c *clock) now() time.Time { return c.at }

func newTokens(t *testing.T) (*access.Tokens, store.Store, *clock) {
	t.Helper()
	c := &clock{time.Date(2026, 5, 4, 10, 0, 0, 0, time.UTC)}
	s := memstore.New(memstore.Config{Partitions: 2, Now: c.now})
	return access.NewTokens(s, c.now), s, c
}

var everything = access.Grant{Role: access.RoleAdmin, Everywhere: true}

// TestTokens: a token is shown once, kept as a hash, and names its bearer until it is revoked or expires.
func TestTokens(t *testing.T) {
	ctx := context.Background()
	tokens, s, now := newTokens(t)
	text, made, err := tokens.New(ctx, "ci", access.Grant{Role: access.RoleAuthor, Namespaces: []string{"shop", "demo", "shop"}}, time.Hour, "local/ada")
	if err != nil || !strings.HasPrefix(text, "swrun_ci_") || len(text) < 60 {
		t.Fatalf("got %q, %v", text, err)
	}
	if !made.ExpiresAt.Equal(now.at.Add(time.Hour)) || made.CreatedBy != "local/ada" || strings.Join(made.Namespaces, " ") != "demo shop" {
		t.Errorf("made %+v", made)
	}
	kept, err := s.Registered(ctx, store.RegistryTokens, "ci")
	if err != nil || strings.Contains(string(kept.Value), strings.TrimPrefix(text, "swrun_ci_")) {
		t.Errorf("the store keeps %s (%v)", kept.Value, err)
	}
	caller, err := tokens.Authenticate(ctx, text)
	if err != nil || caller.Name != "ci" || caller.Role != access.RoleAuthor || !caller.Sees("demo") || caller.Sees("other") {
		t.Errorf("got %+v, %v", caller, err)
	}
	if _, _, err := tokens.New(ctx, "ci", everything, 0, ""); store.RefusedAs(err) != store.Conflict {
		t.Errorf("the name is given twice: %v", err)
	}
	now.at = now.at.Add(time.Hour)
	if _, err := tokens.Authenticate(ctx, text); !errors.Is(err, access.ErrUnknown) {
		t.Errorf("it has expired, and is taken: %v", err)
	}
}

// TestRevokedTokens: a server refuses a token that another server has revoked after KnownFor, and its own revoked tokens immediately.
func TestRevokedTokens(t *testing.T) {
	ctx := context.Background()
	tokens, s, now := newTokens(t)
	text, _, err := tokens.New(ctx, "ci", everything, 0, "")
	if err != nil {
		t.Fatal(err)
	}
	elsewhere := access.NewTokens(s, now.now)
	for _, at := range []*access.Tokens{tokens, elsewhere} {
		if _, err := at.Authenticate(ctx, text); err != nil {
			t.Error(err)
		}
	}
	if err := elsewhere.Revoke(ctx, "ci"); err != nil {
		t.Error(err)
	}
	if _, err := elsewhere.Authenticate(ctx, text); !errors.Is(err, access.ErrUnknown) {
		t.Errorf("who has revoked it takes it: %v", err)
	}
	now.at = now.at.Add(access.KnownFor)
	if _, err := tokens.Authenticate(ctx, text); !errors.Is(err, access.ErrUnknown) {
		t.Errorf("it was revoked, and is taken: %v", err)
	}
	for _, name := range []string{"ci", "", "CI", "a b", strings.Repeat("x", 5000), "{}"} {
		if err := tokens.Revoke(ctx, name); store.RefusedAs(err) != store.NoSuch {
			t.Errorf("%.20q is revoked: %v", name, err)
		}
	}
	again, _, err := tokens.New(ctx, "ci", everything, 0, "")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tokens.Authenticate(ctx, text); !errors.Is(err, access.ErrUnknown) {
		t.Errorf("the former token of the name is taken: %v", err)
	}
	if _, err := tokens.Authenticate(ctx, again); err != nil {
		t.Error(err)
	}
}

// TestWrongTokens: wrong tokens of any form are refused.
func TestWrongTokens(t *testing.T) {
	ctx := context.Background()
	tokens, _, _ := newTokens(t)
	text, _, err := tokens.New(ctx, "ci", everything, 0, "")
	if err != nil {
		t.Fatal(err)
	}
	for name, wrong := range map[string]string{
		"empty": "", "the prefix alone": "swrun_", "a name": "swrun_ci", "no secret": "swrun_ci_", "another secret": "swrun_ci_AAAA",
		"cut": text[:len(text)-1], "longer": text + "A", "of another name": strings.Replace(text, "_ci_", "_cd_", 1), "small letters": strings.ToLower(text),
		"without the prefix": strings.TrimPrefix(text, "swrun_"), "a space": " " + text, "huge": "swrun_" + strings.Repeat("x", 1<<20), "braces": "swrun_{a}_b", "NUL": "swrun_a\x00_b",
		"a space after": text + " ", "none at all": "null",
	} {
		if c, err := tokens.Authenticate(ctx, wrong); !errors.Is(err, access.ErrUnknown) || c.Role != "" || c.Everywhere {
			t.Errorf("%s: got %+v, %v", name, c, err)
		}
	}
}

// TestTokensThatCannotBe: a token grants only the named rights.
func TestTokensThatCannotBe(t *testing.T) {
	tokens, _, _ := newTokens(t)
	some := func(namespaces ...string) access.Grant {
		return access.Grant{Role: access.RoleViewer, Namespaces: namespaces}
	}
	for name, c := range map[string]struct {
		name  string
		grant access.Grant
		lasts time.Duration
		field string
	}{
		"no name":              {"", everything, 0, "name"},
		"a name with a blank":  {"a b", everything, 0, "name"},
		"a name with a line":   {"a_b", everything, 0, "name"},
		"a long name":          {strings.Repeat("a", 64), everything, 0, "name"},
		"a name in capitals":   {"CI", everything, 0, "name"},
		"the name of nobody":   {"local", everything, 0, "name"},
		"no role":              {"a", access.Grant{Everywhere: true}, 0, "role"},
		"the open role":        {"a", access.Grant{Role: access.RoleOpen, Everywhere: true}, 0, "role"},
		"an unknown role":      {"a", access.Grant{Role: "root", Everywhere: true}, 0, "role"},
		"no namespace":         {"a", some(), 0, "namespaces"},
		"an empty namespace":   {"a", some(""), 0, "namespaces"},
		"a star":               {"a", some("*"), 0, "namespaces"},
		"a namespace too long": {"a", some(strings.Repeat("a", 64)), 0, "namespaces"},
		"all and some":         {"a", access.Grant{Role: access.RoleViewer, Everywhere: true, Namespaces: []string{"a"}}, 0, "namespaces"},
		"too many namespaces":  {"a", some(make([]string, 101)...), 0, "namespaces"},
		"a time that is over":  {"a", everything, -time.Hour, "expiresIn"},
		"a moment":             {"a", everything, time.Millisecond, "expiresIn"},
	} {
		var invalid *access.InvalidError
		if _, _, err := tokens.New(context.Background(), c.name, c.grant, c.lasts, ""); !errors.As(err, &invalid) || invalid.Field != c.field {
			t.Errorf("%s: got %v", name, err)
		}
	}
	if all, err := tokens.List(context.Background()); err != nil || len(all) != 0 {
		t.Errorf("there are %v (%v)", all, err)
	}
}

// TestRolesAllow checks which role may use which operation.
func TestRolesAllow(t *testing.T) {
	for i, role := range access.Roles() {
		for j, need := range access.Roles() {
			if role.Allows(need) != (i >= j) {
				t.Errorf("%s allows %s: %v", role, need, role.Allows(need))
			}
		}
	}
	if access.Role("").Allows(access.RoleViewer) || access.Role("root").Allows(access.RoleViewer) || access.RoleAdmin.Allows("") || !access.Role("").Allows(access.RoleOpen) {
		t.Error("an unknown role allows something, or nobody may use what is open")
	}
}
