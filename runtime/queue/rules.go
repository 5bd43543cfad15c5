// Package queue contains the operator's decisions about task queues, and their storage: how many effects of a queue are performed at a time
// and within an interval, and whether it is paused. Workers and servers ask it before an effect of a queue begins.
package queue

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/swrun/swrun/internal/duration"
	"github.com/swrun/swrun/runtime/store"
)

// Rules are the decisions about a queue; the zero value means no rules.
type Rules struct {
	Concurrency int           `json:"concurrency,omitempty"` // maximum number at a time; 0 for unlimited
	Rate        int           `json:"rate,omitempty"`        // maximum number of beginnings within Per; 0 for unlimited
	Per         time.Duration `json:"per,omitempty"`
	Paused      *Decision     `json:"paused,omitempty"` // nothing begins; nil if it is not paused
	Changed     Decision      `json:"changed,omitzero"` // the last one
}

// Decision records the actor, the time and the reason of a decision.
type Decision struct {
	At     time.Time `json:"at"`
	Actor  string    `json:"actor,omitempty"`
	Reason string    `json:"reason,omitempty"`
}

// By describes the actor and the reason, as the end of a sentence; empty if unknown.
func (d *Decision) By() (text string) {
	if d.Actor != "" {
		text = " by " + d.Actor
	}
	if d.Reason != "" {
		text += fmt.Sprintf(" (%s)", d.Reason)
	}
	return text
}

// Limited reports whether there is a limit.
func (r *Rules) Limited() bool { return r.Concurrency > 0 || r.Rate > 0 }

// Limit returns the limit as stores keep to it.
func (r *Rules) Limit() store.QueueLimit {
	return store.QueueLimit{Concurrency: r.Concurrency, Rate: r.Rate, Per: r.Per}
}

// String describes the limit: at most 2 at a time and 10 in 1m.
func (r *Rules) String() string {
	var all []string
	if r.Concurrency > 0 {
		all = append(all, fmt.Sprintf("%d at a time", r.Concurrency))
	}
	if r.Rate > 0 {
		all = append(all, r.RateText())
	}
	if len(all) == 0 {
		return "any number"
	}
	return "at most " + strings.Join(all, " and ")
}

// RateText is the rate as people write it: 10/1m; empty without one.
func (r *Rules) RateText() string {
	if r.Rate == 0 {
		return ""
	}
	return fmt.Sprintf("%d/%s", r.Rate, duration.Format(r.Per))
}

// The largest limits: each counted item must be stored.
const (
	MaxConcurrency = 10_000
	MaxRate        = 10_000
)

// Error is a decision that cannot be.
type Error struct {
	Field  string // queue, concurrency, rate or reason
	Detail string
}

func (e *Error) Error() string { return e.Field + " " + e.Detail }

// SetConcurrency changes the maximum number at a time: to a positive number, or to unlimited with the text none.
func (r *Rules) SetConcurrency(text string) error {
	if text == none {
		r.Concurrency = 0
		return nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 || n > MaxConcurrency {
		return &Error{"concurrency", fmt.Sprintf("must be a number from 1 to %d, or none, got %q", MaxConcurrency, text)}
	}
	r.Concurrency = n
	return nil
}

// none takes a limit away.
const none = "none"

// SetRate changes the maximum number of beginnings in an interval: to a number and a span, such as 10/1m or 5/s, or to unlimited with the
// text none.
func (r *Rules) SetRate(text string) error {
	if text == none {
		r.Rate, r.Per = 0, 0
		return nil
	}
	count, span, ok := strings.Cut(text, "/")
	n, err := strconv.Atoi(count)
	if !ok || err != nil || n < 1 || n > MaxRate {
		return &Error{"rate", fmt.Sprintf("must be a number from 1 to %d and a time, such as 10/1m, or none, got %q", MaxRate, text)}
	}
	if span != "" && strings.Trim(span, "smhd") == "" { // a unit alone is one of it
		span = "1" + span
	}
	per, err := duration.Parse(span)
	switch {
	case err != nil:
		return &Error{"rate", fmt.Sprintf("must be a number and a time, such as 10/1m: %s", err)}
	case per < time.Second || per > store.MaxRateSpan:
		return &Error{"rate", fmt.Sprintf("must be for a time from 1s to %s, got %s", duration.Format(store.MaxRateSpan), duration.Format(per))}
	}
	r.Rate, r.Per = n, per
	return nil
}

// Pause has nothing begin any more. A queue that is paused stays so since then.
func (r *Rules) Pause(d Decision) {
	if r.Paused == nil {
		r.Paused = &d
	}
}

// Resume ends a pause.
func (r *Rules) Resume() { r.Paused = nil }
