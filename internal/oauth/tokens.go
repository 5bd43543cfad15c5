package oauth

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"net/http"
	"sync"
	"time"
)

// Tokens keeps tokens until they expire. The zero value is ready.
type Tokens struct {
	Now func() time.Time // nil is time.Now

	mu   sync.Mutex
	kept map[key]*kept
}

// maxTokens is how many tokens are kept.
const maxTokens = 1000

// key is a hash of all that a policy says, and so of all that its token depends on: who does not know the secrets does not get the token.
type key [sha256.Size]byte

// kept is what is known of a policy.
type kept struct {
	token  *Token   // the last one; nil if there was none
	asking *request // is in progress; nil if none is
	used   time.Time
}

// request is one request of a token, which several wait for.
type request struct {
	done      chan struct{} // closed when it has ended
	token     *Token
	err       error
	abandoned bool // who made it did not wait for the answer
}

// errSpent is why there is no second token of a code.
var errSpent = errors.New("an authorization code is good for one token, and the server has given nothing to refresh it with")

// Get returns a token of a policy: the one that is kept, or another one. Only one is asked for at a time; who waits for it waits as long as its own context
// lasts.
func (t *Tokens) Get(ctx context.Context, p *Policy, transport http.RoundTripper) (*Token, error) {
	return t.other(ctx, p, transport, nil)
}

// Renew returns another token than one that a service has refused; nil if there can be no other one.
func (t *Tokens) Renew(ctx context.Context, p *Policy, transport http.RoundTripper, refused *Token) (*Token, error) {
	token, err := t.other(ctx, p, transport, refused)
	if errors.Is(err, errSpent) {
		return nil, nil
	}
	return token, err
}

// other returns a token that is not the refused one, if that is not nil.
func (t *Tokens) other(ctx context.Context, p *Policy, transport http.RoundTripper, refused *Token) (*Token, error) {
	name, err := p.key()
	if err != nil {
		return nil, err
	}
	for {
		token, asking, mine := t.join(name, refused)
		switch {
		case token != nil:
			return token, nil
		case mine:
			t.perform(ctx, name, asking, p, transport)
			return asking.token, asking.err
		}
		select {
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		case <-asking.done:
		}
		if !asking.abandoned {
			return asking.token, asking.err
		}
	}
}

// join returns the token that is kept, or the request of one that is in progress. If it is mine, the caller makes it.
func (t *Tokens) join(name key, refused *Token) (token *Token, asking *request, mine bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	k := t.kept[name]
	if k == nil {
		k = t.add(name)
	}
	k.used = t.now()
	if k.token != nil && k.token != refused && k.used.Before(k.token.until) {
		return k.token, nil, false
	}
	if k.asking != nil {
		return nil, k.asking, false
	}
	k.asking = &request{done: make(chan struct{})}
	return nil, k.asking, true
}

// add makes room for what is known of a policy. What has not been used for longest is forgotten.
func (t *Tokens) add(name key) *kept {
	if t.kept == nil {
		t.kept = map[key]*kept{}
	}
	if len(t.kept) >= maxTokens {
		var oldest key
		found := false
		for other, k := range t.kept {
			if k.asking == nil && (!found || k.used.Before(t.kept[oldest].used)) {
				oldest, found = other, true
			}
		}
		delete(t.kept, oldest)
	}
	k := &kept{}
	t.kept[name] = k
	return k
}

// perform makes a request, and tells all who wait for it.
func (t *Tokens) perform(ctx context.Context, name key, asking *request, p *Policy, transport http.RoundTripper) {
	t.mu.Lock()
	k := t.kept[name] // is not forgotten as long as something is asked for
	last := k.token
	t.mu.Unlock()
	asking.abandoned = true // also if there is a panic
	defer func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		if k.asking = nil; asking.token != nil {
			k.token = asking.token
		}
		close(asking.done)
	}()
	asking.token, asking.err = p.another(ctx, transport, last, t.now)
	asking.abandoned = asking.err != nil && ctx.Err() != nil
}

func (t *Tokens) now() time.Time {
	if t.Now == nil {
		return time.Now()
	}
	return t.Now()
}

// another asks for a token, after one that is no longer used. A code is good for one token, and a server may take back a refresh token for another one: then
// the newest one counts.
func (p *Policy) another(ctx context.Context, transport http.RoundTripper, last *Token, now func() time.Time) (*Token, error) {
	refresh := ""
	if last != nil && (p.Grant == GrantCode || p.Grant == GrantRefresh) {
		if refresh = last.refresh; refresh == "" && p.Grant == GrantCode {
			return nil, errSpent
		}
	}
	token, err := p.ask(ctx, transport, refresh, now)
	if err == nil && token.refresh == "" {
		token.refresh = refresh
	}
	return token, err
}

// key returns the key of the policy's tokens.
func (p *Policy) key() (key, error) {
	text, err := json.Marshal(struct {
		*Policy
		OpenID bool
	}{p, p.OpenID})
	return sha256.Sum256(text), err
}
