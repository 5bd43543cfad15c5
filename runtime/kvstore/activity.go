package kvstore

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/swrun/swrun/internal/form"
	"github.com/swrun/swrun/interpreter"
	"github.com/swrun/swrun/runtime/store"
)

func (p *partition) activityKey(id store.ActivityID) string {
	return p.key(id.Run, "activity/"+number(int64(id.Effect)))
}

func (p *partition) activityInputKey(id store.ActivityID) string {
	return p.key(id.Run, "activity-input/"+number(int64(id.Effect)))
}

const queuePrefix = "queue/"

// queueKey returns the key of an activity that workers may take.
func (p *partition) queueKey(id store.ActivityID, a *store.Activity) string {
	return p.queuePrefix(store.Queue{Name: a.Queue, Namespace: id.Run.Namespace}) + number(store.Millis(a.Available)) + "/" + id.Run.ID + " " + strconv.Itoa(int(id.Effect))
}

// queuePrefix returns the prefix of the keys of a queue's activities.
func (p *partition) queuePrefix(q store.Queue) string {
	return p.prefix + queuePrefix + q.Name + "/" + q.Namespace + "/"
}

func (p *partition) activitiesPrefix() string { return p.prefix + "activities/" }

func (p *partition) dueKey(id store.ActivityID, a *store.Activity) string {
	return p.activitiesPrefix() + number(store.Millis(a.Due)) + "/" + id.String()
}

// readActivity returns the record of an activity; nil if it is missing or damaged. A record that a newer build has written must not be
// overwritten: it is an error.
func (p *partition) readActivity(id store.ActivityID) (*store.Activity, error) {
	value, ok := p.Get(p.activityKey(id))
	if !ok {
		return nil, nil
	}
	a, err := store.ParseActivity(string(value))
	if form.IsNewer(err) {
		return nil, store.RefuseUnreadable("activity "+id.String(), err, p.now)
	}
	if err != nil {
		return nil, nil
	}
	return &a, nil
}

// activity returns the record of an activity; nil if it is missing or unreadable.
func (p *partition) activity(id store.ActivityID) *store.Activity {
	a, _ := p.readActivity(id)
	return a
}

// unreadableActivity returns why nothing can be done with an activity: its run or its record cannot be read. In the lists it must not hide
// others.
func (p *partition) unreadableActivity(id store.ActivityID) error {
	if _, err := p.lifecycle(id.Run); err != nil {
		return err
	}
	_, err := p.readActivity(id)
	return err
}

// hasActivities reports whether the activities of a run match the expectations of a change.
func (p *partition) hasActivities(i store.Instance, c *store.Change) bool {
	for _, change := range c.Activities {
		if change.From == nil {
			continue
		}
		is := p.activity(store.ActivityID{Run: i, Effect: change.Effect})
		if is == nil || is.String() != change.From.String() {
			return false
		}
	}
	return true
}

// putActivities stores the changes of a run's activities.
func (p *partition) putActivities(i store.Instance, c *store.Change) {
	for _, change := range c.Activities {
		id := store.ActivityID{Run: i, Effect: change.Effect}
		if change.Once != "" {
			p.remember(change.Once, store.ReportRemembered)
		}
		if old := p.activity(id); old != nil {
			p.unlist(id, old)
		}
		if change.To == nil {
			p.Delete(p.activityKey(id))
			p.Delete(p.activityInputKey(id))
			continue
		}
		p.Put(p.activityKey(id), []byte(change.To.String()))
		if change.From == nil {
			p.Put(p.activityInputKey(id), change.Input)
		}
		p.list(id, change.To)
	}
}

// list puts an activity where it is looked for.
func (p *partition) list(id store.ActivityID, a *store.Activity) {
	if !a.Available.IsZero() {
		p.Put(p.queueKey(id, a), nil)
	}
	if !a.Due.IsZero() {
		p.Put(p.dueKey(id, a), nil)
	}
}

func (p *partition) unlist(id store.ActivityID, a *store.Activity) {
	p.Delete(p.queueKey(id, a))
	p.Delete(p.dueKey(id, a))
}

// activities returns the activities of a run; newer is why one cannot be read that a newer build has written.
func (p *partition) activities(i store.Instance) (all []store.StoredActivity, newer error) {
	prefix := p.key(i, "activity/")
	p.Scan(prefix, prefix, func(key string, value []byte) bool {
		a, err := store.ParseActivity(string(value))
		switch {
		case err == nil:
			all = append(all, store.StoredActivity{Effect: interpreter.EffectID(parseNumber(strings.TrimPrefix(key, prefix))), Activity: a})
		case form.IsNewer(err):
			newer = err
		}
		return true
	})
	return all, newer
}

