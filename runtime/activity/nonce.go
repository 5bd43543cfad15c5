package activity

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"

	"github.com/swrun/swrun/runtime/store"
)

// sealed is how many characters of a nonce are its seal: 96 bits.
const sealed = 16

// NonceOf returns the nonce of the attempt at an activity that the take begins. With a key it ends with a seal, which nobody can make who does not know
// the key: Sealed tells later that the worker was really given this activity, when the store has forgotten the activity.
func (t Take) NonceOf(id store.ActivityID) string {
	if t.Key == "" {
		return t.Nonce
	}
	mac := hmac.New(sha256.New, []byte(t.Key))
	mac.Write([]byte(id.String() + " " + t.Nonce + " " + t.Worker)) // only a worker has spaces
	return t.Nonce + base64.RawURLEncoding.EncodeToString(mac.Sum(nil))[:sealed]
}

// Sealed reports whether a take with the same key by the same worker has made a nonce for an activity.
func (t Take) Sealed(id store.ActivityID, nonce string) bool {
	if t.Nonce = nonce[:max(0, len(nonce)-sealed)]; t.Nonce == "" || t.Key == "" {
		return false
	}
	return hmac.Equal([]byte(t.NonceOf(id)), []byte(nonce))
}
