package redisstore

import (
	"cmp"
	"context"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/swrun/swrun/internal/form"
	"github.com/swrun/swrun/interpreter"
	"github.com/swrun/swrun/runtime/store"
)

// kept is the record of a run as it was read.
type kept struct {
	lifecycle *store.Lifecycle // nil if there is no such run
	text      string           // of the record, as it is stored
	damaged   error            // why it cannot be read
}

// newKept reads the fields of a record and of the number of messages.
func newKept(record, mail any) kept {
	text, ok := record.(string)
	if !ok {
		return kept{}
	}
	r, err := store.ParseLifecycle(text)
	if err == nil {
		r.Mail, err = mailOf(mail, &r)
	}
	return kept{lifecycle: &r, text: text, damaged: err}
}

// keptIn is newKept for the answer to a command that reads these two fields first. A key of another type is damaged.
func keptIn(fields *redis.SliceCmd) kept {
	values := fields.Val()
	if len(values) < 2 {
		return kept{damaged: onlyDamage(fields)}
	}
	return newKept(values[0], values[1])
}

// readLoaded reads the fields of a run's hash. Its record is read first: of a run whose record cannot be read, nothing else matters.
func readLoaded(fields map[string]string) (store.Loaded, error) {
	l := store.Loaded{State: interpreter.StoredState{Frames: map[interpreter.FrameKey][]byte{}}}
	if record, there := fields[fieldRecord]; there {
		var mail any // absent is another thing than empty
		if text, written := fields[fieldMail]; written {
			mail = text
		}
		is := newKept(record, mail)
		l.Lifecycle = *is.lifecycle
		if is.damaged != nil {
			return l, is.damaged
		}
	}
	for name, value := range fields {
		switch name {
		case fieldInfo:
			l.Invocation = []byte(value)
		case fieldHead:
			l.State.Head = []byte(value)
		case fieldContext:
			l.State.Context = []byte(value)
		case fieldRecord, fieldMail, fieldIndex:
		default:
			if err := readPartOf(&l, name, value); err != nil {
				return l, err
			}
		}
	}
	return l, nil
}

// readPartOf reads a field with an activity or a frame.
func readPartOf(l *store.Loaded, name, value string) (err error) {
	if strings.HasPrefix(name, fieldActivity) {
		l.Activities, err = addActivity(l.Activities, name, value)
		if form.IsNewer(err) {
			l.Newer, err = err, nil
		}
		return err
	}
	key, err := strconv.Atoi(strings.TrimPrefix(name, fieldFrame))
	if err != nil {
		return fmt.Errorf("%q is not a field of a run", name)
	}
	l.State.Frames[interpreter.FrameKey(key)] = []byte(value)
	return nil
}

// maxMail bounds how many messages a run can have got.
const maxMail = 1 << 53

// mailOf parses the number of messages of a run. A run without messages has no such field. A text of another form than a script writes
// would block the next message.
func mailOf(mail any, of *store.Lifecycle) (int64, error) {
	n := integer(mail)
	if text, written := mail.(string); n < of.Read || n > maxMail || written && strconv.FormatInt(n, 10) != text {
		return 0, fmt.Errorf("%.40q is not the number of its messages", fmt.Sprint(mail))
	}
	return n, nil
}

// refusal returns why nothing can be done with a run.
func (k *kept) refusal(name string) error {
	if k.damaged != nil {
		return store.RefuseUnreadable(name, k.damaged, time.Time{})
	}
	return nil
}

// look reads the records of runs of a partition. It returns them in the same order, with the leases of their owners, and the time.
func (s *Store) look(ctx context.Context, partition int, instances ...store.Instance) ([]kept, time.Time, error) {
	k := &s.keys.partitions[partition]
	fields := make([]*redis.SliceCmd, len(instances))
	there := make([]*redis.IntCmd, len(instances))
	var leases *redis.StringCmd
	now, err := s.timedEach(ctx, partition, func(p redis.Pipeliner) {
		leases = p.Get(ctx, k.leases)
		for n, i := range instances {
			fields[n] = p.HMGet(ctx, k.instance(i), fieldRecord, fieldMail)
			there[n] = p.Exists(ctx, k.instance(i))
		}
	})
	if err != nil {
		return nil, time.Time{}, err
	}
	all, lasting := make([]kept, len(instances)), parseLeases(leases.Val())
	for n := range all {
		all[n] = keptIn(fields[n])
		if all[n].lifecycle == nil && there[n].Val() > 0 {
			all[n].damaged = cmp.Or(all[n].damaged, errNoRecord)
		}
		if all[n].lifecycle != nil {
			all[n].lifecycle.Lease = lasting[all[n].lifecycle.Owner]
		}
	}
	return all, now, nil
}

