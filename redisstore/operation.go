package redisstore

import (
	"context"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/swrun/swrun/errors"
	"github.com/swrun/swrun/runtime/store"
)

// This file makes the operations happen that concern one run: it reads the record, unless it knows it, asks for the
// change, and sends it. If the record was another one, it begins again with that.

// maxAttempts is how often an operation is tried, each time with the record from the answer to the last attempt.
const maxAttempts = 1000

// send sends the change of a run. The answer is OK or a refusal.
func (s *Store) send(ctx context.Context, script *script, to *subject, b *batch) (reply, error) {
	answers, err := s.apply(ctx, script, to.partition, to.name, b)
	if err != nil {
		return reply{}, err
	}
	r := answers[0]
	if damaged := damagedBy(r); damaged != nil {
		return r, fmt.Errorf("%s: %w", to.name, damaged)
	}
	return r, nil
}

// Start implements store.Store.
func (s *Store) Start(ctx context.Context, c store.Start) (store.Started, error) {
	if err := c.Instance.Check(); err != nil {
		return store.Started{}, err
	}
	to := s.subject(c.Instance)
	if err := s.room(ctx, to.partition, c.Instance); err != nil {
		return store.Started{}, err
	}
	if before, err := s.countStart(ctx, &c); err != nil {
		return store.Started{Asked: before}, err
	}
	for range maxAttempts {
		now, err := s.time(ctx, to.partition)
		if err != nil {
			return store.Started{}, err
		}
		change, _ := c.Transition(nil, now) // which nothing forbids
		b := s.newBatch(to.partition, 1)
		s.write(b, to, change, rewrite{noRecord, change.To.String()})
		if c.FamilyMax > 0 {
			key := to.keys.family(c.Family.String(), store.Day(now))
			b.check(string(store.TooMany), key, c.FamilyMax)
			b.do("INCR", key)
			b.do("PEXPIRE", key, 2*day)
		}
		r, err := s.send(ctx, &s.scripts.apply, to, b)
		switch {
		case err != nil:
			return store.Started{}, err
		case r.code == "CHANGED":
			return s.startedAgain(ctx, to, &c)
		case r.code == string(store.TooMany) && store.Day(r.at) != store.Day(now): // it was another day than this process knew
		case r.code != string(store.TooEarly):
			return store.Started{At: now}, refusal(r, to.name)
		}
	}
	return store.Started{}, errUnsettled(to)
}

const day = 24 * 60 * 60 * 1000 // in ms

// startedAgain compares a start with the start of the existing run.
func (s *Store) startedAgain(ctx context.Context, to *subject, c *store.Start) (store.Started, error) {
	var info *redis.StringCmd
	now, err := s.timed(ctx, to.partition, func(p redis.Pipeliner) { info = p.HGet(ctx, to.keys.instance(c.Instance), fieldInfo) })
	if err != nil {
		return store.Started{}, err
	}
	started := store.Started{Again: info.Err() == nil && info.Val() == string(c.Invocation), At: now}
	if !started.Again {
		return started, &store.Refusal{Code: store.Conflict, Detail: to.name, At: started.At}
	}
	return started, nil
}

// FullError reports that a run is not started because the server's memory is reserved for existing runs: the store refuses starts until it
// has room again.
type FullError struct{ Instance store.Instance }

func (e *FullError) Error() string {
	return fmt.Sprintf("the run %s is not started: more than %.0f %% of the server's memory is used", e.Instance, 100*Full)
}

// room refuses a new instance if the server's memory is nearly full.
func (s *Store) room(ctx context.Context, partition int, i store.Instance) error {
	n, err := s.node(ctx, partition)
	if err != nil || !n.isFull(ctx, s.uptime()) {
		return err
	}
	there, err := n.client.Exists(ctx, s.keys.partitions[partition].instance(i)).Result()
	if err == nil && there == 0 {
		err = &FullError{i}
	}
	return err
}

// time returns the time of a partition.
func (s *Store) time(ctx context.Context, partition int) (time.Time, error) {
	if at := s.clocks[partition].expected(s.uptime()); at != 0 {
		return store.Moment(at), nil
	}
	return s.timed(ctx, partition, func(redis.Pipeliner) {})
}

// Commit implements store.Store.
func (s *Store) Commit(ctx context.Context, c store.Commit) (store.Committed, error) {
	own := s.records.take(c.Instance, c.Token)
	known := own != nil
	if !known {
		own = &ownRecord{subject: s.subject(c.Instance), token: c.Token}
	}
	done, err := s.commit(ctx, &c, own, known)
	if err == nil && !c.Releases() {
		s.records.keep(own)
	} else {
		s.records.remove(own)
	}
	return done, err
}

