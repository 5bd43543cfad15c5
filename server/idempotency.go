package server

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"github.com/swrun/swrun/internal/api"
	"github.com/swrun/swrun/runtime/store"
)

// A caller who got no answer sends a request again, with the key that it had before: it is carried out once, and answered twice.

const (
	// replyFor is how long a reply is kept.
	replyFor = 24 * time.Hour
	// performWithin is how long a request with a key may take; after it, another one with the key may take its place.
	performWithin = 2 * time.Minute
	// maxReply is how many bytes of a reply are kept.
	maxReply = 64 << 10
	// maxKey is how long a key may be.
	maxKey = 255
	// keyHeader is the header of a key.
	keyHeader = "Idempotency-Key"
)

// reply is what the registry keeps under a key: the request, and its answer once there is one.
type reply struct {
	Request []byte      `json:"request"` // hash of what was asked
	RunID   string      `json:"runId"`   // of a run that the request starts, if it names none
	Since   time.Time   `json:"since"`   // when somebody began to carry it out
	Status  int         `json:"status,omitempty"`
	Header  http.Header `json:"header,omitempty"`
	Body    []byte      `json:"body,omitempty"`
}

// keyed is a request with a key that is carried out.
type keyed struct {
	server *Server
	entry  string // in the registry
	reply
	version int64
}

type keyedKey struct{}

// runIDOf returns the id that a run gets which a request with a key starts: the same for all requests with the key. It is empty for
// requests without one.
func runIDOf(ctx context.Context) string {
	k, _ := ctx.Value(keyedKey{}).(*keyed)
	if k == nil {
		return ""
	}
	return k.RunID
}

// idempotent answers a request with the reply that its Idempotency-Key has got before, or keeps the reply that it gets now.
func (s *Server) idempotent(ctx huma.Context, next func(huma.Context)) {
	r, w := humago.Unwrap(ctx)
	r = r.WithContext(ctx.Context())
	key, err := idempotencyKey(r)
	if err == nil && key == "" {
		next(ctx)
		return
	}
	if _, once := ctx.Operation().Metadata[toldOnce]; once && err == nil {
		err = newProblem(http.StatusBadRequest, "invalid-request", "Invalid request", "this answer is told once and not kept, so that the request takes no Idempotency-Key")
	}
	var body []byte
	if err == nil {
		body, err = readWhole(r, ctx.Operation().MaxBodyBytes)
	}
	var k *keyed
	if err == nil {
		k, err = s.enterKeyed(r, key, body)
	}
	switch {
	case err != nil:
		writeProblem(w, s.problem(r.Context(), err))
	case k.Status != 0:
		k.replay(w)
	default:
		k.perform(ctx, r, body, next)
	}
}

// toldOnce is in the metadata of operations whose answers hold a secret.
const toldOnce = "toldOnce"

// idempotencyKey returns the key of a request; empty if it has none.
func idempotencyKey(r *http.Request) (string, error) {
	given := r.Header.Values(keyHeader)
	if len(given) == 0 {
		return "", nil
	}
	key := strings.TrimSpace(given[0])
	if unquoted, err := strconv.Unquote(key); err == nil && strings.HasPrefix(key, `"`) {
		key = unquoted
	}
	odd := strings.ContainsFunc(key, func(c rune) bool { return c < ' ' || c > '~' })
	if len(given) > 1 || key == "" || len(key) > maxKey || odd {
		p := newProblem(http.StatusBadRequest, "invalid-request", "Invalid request", fmt.Sprintf("the header Idempotency-Key must be given once, as 1 to %d characters of ASCII", maxKey))
		p.Field = "Idempotency-Key"
		return "", p
	}
	return key, nil
}

// readWhole reads the body of a request, which may have fewer than most bytes.
func readWhole(r *http.Request, most int64) ([]byte, error) {
	data, err := io.ReadAll(io.LimitReader(r.Body, most))
	switch {
	case errors.Is(err, os.ErrDeadlineExceeded):
		return nil, newProblem(http.StatusRequestTimeout, "request-timeout", "The request took too long", "the body of the request has not come in time")
	case err != nil:
		return nil, newProblem(http.StatusBadRequest, "invalid-request", "Invalid request", "the body of the request could not be read")
	case int64(len(data)) >= most:
		return nil, bodyTooLarge(r.Header.Get("Content-Length"), int(most)-1)
	}
	return data, nil
}

// replyOwner returns whose reply a key has: a token that was made anew under the name of another one gets none of its replies.
func replyOwner(c Caller, key string) []string {
	if c.Since == "" {
		return []string{c.Name, key}
	}
	return []string{c.Name, key, c.Since}
}

// enterKeyed returns the reply that a key has, or notes that its request is carried out now. A key is one of its caller.
func (s *Server) enterKeyed(r *http.Request, key string, body []byte) (*keyed, error) {
	ctx, done := s.limited(r.Context(), store.RefusesWrites, s.readWithin())
	defer done()
	r = r.WithContext(ctx)
	k := &keyed{server: s, entry: hashOf(replyOwner(callerOf(r.Context()), key)...)}
	request := hashOf(r.Method, r.URL.Path, r.URL.RawQuery, string(body))
	found, err := s.control.Registry().Registered(r.Context(), store.RegistryReplies, k.entry)
	switch {
	case store.RefusedAs(err) == store.NoSuch:
		k.reply = reply{Request: []byte(request), RunID: s.config.NewID(), Since: s.config.Now().UTC()}
		return k, k.store(r.Context())
	case err != nil:
		return nil, err
	}
	if k.reply, err = store.DecodeEntry[reply](store.RegistryReplies, found); err != nil {
		return nil, err
	}
	k.version = found.Version
	began := s.config.Now().Sub(k.Since)
	switch {
	case string(k.Request) != request:
		return nil, newProblem(http.StatusUnprocessableEntity, "idempotency-key-reused", "Another request has this key", "the Idempotency-Key was sent with another request: take a new key for each")
	case k.Status == 0 && began < performWithin:
		return nil, inProgress()
	case k.Status == 0: // who has carried it out is gone
		k.Since = s.config.Now().UTC()
		return k, k.store(r.Context())
	}
	return k, nil
}

