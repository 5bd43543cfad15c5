package doctor

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/swrun/swrun"
	"github.com/swrun/swrun/internal/terminal"
	"github.com/swrun/swrun/runtime/definition"
	"github.com/swrun/swrun/runtime/store"
)

// wrongClock is the difference between the clocks of a store and of this machine above which people must be warned.
const wrongClock = 30 * time.Second

// Ailments returns everything that keeps a store from being relied on. It is the only judge: doctor, /v1/health, /readyz, metrics and logs all report
// its result. It ends with ctx at the latest.
func Ailments(ctx context.Context, s *swrun.Store, now func() time.Time) []store.Ailment {
	all := s.Examine(ctx)
	if store.Refuses(all) == store.RefusesAll {
		return all
	}
	began := now()
	written, err := s.Written(ctx)
	if err != nil {
		return all // Examine reports the faults of the store, and SD006 the faults of a partition
	}
	half := now().Sub(began) / 2
	if a := wrongTimes(s, written, began.Add(half), half); a.Reason != "" {
		all = append(all, a)
	}
	return all
}

// wrongTimes reports the differences between the times of partitions and the time of this machine, if they are too large. Off is the tolerance of the
// measurement.
func wrongTimes(s *swrun.Store, written []store.Written, now time.Time, off time.Duration) (a store.Ailment) {
	var most time.Duration
	var wrong []int
	for p := range written {
		// The next poll corrects a partition whose time is not known.
		if skew := written[p].At.Sub(now).Abs(); !written[p].At.IsZero() && skew-off > wrongClock {
			most, wrong = max(most, skew), append(wrong, p)
		}
	}
	if len(wrong) == 0 {
		return a
	}
	a = store.Ailment{
		Reason: store.ClockDiffers, Minor: true, What: fmt.Sprintf("the store's clock differs from this machine's by %s", terminal.Elapsed(most)),
		Fix: fixOfClock(s, most),
	}
	if len(wrong) < len(written) {
		a.What = fmt.Sprintf("the time of the store differs from this machine's by up to %s in %s, the first of which is partition %d",
			terminal.Elapsed(most), terminal.Counted(int64(len(wrong)), "partition"), wrong[0])
	}
	return a
}

// fixOfClock returns the remedy for a store whose time differs from the time of this machine.
func fixOfClock(s *swrun.Store, by time.Duration) string {
	if s.Local() {
		return "deadlines and schedules follow the store's time, which is the time of this machine and never goes back. Correct this machine's clock if it is wrong. " +
			"Otherwise the clock was ahead before, or the file was changed. Restore a backup of the file, or copy its runs to a new file with swrun export and swrun import"
	}
	fix := "deadlines and schedules follow the store's clock; synchronize both with NTP"
	if by > goesOn {
		fix += ". If the clocks agree, the server's clock was ahead before, and the store's time continues from there. docs/operating.md (A store that is ahead) describes how to set it back"
	}
	return fix
}

// goesOn is the difference from which the remedy names an earlier clock as a possible cause: no running clock is off by so much.
const goesOn = time.Hour

// Verdict is the result of Ailments at a time.
type Verdict struct {
	Ailments []store.Ailment
	At       time.Time
	// Since is the time at which the store began its current refusals; zero if it refuses nothing.
	Since time.Time
}

// Refuses returns the kind of requests that the store refuses.
func (v Verdict) Refuses() store.Refusing { return store.Refuses(v.Ailments) }

// RefusedSince reports whether the store has refused the needed kind of requests for some time, by a verdict that is not older than a time.
func (v Verdict) RefusedSince(needs store.Refusing, oldest time.Time, lasting time.Duration) bool {
	return v.Refuses() >= needs && !v.At.Before(oldest) && !v.Since.IsZero() && v.At.Sub(v.Since) >= lasting
}

// Ill returns the ailment that keeps the store from being relied on. A store that takes no new runs, but continues the others, is not ill: it needs
// the requests that end these.
func (v Verdict) Ill() (worst store.Ailment, ill bool) {
	for _, a := range v.Ailments {
		if !a.Minor && a.Refuses != store.RefusesStarts && (!ill || a.Refuses > worst.Refuses) {
			worst, ill = a, true
		}
	}
	return worst, ill
}

// Err returns an *IllError if the store is ill.
func (v Verdict) Err() error {
	if worst, ill := v.Ill(); ill {
		return &IllError{worst}
	}
	return nil
}

// IllError contains the reason why a store cannot be relied on.
type IllError struct{ store.Ailment }

func (e *IllError) Error() string { return e.What }

// Monitor caches the verdict on a store, so that many callers cost the store no more than one. Several goroutines may use it.
type Monitor struct {
	store *swrun.Store
	now   func() time.Time

	mu        sync.Mutex
	last      Verdict
	examining chan struct{} // closed when the examination in progress ends; nil for none
}

const (
	// freshFor is the time for which a verdict counts.
	freshFor = time.Second
	// examineWithin is the time limit of an examination, after which the store counts as silent.
	examineWithin = 5 * time.Second
	// watchEvery is the interval of the examinations for the log.
	watchEvery = 2 * time.Second
)

// NewMonitor returns the monitor of a store.
func NewMonitor(s *swrun.Store, now func() time.Time) *Monitor { return &Monitor{store: s, now: now} }

