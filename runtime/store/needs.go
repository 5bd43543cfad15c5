package store

import (
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/swrun/swrun/interpreter"
)

// Need is what a worker must have to perform something: all of its parts, for example a task queue that it takes, and the permission to run
// processes. Stores compare needs, and do not look into them.
type Need string

// needPart separates the parts of a need, and needOther the needs of a run.
const needPart, needOther = "+", ","

// NewNeed returns the need of some parts, in any order; without any, it is empty.
func NewNeed(parts ...string) Need {
	var all []string
	for _, part := range parts {
		all = append(all, strings.NewReplacer("%3A", ":", "+", "%20").Replace(url.QueryEscape(part)))
	}
	slices.Sort(all)
	return Need(strings.Join(slices.Compact(all), needPart))
}

// Parts returns what the need was made of.
func (n Need) Parts() (all []string) {
	if n == "" {
		return nil
	}
	for part := range strings.SplitSeq(string(n), needPart) {
		text, err := url.QueryUnescape(part)
		if err != nil { // nobody has written it so
			text = part
		}
		all = append(all, text)
	}
	return all
}

// Needs are what different works of a run need, each of which somebody may do who has what it needs.
type Needs string

// NewNeeds returns the needs of a run; empty needs are none.
func NewNeeds(all []Need) Needs {
	var texts []string
	for _, n := range all {
		if n != "" {
			texts = append(texts, string(n))
		}
	}
	slices.Sort(texts)
	return Needs(strings.Join(slices.Compact(texts), needOther))
}

// All returns each of them.
func (n Needs) All() (all []Need) {
	if n == "" {
		return nil
	}
	for text := range strings.SplitSeq(string(n), needOther) {
		all = append(all, Need(text))
	}
	return all
}

// Needed returns the needs for which the run waits, so that only a worker that has one of them may claim it before its time comes. Nobody
// holds such a run, and it is not ready.
func (r *Lifecycle) Needed() []Need {
	if r.Needs == "" || r.Held() || !r.Ready.IsZero() || r.Status.Final() || r.Reason == Quarantined {
		return nil
	}
	return r.Needs.All()
}

// waitsFor reports whether the run waits for one of some needs.
func (r *Lifecycle) waitsFor(some []Need) bool {
	return len(some) > 0 && slices.ContainsFunc(r.Needed(), func(n Need) bool { return slices.Contains(some, n) })
}

// NeedEntries are the entries of a run in the index of what is needed: in the order of the entries, each need is together, and the longest
// waiting run first.
func (r *Lifecycle) NeedEntries(i Instance) (all []string) {
	for _, n := range r.Needed() {
		all = append(all, fmt.Sprintf("%s %013d %s", n, Millis(r.NeededSince), i))
	}
	return all
}

// ParseNeedEntry reads an entry of the index.
func ParseNeedEntry(entry string) (Need, Needy) {
	need, rest, _ := strings.Cut(entry, " ")
	since, name, _ := strings.Cut(rest, " ")
	ms, _ := strconv.ParseInt(since, 10, 64) // as NeedEntries has written it; an entry that nobody has written so is no record's
	return Need(need), Needy{InstanceOf(name), Moment(ms)}
}

// Reserved returns the need of effects that are reserved for those who work on a run. Nothing else is needed for them.
func Reserved(run Instance) Need { return NewNeed(interpreter.NeedReserved(run.String())) }

// AnyReserved stands for the needs of all effects that are reserved.
const AnyReserved Need = "by:"

// IsReserved reports whether the need is that of effects which are reserved for those who work on a run.
func (n Need) IsReserved() bool { return strings.HasPrefix(string(n), string(AnyReserved)) }

// FirstNeedEntry is not above any entry of a need, and AfterNeedEntries above all of them.
func FirstNeedEntry(n Need) string {
	if n == AnyReserved {
		return string(n)
	}
	return string(n) + " "
}

// AfterNeedEntries is above all entries of a need, and not above those of the next.
func AfterNeedEntries(n Need) string {
	if n == AnyReserved {
		return "by;"
	}
	return string(n) + "!"
}

// NextNeedEntry is above all entries of a need, and not above those of the next that is listed: of those that are reserved, of which there are as many
// as runs, one is listed for all.
func NextNeedEntry(n Need) string {
	if n.IsReserved() {
		n = AnyReserved
	}
	return AfterNeedEntries(n)
}

// NeedEntries returns the entries of the index that a change removes and adds.
func (c *Change) NeedEntries(i Instance) (removed, added []string) {
	if c.From != nil {
		removed = c.From.NeedEntries(i)
	}
	added = c.To.NeedEntries(i)
	if slices.Equal(removed, added) {
		return nil, nil
	}
	return removed, added
}

// setNeeds notes what a run needs that a commit gives back.
func (r *Lifecycle) setNeeds(n Needs, at time.Time) {
	if r.Needs = n; n == "" {
		r.NeededSince = time.Time{}
	} else {
		r.NeededSince = millisecondOf(at)
	}
}

// Needing asks which runs of a partition wait for a need: fairly from all namespaces, and of each the longest waiting first.
type Needing struct {
	Partition int
	Need      Need
	N         int // at most so many
	Turn      int // any number; another namespace comes first for each
}

// Needy is a run that waits for a need.
type Needy struct {
	Instance
	Since time.Time
}