// inProgress is the problem of a request whose key another one has that is being carried out.
func inProgress() *api.Problem {
	p := newProblem(http.StatusConflict, "request-in-progress", "The request is being carried out", "a request with this Idempotency-Key is being carried out: ask again later")
	p.RetryAfter = 1
	return p
}

// hashOf returns a hash of texts, as text.
func hashOf(texts ...string) string {
	h := sha256.New()
	for _, text := range texts {
		fmt.Fprintf(h, "%d:%s", len(text), text)
	}
	return base64.RawURLEncoding.EncodeToString(h.Sum(nil))
}

// store keeps the reply as it is now. If another request with the key was faster, that one counts.
func (k *keyed) store(ctx context.Context) error {
	value, err := store.EncodeEntry(store.RegistryReplies, k.reply)
	if err != nil {
		return fmt.Errorf("write a reply: %w", err)
	}
	kept, err := k.server.control.Registry().Register(ctx, store.Registration{Kind: store.RegistryReplies, Key: k.entry, Value: value, Version: k.version, For: replyFor})
	if store.RefusedAs(err) == store.Conflict {
		return inProgress()
	}
	k.version = kept.Version
	return err
}

// perform carries out the request, also if its caller goes meanwhile: then the caller asks again for the reply. What has changed nothing
// is forgotten, so that the same request may do better.
func (k *keyed) perform(ctx huma.Context, r *http.Request, body []byte, next func(huma.Context)) {
	_, w := humago.Unwrap(ctx)
	within, cancel := context.WithTimeout(context.WithValue(context.WithoutCancel(r.Context()), keyedKey{}, k), performWithin)
	defer cancel()
	request := r.WithContext(within)
	request.Body = io.NopCloser(bytes.NewReader(body))
	kept := &keptAnswer{ResponseWriter: w}
	defer k.settle(context.WithoutCancel(within), kept)
	next(humago.NewContext(ctx.Operation(), request, kept))
}

// settleWithin is how long the registry may take to keep a reply.
const settleWithin = 10 * time.Second

// settle keeps the answer, or lets another request have the key. While the store does not take that, the caller has the answer, and the store is
// asked again until the key may be taken by another request anyway.
func (k *keyed) settle(ctx context.Context, a *keptAnswer) {
	limited, done := k.server.limited(ctx, store.RefusesWrites, settleWithin)
	defer done()
	note := k.forget
	if a.status/100 == 2 {
		k.Status, k.Header = a.status, a.header
		if !a.cut {
			k.Body = a.body
		}
		note = k.store
	}
	if err := note(limited); err != nil && store.RefusedAs(err) == "" {
		go k.settleLater(ctx, note)
	}
}

// settleLater settles the key when the store takes writes again.
func (k *keyed) settleLater(ctx context.Context, note func(context.Context) error) {
	ctx, cancel := context.WithTimeout(ctx, performWithin)
	defer cancel()
	for {
		err := note(ctx)
		if err == nil || store.RefusedAs(err) != "" {
			return
		}
		select {
		case <-ctx.Done():
			k.server.log.Warn("the reply to a request was not kept; with the same Idempotency-Key it is carried out again", "error", err)
			return
		case <-time.After(time.Second):
		}
	}
}

func (k *keyed) forget(ctx context.Context) error {
	return k.server.control.Registry().Unregister(ctx, store.RegistryReplies, k.entry, k.version)
}

// replay answers with a reply that was kept.
func (k *keyed) replay(w http.ResponseWriter) {
	maps.Copy(w.Header(), k.Header)
	w.Header().Set("Idempotent-Replayed", "true")
	w.WriteHeader(k.Status)
	_, _ = w.Write(k.Body) // a caller that has gone asks again
}

// keptAnswer keeps an answer while it is written.
type keptAnswer struct {
	http.ResponseWriter
	status int
	header http.Header
	body   []byte
	cut    bool // it is too large to be kept
}

func (a *keptAnswer) WriteHeader(status int) {
	if a.status == 0 {
		a.status, a.header = status, http.Header{}
		for _, name := range []string{"Content-Type", "Location", "Etag", "Retry-After", "Preference-Applied"} {
			if v := a.ResponseWriter.Header().Values(name); len(v) > 0 {
				a.header[name] = v
			}
		}
	}
	a.ResponseWriter.WriteHeader(status)
}

func (a *keptAnswer) Write(p []byte) (int, error) {
	if a.status == 0 {
		a.WriteHeader(http.StatusOK)
	}
	if a.cut = a.cut || len(a.body)+len(p) > maxReply; !a.cut {
		a.body = append(a.body, p...)
	}
	n, err := a.ResponseWriter.Write(p)
	if err != nil { // the caller has gone; what follows is for the one who asks again
		return len(p), nil
	}
	return n, nil
}

// Unwrap returns the writer below, for http.ResponseController.
func (a *keptAnswer) Unwrap() http.ResponseWriter { return a.ResponseWriter }
