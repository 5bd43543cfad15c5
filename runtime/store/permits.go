package store

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"
)

// Permits enforce the limits of task queues across all processes. A process that performs an effect of a limited queue holds a permit for
// it during that time. Changes of permits do not count as work for polling workers.
type Permits interface {
	// Permit gives permits of a queue back, and then hands out others as far as the limit of the queue allows. Holders that have one keep it.
	Permit(context.Context, Permit) (Permitted, error)
	// Holders returns who holds permits of a queue, in order.
	Holders(ctx context.Context, queue string) ([]string, error)
}

// Permit is about the permits of one queue. Holders are texts without control characters; each is of one attempt to perform something.
type Permit struct {
	Queue    string
	Limit    QueueLimit
	Released []string // holders that need theirs no more
	Returned []string // the same, for work that has not started; the permit does not count for the rate
	Wanted   []string // holders that want one, or want to keep theirs
	// For is how long the permits of Wanted are held unless they are extended; 0 until they are given back.
	For time.Duration
}

// QueueLimit limits a queue: the number of effects performed at the same time, and the number of effects that start within a time span. 0
// means unlimited.
type QueueLimit struct {
	Concurrency int
	Rate        int
	Per         time.Duration
}

// Permitted is the answer to Permit.
type Permitted struct {
	Holding []string  // the part of Wanted that holds a permit now
	Held    int       // permits of the queue
	Next    time.Time // when the rate next allows a permit, if the rate is the obstacle now; otherwise zero
	At      time.Time
}

// maxPermits is how many holders one call may name of each sort.
const maxPermits = 1000

// MaxRateSpan is the longest span of a rate.
const MaxRateSpan = 24 * time.Hour

// Span returns how long starts are remembered.
func (l QueueLimit) Span() time.Duration {
	if l.Rate == 0 { // it may have had a rate, and get it again
		return MaxRateSpan
	}
	return l.Per
}

// Check reports why a call cannot be made so.
func (c *Permit) Check() error {
	names := slices.Concat(c.Released, c.Returned, c.Wanted)
	switch {
	case c.Queue == "" || strings.ContainsAny(c.Queue, " /{}"):
		return &Refusal{Code: Invalid, Detail: fmt.Sprintf("permits of the queue %q", c.Queue)}
	case len(names) > 3*maxPermits:
		return &Refusal{Code: Limit, Detail: fmt.Sprintf("%d permits at the same time", len(names))}
	case slices.Contains(names, ""):
		return &Refusal{Code: Invalid, Detail: "a permit without a holder"}
	case c.Limit.Concurrency < 0 || c.Limit.Rate < 0 || c.For < 0 || c.Limit.Rate > 0 && (c.Limit.Per < time.Millisecond || c.Limit.Per > MaxRateSpan):
		return &Refusal{Code: Invalid, Detail: fmt.Sprintf("the limit %+v", c.Limit)}
	}
	return nil
}

// PermitPartition returns in which of n partitions the permits of a queue are kept.
func PermitPartition(queue string, n int) int {
	return Instance{Namespace: "permits", ID: queue}.Partition(n)
}