// timed reads data of a partition, and its time.
func (s *Store) timed(ctx context.Context, partition int, f func(redis.Pipeliner)) (time.Time, error) {
	return s.timedIn(ctx, partition, s.sharedPipeline, f)
}

// timedEach is timed, except that a key of a wrong type is an error of its command alone.
func (s *Store) timedEach(ctx context.Context, partition int, f func(redis.Pipeliner)) (time.Time, error) {
	return s.timedEachIn(ctx, partition, s.sharedPipeline, f)
}

func (s *Store) timedIn(ctx context.Context, partition int, send sending, f func(redis.Pipeliner)) (time.Time, error) {
	now, wrongType, err := s.readTime(ctx, partition, send, f)
	return now, cmp.Or(err, wrongType)
}

func (s *Store) timedEachIn(ctx context.Context, partition int, send sending, f func(redis.Pipeliner)) (time.Time, error) {
	now, _, err := s.readTime(ctx, partition, send, f)
	return now, err
}

// readTime is timed. A key of a wrong type, other than the key of the time, is an error of its own.
func (s *Store) readTime(ctx context.Context, partition int, send sending, f func(redis.Pipeliner)) (now time.Time, wrongType, err error) {
	sent := s.uptime()
	var server *redis.TimeCmd
	var times *redis.StringCmd
	err = s.exchange(ctx, partition, send, func(p redis.Pipeliner) {
		server, times = p.Time(ctx), p.Get(ctx, s.keys.partitions[partition].time)
		f(p)
	})
	if isWrongType(err) && !isWrongType(times.Err()) {
		wrongType, err = err, nil
	}
	if err != nil {
		return time.Time{}, nil, err
	}
	at := newReading(server.Val().UnixMilli(), times.Val())
	return store.Moment(s.clocks[partition].now(at, sent, s.uptime())), wrongType, nil
}

// now returns the time as read by the request, or the expected time if the server's clock jumped.
func (c *clock) now(r reading, sent, answered time.Duration) int64 {
	if !r.wentBack() && c.jumped(r, sent, answered) == 0 {
		c.observe(r.now(), sent, answered)
		return r.now()
	}
	if at := c.expected(answered); at != 0 {
		return max(at, r.written)
	}
	return r.now()
}

// records contains the store's knowledge of the records of runs that this process holds. It may be outdated: every write compares. It
// avoids reading records that other processes rarely change.
type records struct {
	mu  sync.Mutex
	all map[store.Instance]*ownRecord
}

// ownRecord is a record as the last operation of its owner has left it.
type ownRecord struct {
	*subject
	token     store.Token
	taken     bool // by an operation on its way; records.mu guards it
	lifecycle store.Lifecycle
	text      string
}

// maxRecords limits the records of runs whose owners disappeared without notice.
const maxRecords = 100_000

// take returns the record of a run if it is held with a token; nil if that is not known. The caller has it alone, until it
// keeps or removes it.
func (r *records) take(i store.Instance, t store.Token) *ownRecord {
	r.mu.Lock()
	defer r.mu.Unlock()
	own := r.all[i]
	if own == nil || own.token != t || own.taken {
		return nil
	}
	own.taken = true
	return own
}

// keep notes a record that has been stored, unless the run has a later owner by now.
func (r *records) keep(own *ownRecord) {
	r.mu.Lock()
	defer r.mu.Unlock()
	own.taken = false
	if other := r.all[own.instance]; other == own || other != nil && other.token.Epoch > own.token.Epoch {
		return
	}
	if r.all == nil || len(r.all) >= maxRecords {
		r.all = map[store.Instance]*ownRecord{}
	}
	r.all[own.instance] = own
}

// remove removes the record of a run, unless the run has another owner by now.
func (r *records) remove(own *ownRecord) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if other := r.all[own.instance]; other != nil && other.token == own.token {
		delete(r.all, own.instance)
	}
}

func integer(v any) int64 {
	switch v := v.(type) {
	case int64:
		return v
	case string:
		return number(v)
	}
	return 0
}

// number parses a number written by a script.
func number(text string) int64 {
	n, _ := strconv.ParseInt(text, 10, 64) // anything else counts as 0
	return n
}
