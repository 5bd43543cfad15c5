package oauth_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/swrun/swrun/internal/oauth"
	"github.com/swrun/swrun/internal/pacetest"
)

// TestTokensAreKept: tokens are kept until a little before they expire, separately for each policy, and are never used for a policy with another
// secret.
func TestTokensAreKept(t *testing.T) {
	for name, c := range map[string]struct {
		valid    any
		kept, no time.Duration // times at which the token is kept, and at which it is not
	}{
		"an hour":        {3600, time.Hour - 31*time.Second, time.Hour},
		"ten seconds":    {10, 8 * time.Second, 12 * time.Second},
		"text":           {"3600", time.Hour - 31*time.Second, time.Hour},
		"no time":        {0, -1, 0},
		"less than none": {-5, -1, 0},
		"not said":       {nil, 23 * time.Hour, 25 * time.Hour},
		"a century":      {3155760000, 23 * time.Hour, 25 * time.Hour},
		"for ever":       {json.Number("1e30"), 23 * time.Hour, 25 * time.Hour},
		"a fraction":     {json.Number("3600.0"), time.Hour - 31*time.Second, time.Hour},
		"a text of it":   {"3600.5", time.Hour - 31*time.Second, time.Hour},
		"an empty text":  {" ", 23 * time.Hour, 25 * time.Hour},
		"words":          {"soon", -2, -2},
	} {
		a := newAuthority(t)
		a.Valid = c.valid
		now := time.Now()
		start := now
		tokens := &oauth.Tokens{Now: func() time.Time { return now }}
		get := func() string {
			token, err := tokens.Get(t.Context(), policy(t, `{`+credentials+`}`), a)
			if err != nil {
				return err.Error()
			}
			return token.Access
		}
		first := get()
		if c.kept == -2 {
			if !strings.Contains(first, "cannot be understood") {
				t.Errorf("%s: %s", name, first)
			}
			continue
		}
		if now = start.Add(c.kept); c.kept >= 0 && get() != first {
			t.Errorf("%s: it is not kept for %s", name, c.kept)
		}
		if now = start.Add(c.no); get() == first {
			t.Errorf("%s: it is kept for %s", name, c.no)
		}
	}
	a, tokens := newAuthority(t), new(oauth.Tokens)
	for range 2 {
		for _, properties := range []string{`{` + credentials + `}`, `{` + credentials + `, "scopes": ["a"]}`, `{"openID": true, ` + credentials + `}`, `{` + credentials + `, "audiences": ["a"]}`} {
			if _, err := tokens.Get(t.Context(), policy(t, properties), a); err != nil {
				t.Fatal(err)
			}
		}
	}
	if asked := a.Asked(); len(asked) != 4 {
		t.Errorf("%d tokens were asked for: %+v", len(asked), asked)
	}
	if _, err := tokens.Get(t.Context(), policy(t, strings.ReplaceAll(`{`+credentials+`}`, secret, "guessed")), a); err == nil {
		t.Error("who does not know the secret gets the token")
	}
}

// TestRenewing: another token is requested once, regardless of the number of callers with the refused one. After a code, or after a replaced refresh
// token, the request uses the newest refresh token of the server.
func TestRenewing(t *testing.T) {
	a, tokens := newAuthority(t), new(oauth.Tokens)
	p := policy(t, `{`+credentials+`}`)
	first, err := tokens.Get(t.Context(), p, a)
	if err != nil {
		t.Fatal(err)
	}
	second, err := tokens.Renew(t.Context(), p, a, first)
	third, errAgain := tokens.Renew(t.Context(), p, a, first)
	if err != nil || errAgain != nil || second == first || third != second || len(a.Asked()) != 2 {
		t.Errorf("%v, %v: %d asked", err, errAgain, len(a.Asked()))
	}
	a = newAuthority(t)
	a.Once = true
	rotating := policy(t, `{"grant": "refresh_token", "subject": {"token": "refresh-of-ada-0", "type": "x"}, "client": {"id": "public"}}`)
	last, err := tokens.Get(t.Context(), rotating, a)
	for range 3 {
		if err != nil {
			t.Fatal(err)
		}
		last, err = tokens.Renew(t.Context(), rotating, a, last)
	}
	if err != nil {
		t.Error(err)
	}
}

