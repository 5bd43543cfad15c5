package schedule

import (
	"time"

	"github.com/swrun/swrun/dsl"
	"github.com/swrun/swrun/internal/cron"
)

// times are the times of a timer.
type times interface {
	// next returns the first time after a time; zero without one.
	next(after time.Time) time.Time
}

// intervals are times at a fixed rate: base + every, base + 2 × every, and so on.
type intervals struct {
	base  time.Time
	every dsl.Duration
}

// at returns the nth one. Months are counted from the base: a month after January 31 is the end of February, and two months after it March 31.
// A time.Duration holds no more than 292 years, so that seconds are counted apart from their fractions.
func (i intervals) at(n int) time.Time {
	at := dsl.Duration{Years: n * i.every.Years, Months: n * i.every.Months}.AddTo(i.base)
	seconds, rest := int(i.every.Exact/time.Second), int(i.every.Exact%time.Second)
	const second = int(time.Second)
	return time.Unix(at.Unix()+int64(n*seconds+n/second*rest), int64(at.Nanosecond()+n%second*rest)).In(at.Location())
}

func (i intervals) next(after time.Time) time.Time {
	one := i.at(1).Sub(i.base)
	if one <= 0 {
		return time.Time{}
	}
	// Months are not of one length: it is near.
	n := max(1, int(float64(after.Unix()-i.base.Unix())/one.Seconds()))
	for n > 1 && i.at(n-1).After(after) {
		n--
	}
	for !i.at(n).After(after) {
		n++
	}
	return i.at(n)
}

// calendar is the times of a cron expression.
type calendar struct{ expression cron.Expression }

func (c calendar) next(after time.Time) time.Time { return c.expression.Next(after) }

// maxCounted is how many times that have passed are counted one by one.
const maxCounted = 10_000

// passed returns the last times up to now, at most keep of them, and the number of earlier ones. Of very many, the number is a lower bound.
func passed(t times, first, now time.Time, keep int) (last []time.Time, more int) {
	at := first
	for n := 0; !at.IsZero() && !at.After(now); n++ {
		if n == maxCounted {
			if late := shortlyBefore(t, now, keep); len(late) > 0 && late[0].After(at) {
				last, at = nil, late[0]
				more = n
			}
		}
		if last = append(last, at); len(last) > keep {
			last, more = last[1:], more+1
		}
		at = t.next(at)
	}
	return last, more
}

// shortlyBefore returns times up to now, at least keep of them if that number exists within a century, without computing all earlier ones.
func shortlyBefore(t times, now time.Time, keep int) []time.Time {
	for span := time.Minute; ; span *= 4 {
		var found []time.Time
		for at := t.next(now.Add(-span)); !at.IsZero() && !at.After(now) && len(found) <= maxCounted; at = t.next(at) {
			found = append(found, at)
		}
		if len(found) >= keep || span > 100*365*24*time.Hour {
			return found
		}
	}
}
