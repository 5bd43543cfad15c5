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

// This file bounds how much memory the bodies and the answers of all requests take together.

const (
	// DefaultMemory is how many bytes all requests may hold unless Config says something else.
	DefaultMemory = 1 << 30
	// smallBody is how large a body may be that reserves nothing: so many requests are in progress at most.
	smallBody = 32 << 10
	// ofText is how many bytes each byte of a body takes: its text, and what is written of it for the store.
	ofText = 4
	// ofValues is how often the values of a body are there at a time: those that are checked, those that are given to the operation, and garbage.
	ofValues = 3
	// maxValues is how many bytes the values of all bodies take together.
	maxValues = 128 << 20
	// largeAnswer is how many bytes an answer may take until it is written. Nobody knows before how large it becomes.
	largeAnswer = 80 << 20
)

// memory is what requests hold. Who waits for values holds a text; who waits for an answer may hold values; who holds an answer waits for nothing.
type memory struct{ texts, values, answers *part }

// part is a part of the memory. A caller may hold half of it, so that others always have some.
type part struct {
	size int64
	left *semaphore.Weighted
	mu   sync.Mutex
	of   map[string]*shareOf
}

// shareOf is the share of a caller, and how many requests use it.
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

// reserve waits until there is room for so many bytes of a caller. What is more than a caller may hold has all that they may hold.
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

// try reserves so many bytes of a caller if there is room for them at once, and returns nil otherwise.
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

// held is what a request holds of a part. Nil holds nothing.
type held struct {
	part   *part
	caller string
	share  *shareOf
	mu     sync.Mutex
	bytes  int64
	over   bool
}

// grow reserves so many bytes altogether if there is room for them at once, and reports whether there was.
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

// keep gives back all but so many bytes.
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

// end gives back everything, once.
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

// reserve waits for memory, but no longer than an operation may take that only reads.
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

// bodied reads a large body and makes sure, before anything is made of it, that there is memory for that.
func (s *Server) bodied(ctx huma.Context, next func(huma.Context)) {
	r, w := humago.Unwrap(ctx)
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
		writeProblem(w, s.problem(ctx.Context(), err))
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

// releaseBody gives back what the body of the request has taken: it is no longer needed.
func (x *exchange) releaseBody() {
	x.values.end()
	x.text.end()
}

// large is in the metadata of operations whose answers may be large.
const large = "large"

// answeredLarge makes sure that there is memory for a large answer before it comes into being. A request that waits reserves nothing meanwhile.
func (s *Server) answeredLarge(ctx huma.Context, next func(huma.Context)) {
	_, may := ctx.Operation().Metadata[large]
	r, w := humago.Unwrap(ctx)
	if !may || mayWait(ctx) {
		next(ctx)
		return
	}
	h, err := s.reserve(ctx.Context(), s.memory.answers, largeAnswer)
	if err != nil {
		writeProblem(w, s.problem(ctx.Context(), err))
		return
	}
	x := exchangeOf(r.Context())
	x.answer = h
	defer h.end()
	next(ctx)
}

// memory returns how many bytes all requests may hold.
func (c *Config) memory() int64 { return cmp.Or(c.Memory, DefaultMemory) }
