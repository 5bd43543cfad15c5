package server

import (
	"bytes"
	"cmp"
	"context"
	"io"
	"net/http"
	"strings"
	"sync"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"
	"golang.org/x/sync/semaphore"

	"github.com/swrun/swrun/internal/jsonvalue"
)

// This file limits the memory that the bodies and the answers of all requests take together.

const (
	// DefaultMemory is the default memory of all requests, in bytes.
	DefaultMemory = 1 << 30
	// smallBody is the maximum size of a body that reserves nothing, in bytes. The number of such bodies is limited by the limit of requests in
	// progress.
	smallBody = 32 << 10
	// ofText is the memory that each byte of a body takes, in bytes: its text, and the text for the store.
	ofText = 4
	// ofValues is the number of copies of a body's values at a time: the checked values, the values for the operation, and garbage.
	ofValues = 3
	// maxValues is the maximum memory of the values of all bodies, in bytes.
	maxValues = 128 << 20
	// largeAnswer is the memory that is reserved for an answer until it is written, in bytes. The size of an answer is not known before.
	largeAnswer = 80 << 20
)

// memory is the memory of requests. A request that waits for values holds a text. A request that waits for an answer may hold values. A request that
// holds an answer waits for nothing.
type memory struct{ texts, values, answers *part }

// part is a part of the memory. A caller may hold half of it, so that the other half is left for other callers.
type part struct {
	size int64
	left *semaphore.Weighted
	mu   sync.Mutex
	of   map[string]*shareOf
}

// shareOf is the share of a caller, and the number of requests that use it.
type shareOf struct {
	left *semaphore.Weighted
	uses int
}

func newMemory(size int64) *memory {
	values := min(size/4, maxValues)
	return &memory{texts: newPart(size/2 - values), values: newPart(values), answers: newPart(size / 2)}
}

func newPart(size int64) *part {
	return &part{size: size, left: semaphore.NewWeighted(size), of: map[string]*shareOf{}}
}

// reserve waits until there is room for the bytes of a caller. A reservation above the share of a caller takes the whole share.
func (p *part) reserve(ctx context.Context, caller string, bytes int64) (*held, error) {
	h := &held{part: p, caller: caller, bytes: min(bytes, p.size/2), share: p.enter(caller)}
	if err := h.share.left.Acquire(ctx, h.bytes); err != nil {
		p.exit(caller)
		return nil, err
	}
	if err := p.left.Acquire(ctx, h.bytes); err != nil {
		h.share.left.Release(h.bytes)
		p.exit(caller)
		return nil, err
	}
	return h, nil
}

// try reserves bytes for a caller if there is room for them immediately, and returns nil otherwise.
func (p *part) try(caller string, bytes int64) *held {
	h := &held{part: p, caller: caller, share: p.enter(caller)}
	if !h.grow(bytes) {
		p.exit(caller)
		return nil
	}
	return h
}

func (p *part) enter(caller string) *shareOf {
	p.mu.Lock()
	defer p.mu.Unlock()
	s, ok := p.of[caller]
	if !ok {
		s = &shareOf{left: semaphore.NewWeighted(p.size / 2)}
		p.of[caller] = s
	}
	s.uses++
	return s
}

func (p *part) exit(caller string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if s := p.of[caller]; s != nil {
		if s.uses--; s.uses == 0 {
			delete(p.of, caller)
		}
	}
}

// held is the memory that a request holds in a part. Nil holds nothing.
type held struct {
	part   *part
	caller string
	share  *shareOf
	mu     sync.Mutex
	bytes  int64
	over   bool
}

// grow extends the reservation to the given number of bytes if there is room immediately, and reports whether there was.
func (h *held) grow(bytes int64) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	more := min(bytes, h.part.size/2) - h.bytes
	switch {
	case more <= 0:
		return true
	case !h.share.left.TryAcquire(more):
		return false
	case !h.part.left.TryAcquire(more):
		h.share.left.Release(more)
		return false
	}
	h.bytes += more
	return true
}

// keep releases the reservation except for the given number of bytes.
func (h *held) keep(bytes int64) {
	if h == nil {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if more := h.bytes - bytes; more > 0 {
		h.part.left.Release(more)
		h.share.left.Release(more)
		h.bytes = bytes
	}
}

// end releases the whole reservation, once.
func (h *held) end() {
	if h == nil {
		return
	}
	h.keep(0)
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.over {
		h.over = true
		h.part.exit(h.caller)
	}
}

// reserve waits for memory, at most for the time limit of an operation that only reads.
func (s *Server) reserve(ctx context.Context, p *part, bytes int64) (*held, error) {
	within, cancel := context.WithTimeout(ctx, s.readWithin())
	defer cancel()
	h, err := p.reserve(within, callerOf(ctx).Name, bytes)
	switch {
	case err == nil:
		return h, nil
	case ctx.Err() != nil:
		return nil, ctx.Err()
	}
	return nil, noMemory(p)
}

// bodied reads a large body. It reserves the memory of the values before they are decoded.
func (s *Server) bodied(ctx huma.Context, next func(huma.Context)) {
	r, _ := humago.Unwrap(ctx)
	length := r.ContentLength
	if length < 0 {
		length = ctx.Operation().MaxBodyBytes
	}
	if length <= smallBody {
		next(ctx)
		return
	}
	x := exchangeOf(r.Context())
	defer x.releaseBody()
	if err := s.readBody(ctx, r, min(length, ctx.Operation().MaxBodyBytes)); err != nil {
		exchangeOf(ctx.Context()).writeProblem(s.problem(ctx.Context(), err))
		return
	}
	next(ctx)
}

// readBody reads the body of a request of at most length bytes, and lets the routes read it again.
func (s *Server) readBody(ctx huma.Context, r *http.Request, length int64) (err error) {
	x := exchangeOf(r.Context())
	if x.text, err = s.reserve(ctx.Context(), s.memory.texts, ofText*length); err != nil {
		return err
	}
	body, err := readWhole(r, ctx.Operation().MaxBodyBytes)
	if err != nil {
		return err
	}
	x.text.keep(ofText * int64(len(body)))
	r.Body = io.NopCloser(bytes.NewReader(body))
	size := ofText * len(body)
	if strings.Contains(r.Header.Get("Content-Type"), "json") {
		size = ofValues * jsonvalue.Size(body)
	}
	x.values, err = s.reserve(ctx.Context(), s.memory.values, int64(size))
	return err
}

// releaseBody releases the memory of the request's body, which is no longer needed.
func (x *exchange) releaseBody() {
	x.values.end()
	x.text.end()
}

// large is in the metadata of operations whose answers may be large.
const large = "large"

// answeredLarge reserves memory for a large answer before the answer is built. A request that waits reserves nothing during its wait.
func (s *Server) answeredLarge(ctx huma.Context, next func(huma.Context)) {
	_, may := ctx.Operation().Metadata[large]
	r, _ := humago.Unwrap(ctx)
	if !may || mayWait(ctx) {
		next(ctx)
		return
	}
	h, err := s.reserve(ctx.Context(), s.memory.answers, largeAnswer)
	if err != nil {
		exchangeOf(ctx.Context()).writeProblem(s.problem(ctx.Context(), err))
		return
	}
	x := exchangeOf(r.Context())
	x.answer = h
	defer h.end()
	next(ctx)
}

// memory returns the maximum memory of all requests, in bytes.
func (c *Config) memory() int64 { return cmp.Or(c.Memory, DefaultMemory) }
