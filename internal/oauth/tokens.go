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

// maxTokens is the maximum number of kept tokens.
const maxTokens = 1000

// key is a hash of the whole policy, and so of everything that its token depends on. A caller without the secrets does not get the token.
type key [sha256.Size]byte

// kept is the kept state of a policy.
type kept struct {
	token  *Token   // the last token; nil if there was no token
	asking *request // the request in progress; nil without a request
	used   time.Time
}

// request is one request of a token, for which several callers may wait.
type request struct {
	done      chan struct{} // closed at its end
	token     *Token
	err       error
	abandoned bool // its caller did not wait for the answer
}

// errSpent explains why there is no second token of a code.
var errSpent = errors.New("an authorization code is good for one token, and the server has given nothing to refresh it with")

// Get returns a token of a policy: the kept one, or another one. Only one request is in progress at a time. Each caller waits for it as long as its
// own context lasts.
func (t *Tokens) Get(ctx context.Context, p *Policy, transport http.RoundTripper) (*Token, error) {
	return t.other(ctx, p, transport, nil)
}

// Renew returns another token in place of a token that a service refused; nil if there can be no other token.
func (t *Tokens) Renew(ctx context.Context, p *Policy, transport http.RoundTripper, refused *Token) (*Token, error) {
	token, err := t.other(ctx, p, transport, refused)
	if errors.Is(err, errSpent) {
		return nil, nil
	}
	return token, err
}

// other returns a token that is not the refused one, unless refused is nil.
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

// join returns the kept token, or the request in progress. If mine is true, the caller must make the request.
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

// add makes room for the state of a policy. It removes the entry that was unused for the longest time.
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

// perform makes a request, and passes the result to all waiting callers.
func (t *Tokens) perform(ctx context.Context, name key, asking *request, p *Policy, transport http.RoundTripper) {
	t.mu.Lock()
	k := t.kept[name] // is kept while a request is in progress
	last := k.token
	t.mu.Unlock()
	asking.abandoned = true // also after a panic
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

// another requests a token, after a token that is no longer used. A code gives one token, and a server may replace a refresh token: then the newest
// one counts.
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