// dueActivities adds to the work the activities that are due, at most n.
func (p *partition) dueActivities(n int, w *store.Work) { p.activitiesDue(p.now, n, w) }

// activitiesDue adds to the work the activities that are due at a time, at most n.
func (p *partition) activitiesDue(until time.Time, n int, w *store.Work) {
	prefix := p.activitiesPrefix()
	p.Scan(prefix, prefix, func(key string, _ []byte) bool {
		ms, rest, _ := strings.Cut(strings.TrimPrefix(key, prefix), "/")
		at := store.Moment(parseNumber(ms))
		if at.After(until) || len(w.Activities) >= n {
			w.Next = interpreter.Earlier(w.Next, at)
			return false
		}
		if id, err := store.ParseActivityID(rest); err == nil && p.unreadableActivity(id) == nil {
			w.Activities = append(w.Activities, id)
		}
		return true
	})
}

// ChangeActivities implements store.Activities.
func (s *Store) ChangeActivities(ctx context.Context, c store.ChangeActivities) (all []store.ActivityChanged, err error) {
	var hints []store.Hint
	err = s.update(ctx, c.Partition, func(p *partition) error {
		all, hints = nil, nil
		for _, id := range c.Activities {
			changed, made := p.changeActivity(id, &c)
			all = append(all, changed)
			if made == nil || made.Done {
				continue
			}
			if made.Message != nil {
				hints = append(hints, store.Hint{Partition: c.Partition, Mail: id.Run})
			}
			for _, queue := range made.Queues() {
				hints = append(hints, store.Hint{Partition: c.Partition, Queue: queue})
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	for _, hint := range hints {
		s.hints.send(hint)
	}
	return all, nil
}

func (p *partition) changeActivity(id store.ActivityID, c *store.ChangeActivities) (store.ActivityChanged, *store.Change) {
	r, err := p.record(id.Run)
	if err != nil {
		return store.ActivityChanged{Refused: err}, nil
	}
	a, err := p.readActivity(id)
	if err != nil {
		return store.ActivityChanged{Refused: err}, nil
	}
	change, code := c.Transition(id, r, a, p.now)
	if a == nil || code == store.Corrupt {
		p.lostActivity(id, r)
	}
	if code == "" && !change.Done {
		code = change.Check(p.now)
	}
	once := c.Operation.Once(id)
	if code != "" && once != "" && p.seen(once) {
		return store.ActivityChanged{Was: a, Activity: a}, nil
	}
	if code != "" {
		return store.ActivityChanged{Was: a, Activity: a, Refused: store.Refuse(code, p.now, "activity %s", id)}, nil
	}
	changed := store.ActivityChanged{Was: a, Activity: a}
	if c.Input {
		input, _ := p.Get(p.activityInputKey(id))
		changed.Input = clone(input)
	}
	if !change.Done {
		p.write(id.Run, change)
		changed.Activity = change.Activities[0].To
	}
	if change.Refused != "" {
		changed.Refused = store.Refuse(change.Refused, p.now, "activity %s", id)
	}
	return changed, change
}

// lostActivity has the run of an activity that is listed, and is not there or cannot be read, schedule it again. It reports whether there
// was anything to do.
func (p *partition) lostActivity(id store.ActivityID, r *store.Lifecycle) bool {
	if !p.forgetActivity(id) {
		return false
	}
	switch change, code := store.LostActivity().Transition(r, p.now); code {
	case "":
		p.write(id.Run, change)
	case store.Conflict:
		p.Put(p.dueKey(id, &store.Activity{Due: p.now.Add(store.LostActivityRecheck)}), nil)
	}
	return true
}

// forgetActivity removes a missing activity from the indexes, and reports whether it was listed.
func (p *partition) forgetActivity(id store.ActivityID) (listed bool) {
	var found []string
	find := func(prefix, suffix string) {
		p.Scan(prefix, prefix, func(key string, _ []byte) bool {
			if strings.HasSuffix(key, suffix) {
				found = append(found, key)
			}
			return true
		})
	}
	find(p.activitiesPrefix(), "/"+id.String())
	for _, q := range p.queues("") {
		if q.Namespace == id.Run.Namespace {
			find(p.queuePrefix(q), "/"+id.Run.ID+" "+strconv.Itoa(int(id.Effect)))
		}
	}
	for _, key := range found {
		p.Delete(key)
	}
	return len(found) > 0
}

// scrubActivities compares the activities of a run with where they are looked for.
func (p *partition) scrubActivities(i store.Instance, done *store.Scrubbed) {
	all, newer := p.activities(i)
	if newer != nil {
		return
	}
	if r, err := p.record(i); err == nil && r != nil && r.LacksActivities(len(all)) {
		change, _ := store.LostActivity().Transition(r, p.now) // the run has no owner
		p.write(i, change)
		done.Repaired = append(done.Repaired, store.LostActivities(i, r, len(all)))
	}
	for _, a := range all {
		id := store.ActivityID{Run: i, Effect: a.Effect}
		_, queued := p.Get(p.queueKey(id, &a.Activity))
		_, due := p.Get(p.dueKey(id, &a.Activity))
		if queued != a.Available.IsZero() && due != a.Due.IsZero() {
			continue
		}
		p.forgetActivity(id)
		p.list(id, &a.Activity)
		done.Repaired = append(done.Repaired, fmt.Sprintf("%s: activity %d stood at a wrong place", i, a.Effect))
	}
}

// scrubLost looks for activities that are listed as due and are lost.
func (p *partition) scrubLost(done *store.Scrubbed) {
	var lost []store.ActivityID
	prefix := p.activitiesPrefix()
	p.Scan(prefix, prefix, func(key string, _ []byte) bool {
		_, rest, _ := strings.Cut(strings.TrimPrefix(key, prefix), "/")
		id, err := store.ParseActivityID(rest)
		if err != nil {
			return true
		}
		if a, err := p.readActivity(id); a == nil && err == nil {
			lost = append(lost, id)
		}
		return true
	})
	for _, id := range lost {
		if r, err := p.record(id.Run); err == nil && p.lostActivity(id, r) {
			done.Repaired = append(done.Repaired, fmt.Sprintf("%s: activity %d was lost", id.Run, id.Effect))
		}
	}
}

// Available implements store.Activities.
func (s *Store) Available(_ context.Context, c store.Available) (offered store.Offered, err error) {
	err = s.view(c.Partition, func(p *partition) error {
		offered = store.Offered{At: p.now}
		var parts [][]store.ActivityID
		var all []store.Queue
		for _, name := range slices.Compact(slices.Sorted(slices.Values(c.Queues))) {
			all = append(all, p.queues(name+"/")...)
		}
		all = slices.DeleteFunc(all, func(q store.Queue) bool { return !c.Asks(q) })
		for _, q := range store.InTurn(c.Turn, all) {
			parts = append(parts, p.available(q, c.N, &offered))
		}
		offered.Activities = store.Fairly(c.N, parts)
		return nil
	})
	return offered, err
}

// available returns the first activities of a queue that may be taken.
func (p *partition) available(q store.Queue, n int, offered *store.Offered) (all []store.ActivityID) {
	p.scanQueue(q, func(at time.Time, id store.ActivityID) bool {
		if at.After(p.now) {
			offered.Next = interpreter.Earlier(offered.Next, at)
			return false
		}
		if p.unreadableActivity(id) == nil {
			all = append(all, id)
		}
		return len(all) < n
	})
	return all
}

func (p *partition) scanQueue(q store.Queue, f func(time.Time, store.ActivityID) bool) {
	prefix := p.queuePrefix(q)
	p.Scan(prefix, prefix, func(key string, _ []byte) bool {
		ms, rest, _ := strings.Cut(strings.TrimPrefix(key, prefix), "/")
		id, err := store.ParseActivityID(q.Namespace + "/" + rest)
		return err != nil || f(store.Moment(parseNumber(ms)), id)
	})
}

// queues returns the queues in which activities wait, those whose keys begin with the name of one and a slash, or all for "".
func (p *partition) queues(begin string) (all []store.Queue) {
	prefix := p.prefix + queuePrefix
	for from := prefix + begin; ; {
		next := ""
		p.Scan(prefix+begin, from, func(key string, _ []byte) bool {
			next = key
			return false
		})
		if next == "" {
			return all
		}
		parts := strings.SplitN(strings.TrimPrefix(next, prefix), "/", 3)
		if len(parts) < 3 { // written by another program
			from = next + "\x00"
			continue
		}
		all = append(all, store.Queue{Name: parts[0], Namespace: parts[1]})
		from = prefix + parts[0] + "/" + parts[1] + "0" // 0 follows the slash
	}
}

// QueueLengths implements store.Activities.
func (s *Store) QueueLengths(_ context.Context, of int) (all []store.QueueLength, err error) {
	err = s.view(of, func(p *partition) error {
		all = nil
		for _, q := range p.queues("") {
			length := store.QueueLength{Queue: q}
			p.scanQueue(q, func(at time.Time, _ store.ActivityID) bool {
				if length.Waiting++; length.Waiting == 1 {
					length.Since = at
				}
				return true
			})
			all = append(all, length)
		}
		return nil
	})
	return all, err
}
