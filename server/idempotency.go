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

// A caller that got no answer sends its request again with the same key. The request is carried out once, and answered twice.

const (
	// replyFor is the time for which a reply is kept.
	replyFor = 24 * time.Hour
	// performWithin is the maximum time of a request with a key. Afterwards another request with the key may take its place.
	performWithin = 2 * time.Minute
	// maxReply is the maximum size of the kept body of a reply, in bytes.
	maxReply = 64 << 10
	// maxKey is the maximum length of a key.
	maxKey = 255
	// keyHeader is the header of a key.
	keyHeader = "Idempotency-Key"
)

// reply is the entry of the registry under a key: the request, and its answer when it is known.
type reply struct {
	Request []byte      `json:"request"` // hash of the request
	RunID   string      `json:"runId"`   // of a run that the request starts, if the request names none
	Since   time.Time   `json:"since"`   // the start of its execution
	Status  int         `json:"status,omitempty"`
	Header  http.Header `json:"header,omitempty"`
	Body    []byte      `json:"body,omitempty"`
}

// keyed is a request with a key, in progress.
type keyed struct {
	server *Server
	entry  string // in the registry
	reply
	version int64
}

type keyedKey struct{}

// runIDOf returns the id of the run that a request with a key starts. All requests with the key get the same id. It is empty for a request without a
// key.
func runIDOf(ctx context.Context) string {
	k, _ := ctx.Value(keyedKey{}).(*keyed)
	if k == nil {
		return ""
	}
	return k.RunID
}

// idempotent answers a request with the earlier reply of its Idempotency-Key, or keeps its reply for later requests.
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
		exchangeOf(r.Context()).writeProblem(s.problem(r.Context(), err))
	case k.Status != 0:
		k.replay(w)
	default:
		k.perform(ctx, r, body, next)
	}
}

// toldOnce is in the metadata of operations whose answers contain a secret.
const toldOnce = "toldOnce"

// idempotencyKey returns the key of a request; empty if the request has no key.
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

// readWhole reads the body of a request, which must have fewer than most bytes.
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

// replyOwner returns the owner of the reply under a key. A new token with the name of an earlier token gets none of the earlier token's replies.
func replyOwner(c Caller, key string) []string {
	if c.Since == "" {
		return []string{c.Name, key}
	}
	return []string{c.Name, key, c.Since}
}

// enterKeyed returns the reply under a key, or notes that the request is in progress. Each caller has its own keys.
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
	case k.Status == 0: // the server that carried it out is gone
		k.Since = s.config.Now().UTC()
		return k, k.store(r.Context())
	}
	return k, nil
}

// inProgress is the problem of a request whose key belongs to a request in progress.
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

// store keeps the current reply. If another request with the key was faster, the reply of that request counts.
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

// perform carries out the request, even if its caller disconnects: the caller can then ask for the reply again. A request that changed nothing is
// forgotten, so that the same request may succeed later.
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

// settleWithin is the maximum time for keeping a reply in the registry.
const settleWithin = 10 * time.Second

// settle keeps the answer, or releases the key for another request. If the store does not accept the write, the caller has its answer already, and
// the server repeats the write until another request may take the key anyway.
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

// settleLater settles the key when the store accepts writes again.
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

// replay answers with a kept reply.
func (k *keyed) replay(w http.ResponseWriter) {
	maps.Copy(w.Header(), k.Header)
	w.Header().Set("Idempotent-Replayed", "true")
	w.WriteHeader(k.Status)
	_, _ = w.Write(k.Body) // a disconnected caller asks again
}

// keptAnswer keeps a copy of an answer that it writes.
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
	if err != nil { // the caller has disconnected; the rest is kept for its next request
		return len(p), nil
	}
	return n, nil
}

// Unwrap returns the writer below, for http.ResponseController.
func (a *keptAnswer) Unwrap() http.ResponseWriter { return a.ResponseWriter }