// Verdict returns a verdict that is no older than a second. If ctx ends before there is one, the store counts as silent.
func (m *Monitor) Verdict(ctx context.Context) Verdict {
	m.mu.Lock()
	if m.examining == nil && (m.last.At.IsZero() || m.now().Sub(m.last.At) >= freshFor) {
		m.examining = make(chan struct{})
		go m.examine(context.WithoutCancel(ctx))
	}
	last, examining := m.last, m.examining
	m.mu.Unlock()
	if examining == nil {
		return last
	}
	select {
	case <-examining:
		return m.Last()
	case <-ctx.Done():
		return Verdict{At: m.now(), Ailments: []store.Ailment{{
			Reason: store.Silent, Refuses: store.RefusesAll, What: "the store does not answer in time", Fix: "check whether the store is stopped, overloaded, or cut off by the network",
		}}}
	}
}

// Last returns the last verdict of any age.
func (m *Monitor) Last() Verdict {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.last
}

// Because returns the ailment of the store: from its last examination, or else from an error of one of its operations, which may be newer.
func (m *Monitor) Because(err error) (worst store.Ailment, ill bool) {
	if worst, ill = m.Last().Ill(); ill {
		return worst, true
	}
	if d, ok := m.store.Store.(store.Diagnoser); ok {
		return d.Diagnose(err)
	}
	return worst, false
}

// Damage returns the damaged part of the store, if it caused the error of an operation: then another attempt does not help. It does not report a
// store that is damaged as a whole, which may return when its file is restored.
func (m *Monitor) Damage(err error) (store.Ailment, bool) {
	if d, ok := m.store.Store.(store.Diagnoser); ok {
		if a, known := d.Diagnose(err); known {
			return a, a.Partial
		}
	}
	worst, _ := m.Last().Ill()
	return worst, worst.Partial
}

func (m *Monitor) examine(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, examineWithin)
	defer cancel()
	v := Verdict{Ailments: Ailments(ctx, m.store, m.now)}
	m.mu.Lock()
	defer m.mu.Unlock()
	v.At = m.now()
	switch refuses := v.Refuses(); {
	case refuses == store.RefusesNothing:
	case refuses == m.last.Refuses() && !m.last.Since.IsZero():
		v.Since = m.last.Since
	default:
		v.Since = v.At
	}
	m.last = v
	close(m.examining)
	m.examining = nil
}

// Watch logs when the store becomes ill, and when it recovers, until ctx ends.
func (m *Monitor) Watch(ctx context.Context, log *slog.Logger) {
	tick := time.NewTicker(watchEvery)
	defer tick.Stop()
	var told store.Reason
	var since time.Time
	var parts damagedParts
	differs := false
	for {
		v := m.Verdict(ctx)
		parts.log(v.Ailments, log)
		differs = logClock(v, differs, log)
		worst, ill := v.Ill()
		switch {
		case ctx.Err() != nil:
			return
		case ill && worst.Reason != told:
			log.Error("the store is not well", "reason", worst.Reason, "error", worst.What, "fix", worst.Fix)
			if told == "" {
				since = m.now()
			}
			told = worst.Reason
		case !ill && told != "":
			log.Info("the store is well again", "after", m.now().Sub(since).Round(time.Millisecond).String())
			told = ""
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// logClock logs the first difference of the store's clock, and its end. It returns whether the clock differs now.
func logClock(v Verdict, told bool, log *slog.Logger) (differs bool) {
	for _, a := range v.Ailments {
		if differs = a.Reason == store.ClockDiffers; differs {
			if !told {
				log.Warn("the store's time differs from the time of this machine", "error", a.What, "fix", a.Fix)
			}
			return true
		}
	}
	if told && v.Refuses() < store.RefusesAll { // otherwise the time is not known
		log.Info("the store's time agrees with the time of this machine again")
		return false
	}
	return told
}

// damagedParts are the damaged parts of a store that the log contains.
type damagedParts map[string]bool

// log logs each part once, and again if it is damaged again later.
func (d *damagedParts) log(all []store.Ailment, log *slog.Logger) {
	told := damagedParts{}
	for _, a := range all {
		if a.Partial {
			if told[a.What] = true; !(*d)[a.What] {
				log.Error("a part of the store is damaged", "reason", a.Reason, "error", a.What, "fix", a.Fix)
			}
		}
	}
	if len(told) == 0 && len(*d) > 0 {
		log.Info("no part of the store is damaged any more")
	}
	*d = told
}

// codeOf returns the check to which an ailment belongs.
func codeOf(r store.Reason) string {
	switch r {
	case store.Evicting, store.NotDurable:
		return "SD002"
	case store.MemoryFull:
		return "SD003"
	case store.ClockDiffers:
		return "SD004"
	}
	return "SD001"
}

// ailing returns ailments as findings, as a caller may know them.
func ailing(granted definition.Granted, all []store.Ailment) (found []Finding) {
	for _, a := range all {
		a = granted.Ailment(a)
		level, code := Error, codeOf(a.Reason)
		switch {
		case a.Partial:
			code = "SD019"
		case a.Minor:
			level = Warning
		}
		found = append(found, Finding{code, level, a.What, a.Fix})
	}
	return slices.Compact(found) // without details, several are alike
}
