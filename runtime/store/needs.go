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

// Need is a combination of requirements for a worker to perform an effect, for example a task queue that it serves together with the
// permission to run processes. The worker must meet all of them. Stores compare needs and do not interpret them.
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

// Parts returns the parts that the need was made of.
func (n Need) Parts() (all []string) {
	if n == "" {
		return nil
	}
	for part := range strings.SplitSeq(string(n), needPart) {
		text, err := url.QueryUnescape(part)
		if err != nil { // not written by NewNeed
			text = part
		}
		all = append(all, text)
	}
	return all
}

// Needs are the needs of the effects of a run. Each effect may be performed by a worker that has its need.
type Needs string

// NewNeeds returns the needs of a run; empty needs are omitted.
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

// Needed returns the needs that the run waits for. Before its time comes, only a worker with one of them may claim it. Such a run has no
// owner and is not ready.
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

// NeedEntries returns the entries of a run in the index of needs. The order of the entries groups them by need, with the longest waiting
// run first.
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
	ms, _ := strconv.ParseInt(since, 10, 64) // as written by NeedEntries; an entry of another form matches no record
	return Need(need), Needy{InstanceOf(name), Moment(ms)}
}

// Reserved returns the need of effects that are reserved for workers that work on a run. These effects need nothing else.
func Reserved(run Instance) Need { return NewNeed(interpreter.NeedReserved(run.String())) }

// AnyReserved stands for the needs of all effects that are reserved.
const AnyReserved Need = "by:"

// IsReserved reports whether the need is the need of reserved effects.
func (n Need) IsReserved() bool { return strings.HasPrefix(string(n), string(AnyReserved)) }

// FirstNeedEntry is not above any entry of a need, and AfterNeedEntries above all of them.
func FirstNeedEntry(n Need) string {
	if n == AnyReserved {
		return string(n)
	}
	return string(n) + " "
}

// AfterNeedEntries returns a bound above all entries of a need and below the entries of the next need.
func AfterNeedEntries(n Need) string {
	if n == AnyReserved {
		return "by;"
	}
	return string(n) + "!"
}

// NextNeedEntry returns a bound above all entries of a need and below the entries of the next need to be listed. There are as many reserved
// needs as runs, so that one of them is listed for all.
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

// setNeeds records the needs of a run that a commit gives back.
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
	N         int // maximum number
	Turn      int // any number; another namespace comes first for each
}

// Needy is a run that waits for a need.
type Needy struct {
	Instance
	Since time.Time
}
