package matching

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"net/url"
	"time"

	"github.com/swrun/swrun/runtime/store"
)

// The seal of a token proves that a server of this deployment gave it to a worker. The store forgets an activity when it ends, so that only
// the seal distinguishes a late report from a made-up one. All servers use the same key, which is kept in the store.

// sealKey is the entry of the registry with the key.
func sealKey() store.RegistryEntry[string] {
	return store.RegistryEntry[string]{Kind: store.RegistryKeys, Key: "activities"}
}

// CheckKey reports why the entry of a key cannot be read.
func CheckKey(r store.Registered) error {
	_, err := store.DecodeEntry[string](store.RegistryKeys, r)
	return err
}

// key returns the key of the deployment, and creates it if it is missing. The cached key is used unless it must be read again.
func (m *Matcher) key(ctx context.Context, again bool) (string, error) {
	m.mu.Lock()
	known := m.sealKey
	m.mu.Unlock()
	if known != "" && !again {
		return known, nil
	}
	key, _, err := sealKey().Load(ctx, m.c.Store)
	if store.RefusedAs(err) == store.Corrupt || err == nil && key == "" {
		key, err = m.storeKey(ctx, known)
	}
	if store.IsUnreadable(err) {
		return m.ownKey(err), nil
	}
	if err != nil {
		return "", err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.sealKey = key
	return key, nil
}

// storeKey stores the known key, or a new one, in the place of a missing or damaged key. It returns the stored key.
func (m *Matcher) storeKey(ctx context.Context, known string) (string, error) {
	if known == "" {
		known = m.c.Nonce() + m.c.Nonce()
	}
	entry := sealKey()
	entry.Replaced = func(why error) {
		m.c.Log.Warn("the key of the tokens of activities was damaged, and is replaced", "error", why)
	}
	return entry.Change(ctx, m.c.Store, func(is *string) error {
		if *is == "" {
			*is = known
		}
		return nil
	}, func(*string) bool { return false })
}

// ownKey returns a key of this process alone, for use while the key of the deployment cannot be read. Activities continue: only late
// reports need the key.
func (m *Matcher) ownKey(why error) string {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.sealKey == "" {
		m.sealKey = m.c.Nonce() + m.c.Nonce()
		m.c.Log.Error("the key of the tokens of activities cannot be read, and this process uses one of its own: late reports about attempts that others gave out are not noted",
			"error", why, "fix", "do what swrun doctor says about the entry, and start the process again")
	}
	return m.sealKey
}

// sealed is how many characters the seal of a token has: 96 bits.
const sealed = 16

// sealWith returns the seal of the ticket. It covers the complete content of the token.
func (t ticket) sealWith(key string) string {
	mac := hmac.New(sha256.New, []byte(key))
	fmt.Fprintf(mac, "%s %s %d %s %s", t.ActivityID, t.nonce, t.number, url.QueryEscape(t.worker), t.pointer) // only a pointer has spaces
	return base64.RawURLEncoding.EncodeToString(mac.Sum(nil))[:sealed]
}

// wasGiven reports whether a server of this deployment gave the ticket to a worker. Otherwise it was made up or changed, or was given by a
// server of a version without seals.
func (m *Matcher) wasGiven(ctx context.Context, t ticket) (bool, error) {
	for _, again := range []bool{false, true} {
		key, err := m.key(ctx, again)
		if err != nil || t.seal != "" && hmac.Equal([]byte(t.sealWith(key)), []byte(t.seal)) {
			return err == nil, err
		}
	}
	return false, nil
}

// madeUpEvery is the interval between log lines about made-up reports.
const madeUpEvery = time.Minute

// toldMadeUp is the state of the log about reports of attempts that were never handed out.
type toldMadeUp struct {
	n  int64
	at time.Time // of the last line, by Config.Now; zero for none
}

// countMadeUp counts such a report, and logs it, at most once a minute.
func (m *Matcher) countMadeUp(t ticket) {
	all, now := m.c.MadeUp.Add(1), m.c.Now()
	m.mu.Lock()
	n := all - m.madeUp.n
	tell := m.madeUp.at.IsZero() || now.Sub(m.madeUp.at) >= madeUpEvery
	if tell {
		m.madeUp = toldMadeUp{all, now}
	}
	m.mu.Unlock()
	if tell {
		m.c.Log.Warn("a report about an attempt that no worker was given is refused, and not noted in the history", "activity", t.ActivityID.String(), "reports", n)
	}
}