// commit makes a commit happen, beginning with the record that is known, if one is. If it happens, own is the record then.
func (s *Store) commit(ctx context.Context, c *store.Commit, own *ownRecord, known bool) (store.Committed, error) {
	for range maxAttempts {
		from, stored, now := &own.lifecycle, own.text, c.At
		if !known {
			is, at, err := s.lookAt(ctx, own.subject)
			if err != nil {
				return store.Committed{}, err
			}
			from, stored, now = is.lifecycle, is.text, at
		}
		change, code := c.Transition(from, now)
		switch {
		case code != "" && known:
			known = false // the known state may be outdated
			continue
		case code != "":
			return store.Committed{At: now}, &store.Refusal{Code: code, Detail: own.name, At: now}
		case change.Done:
			own.lifecycle, own.text = *from, stored
			return store.Committed{At: now, Mail: change.To.Unread()}, nil
		}
		if before, err := s.countCommit(ctx, c); err != nil {
			return store.Committed{At: now, Asked: before}, err
		}
		answer, err := s.commitChange(ctx, own, stored, change)
		if err == nil && answer.code == "CHANGED" {
			known = own.learn(answer)
			continue
		}
		return store.Committed{At: answer.at, Mail: err == nil && own.lifecycle.Unread()}, err
	}
	return store.Committed{}, errUnsettled(own.subject)
}

// commitChange sends the change of a commit to a record that is stored as a text. If it happens, own is the record then. The
// answer may be CHANGED.
func (s *Store) commitChange(ctx context.Context, own *ownRecord, stored string, change *store.Change) (reply, error) {
	text := change.To.String()
	b := s.newBatch(own.partition, 1)
	s.write(b, own.subject, change, rewrite{stored, text})
	answer, err := s.send(ctx, &s.scripts.applyFull, own.subject, b)
	if err != nil || answer.code == "CHANGED" {
		return answer, err
	}
	if answer.code == "ACTIVITY" { // it has changed
		answer.code = string(store.Conflict)
	}
	if answer.code == "OK" {
		own.lifecycle, own.text = change.To, text
		own.lifecycle.Mail = max(own.lifecycle.Mail, answer.mail())
	}
	return answer, refusal(answer, own.name)
}

// mail returns how many messages were delivered to the run, from an answer OK.
func (r reply) mail() int64 {
	if len(r.values) == 0 {
		return 0
	}
	return integer(r.values[0])
}

// learn takes the record from an answer that it has changed, if it can be read.
func (own *ownRecord) learn(r reply) bool {
	if len(r.values) != 2 {
		return false
	}
	is := newKept(r.values[0], r.values[1])
	if is.lifecycle == nil || is.damaged != nil {
		return false
	}
	own.lifecycle, own.text = *is.lifecycle, is.text
	return true
}

// lookAt reads the record of one run. Its error is a refusal if it cannot be read.
func (s *Store) lookAt(ctx context.Context, to *subject) (kept, time.Time, error) {
	all, now, err := s.look(ctx, to.partition, to.instance)
	if err != nil {
		return kept{}, time.Time{}, fmt.Errorf("read %s: %w", to.name, err)
	}
	return all[0], now, all[0].refusal(to.name)
}

// errUnsettled is returned when other operations were faster at every attempt.
func errUnsettled(to *subject) error {
	return fmt.Errorf("%s: others write to it all the time", to.name)
}

// Deliver implements store.Store.
func (s *Store) Deliver(ctx context.Context, d store.Delivery) error {
	return s.message(ctx, &s.scripts.apply, d.To, d.ID, &d)
}

// Command implements store.Store.
func (s *Store) Command(ctx context.Context, c store.Command) error {
	script := &s.scripts.apply
	if c.Verb == store.VerbCancel || c.Verb == store.VerbTerminate { // they make room
		script = &s.scripts.applyFull
	}
	return s.message(ctx, script, c.To, c.ID, &c)
}

// message makes an operation happen once that brings a message to a run.
func (s *Store) message(ctx context.Context, script *script, i store.Instance, id string, op store.Operation) error {
	to := s.subject(i)
	for range maxAttempts {
		r, now, err := s.lookAt(ctx, to)
		if err != nil {
			return err
		}
		change, code := op.Transition(r.lifecycle, now)
		if code != "" {
			return s.unlessSeen(ctx, to, id, &store.Refusal{Code: code, Detail: to.name, At: now})
		}
		b := s.newBatch(to.partition, 1)
		s.write(b, to, change, rewrite{r.text, change.To.String()})
		answer, err := s.send(ctx, script, to, b)
		switch {
		case err != nil:
			return err
		case answer.code == "SEEN":
			return nil
		case answer.code == string(store.TimedOut): // an earlier copy may have arrived in time
			return s.unlessSeen(ctx, to, id, refusal(answer, to.name))
		case answer.code != "CHANGED":
			return refusal(answer, to.name)
		}
	}
	return errUnsettled(to)
}

// unlessSeen returns a refusal, unless the operation has been done before.
func (s *Store) unlessSeen(ctx context.Context, to *subject, id string, refused error) error {
	var at *redis.FloatCmd
	err := s.pipelined(ctx, to.partition, func(p redis.Pipeliner) { at = p.ZScore(ctx, to.keys.seen, id) })
	switch {
	case err != nil:
		return err
	case errors.Is(at.Err(), redis.Nil):
		return refused
	}
	return at.Err()
}

// Relay implements store.Store.
func (s *Store) Relay(ctx context.Context, partition int, entries []string) error {
	if len(entries) == 0 {
		return nil
	}
	k := &s.keys.partitions[partition]
	var ids []any
	for _, id := range entries {
		ids = append(ids, entryID(id))
	}
	b := s.newBatch(partition, 1)
	b.begin(&subject{hash: k.outbox, history: k.outbox}, anyRecord)
	b.onInstance("XDEL", ids...)
	_, err := s.send(ctx, &s.scripts.applyFull, &subject{partition: partition, name: "outbox"}, b)
	return err
}