// TestACodeIsSentOnce: a second token is requested with the refresh token of the server. Without a refresh token, the code is not sent again.
func TestACodeIsSentOnce(t *testing.T) {
	for _, refreshes := range []bool{true, false} {
		codes, refreshed := 0, 0
		p := policy(t, `{"grant": "authorization_code", "subject": {"token": "c", "type": "x"}}`)
		server := roundTrip(func(r *http.Request) (*http.Response, error) {
			if err := r.ParseForm(); err != nil {
				return nil, err
			}
			codes += len(r.PostForm["code"])
			refreshed += len(r.PostForm["refresh_token"])
			w := httptest.NewRecorder()
			w.Header().Set("Content-Type", "application/json")
			_, _ = io.WriteString(w, map[bool]string{true: `{"access_token": "a", "refresh_token": "r"}`, false: `{"access_token": "a"}`}[refreshes])
			return w.Result(), nil
		})
		tokens := new(oauth.Tokens)
		token, err := tokens.Get(t.Context(), p, server)
		if err != nil {
			t.Fatal(err)
		}
		again, err := tokens.Renew(t.Context(), p, server, token)
		if err != nil || (again != nil) != refreshes || codes != 1 || (refreshed == 1) != refreshes {
			t.Errorf("%v: %v, %v, %d codes, %d refresh tokens", refreshes, again, err, codes, refreshed)
		}
	}
}

// TestOneRequestAtATime: simultaneous callers get the same token. Each waits as long as its context lasts. If the caller that makes the request
// stops, another caller makes one.
func TestOneRequestAtATime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newAuthority(t)
		slow := roundTrip(func(r *http.Request) (*http.Response, error) {
			select {
			case <-time.After(pacetest.Patience):
				return a.RoundTrip(r)
			case <-r.Context().Done():
				return nil, context.Cause(r.Context())
			}
		})
		tokens, p := new(oauth.Tokens), policy(t, `{`+credentials+`}`)
		var all sync.WaitGroup
		errs := make([]error, 20)
		for i := range errs {
			all.Go(func() {
				patience := 10 * time.Minute
				if i < 7 {
					patience = time.Duration(1+i) * 10 * time.Second
				}
				ctx, done := context.WithTimeout(t.Context(), patience)
				defer done()
				_, errs[i] = tokens.Get(ctx, p, slow)
			})
			synctest.Wait() // so that the first one asks, and is the first to give up
		}
		all.Wait()
		for i, err := range errs {
			if i > 0 && i < 7 && err == nil { // it was early enough
				continue
			}
			if patient := i >= 7; patient != (err == nil) || !patient && !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("%d: %v", i, err)
			}
		}
		if asked := a.Asked(); len(asked) != 1 {
			t.Errorf("%d tokens were asked for", len(asked))
		}
	})
}

// TestAFailureIsShared: the callers that wait for a failing request do not repeat it one after the other.
func TestAFailureIsShared(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		requests := 0
		failing := roundTrip(func(*http.Request) (*http.Response, error) {
			requests++
			time.Sleep(time.Minute)
			return nil, io.ErrUnexpectedEOF
		})
		tokens, p := new(oauth.Tokens), policy(t, `{`+credentials+`}`)
		var all sync.WaitGroup
		for range 50 {
			all.Go(func() {
				if _, err := tokens.Get(t.Context(), p, failing); !errors.Is(err, io.ErrUnexpectedEOF) {
					t.Error(err)
				}
			})
		}
		all.Wait()
		if requests != 1 {
			t.Errorf("%d requests", requests)
		}
	})
}

// TestOnlySoManyAreKept: the least recently used token is removed.
func TestOnlySoManyAreKept(t *testing.T) {
	a, tokens := newAuthority(t), new(oauth.Tokens)
	get := func(scope string) {
		if _, err := tokens.Get(t.Context(), policy(t, `{`+credentials+`, "scopes": ["`+scope+`"]}`), a); err != nil {
			t.Fatal(err)
		}
	}
	get("first")
	for i := range 1200 {
		get(strings.Repeat("x", i+1))
		get("first")
	}
	if asked := a.Asked(); len(asked) != 1201 {
		t.Errorf("%d tokens were asked for", len(asked))
	}
	get("x")
	if asked := a.Asked(); len(asked) != 1202 {
		t.Error("all are kept")
	}
}
