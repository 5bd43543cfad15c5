package server

import (
	"fmt"
	"math"
	"net"
	"net/http"
	"strconv"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"github.com/swrun/swrun/internal/api"
)

// The defaults of the limits in Config.
const (
	DefaultRequests = 4096   // at a time
	DefaultRate     = 10_000 // requests a second of one caller
)

// maxRefusals is the maximum rate of refused tokens from one address, in tokens a second, after a burst of maxRefusalsAtOnce.
const (
	maxRefusalsAtOnce = 30
	maxRefusals       = 1
)

// rates limits the rate of each of many callers.
type rates struct {
	name   string // name of the limit, in problems
	every  rate.Limit
	burst  int
	now    func() time.Time
	mu     sync.Mutex
	bucket map[string]*rate.Limiter
}

// maxBuckets is the maximum number of callers that are distinguished at a time. The least recent ones are forgotten first.
const maxBuckets = 10_000

func newRates(name string, perSecond, burst int, now func() time.Time) *rates {
	return &rates{name: name, every: rate.Limit(perSecond), burst: burst, now: now, bucket: map[string]*rate.Limiter{}}
}

func (r *rates) of(who string) *rate.Limiter {
	r.mu.Lock()
	defer r.mu.Unlock()
	if b, ok := r.bucket[who]; ok {
		return b
	}
	if len(r.bucket) >= maxBuckets {
		r.forget()
	}
	b := rate.NewLimiter(r.every, r.burst)
	r.bucket[who] = b
	return b
}

// forget makes room. A caller with a full bucket loses nothing.
func (r *rates) forget() {
	now := r.now()
	for who, b := range r.bucket {
		if b.TokensAt(now) >= float64(r.burst) {
			delete(r.bucket, who)
		}
	}
	for who := range r.bucket { // all of them are busy: some start with a full bucket
		if len(r.bucket) < maxBuckets {
			return
		}
		delete(r.bucket, who)
	}
}

// take counts a request of a caller, or refuses it.
func (r *rates) take(who string) error {
	now, b := r.now(), r.of(who)
	if b.AllowN(now, 1) {
		return nil
	}
	return r.refusal(b, now)
}

func (r *rates) refusal(b *rate.Limiter, now time.Time) error {
	wait := time.Duration((1 - b.TokensAt(now)) / float64(r.every) * float64(time.Second))
	return tooMany(r.name, r.burst, wait, fmt.Sprintf("at most %d a second", int(r.every)))
}

// tooMany is the problem of a request that exceeds a limit of time.
func tooMany(name string, most int, wait time.Duration, detail string) *api.Problem {
	p := newProblem(http.StatusTooManyRequests, "too-many-requests", "Too many requests", detail)
	p.Limit = &api.LimitExceeded{Name: name, Max: most}
	p.RetryAfter = max(1, int(math.Ceil(wait.Seconds())))
	return p
}

// retryAfter sets the header Retry-After.
func retryAfter(h http.Header, p *api.Problem) {
	if p.RetryAfter > 0 {
		h.Set("Retry-After", strconv.Itoa(p.RetryAfter))
	}
}

// remoteAddress returns the address of a request's sender, without the port. It ignores the headers of proxies.
func remoteAddress(r *http.Request) string {
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		return r.RemoteAddr
	}
	return host
}
