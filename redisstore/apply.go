package redisstore

import (
	"context"
	"fmt"
	"strconv"

	"github.com/swrun/swrun/runtime/store"
)

// This file writes changes as scripts/apply.lua reads them.

// subject is the shared part of all requests about a run with an owner. It is made once.
type subject struct {
	partition     int
	keys          *partitionKeys
	instance      store.Instance
	name          string // in errors
	hash, history any    // keys
}

func (s *Store) subject(i store.Instance) *subject {
	return s.subjectIn(i.Partition(s.layout.Partitions), i)
}

// subjectIn is subject for a run that a key of a partition names. The key may have been written by another program: the partition of the
// run may be a different one, whose time the call must not use.
func (s *Store) subjectIn(partition int, i store.Instance) *subject {
	k := &s.keys.partitions[partition]
	return &subject{
		partition: partition, keys: k, instance: i, name: "run " + i.String(), hash: k.instance(i), history: k.history(i),
	}
}

// batch is changes of runs of one partition on their way to scripts/apply.lua, written as the script reads them. Begin
// begins a change; then come its fields, its entries of history, and its checks and commands.
type batch struct {
	keys, args []any // of the script
	changes    int

	// Of the change that is being written:

	open     bool // there is one
	key, arg int  // where its keys and arguments begin
	shape    shape
	commands int   // where the arguments of its commands begin
	checks   []any // which come after its commands

	last      shape // of the change before it, which ends the request unless another one follows
	lastShape int   // its index in the arguments
}

// Indexes of the first arguments of a change.
const (
	argRecord = iota
	argShape
	argNotBefore
)

// shape encodes the arguments of a change: see scripts/apply.lua.
type shape int64

// Units of the counts, and the flags.
const (
	oneSet      shape = 1 // field or value
	oneUnset          = oneSet << 10
	oneEntry          = oneUnset << 10
	hasCommands       = oneEntry << 20
	expectsMail       = hasCommands << 1
	hasBefore         = expectsMail << 1
	isFollowed        = hasBefore << 1
)

const (
	anyRecord = "*" // is expected
	noRecord  = ""
	// maxArguments is how many arguments one command gets: the script unpacks them onto a stack.
	maxArguments = 500
)

// newBatch returns a batch with room for n changes.
func (s *Store) newBatch(partition, n int) *batch {
	b := &batch{keys: make([]any, 1, 1+4*n), args: make([]any, 0, 20*n)}
	b.keys[0] = s.keys.partitions[partition].timeKey
	return b
}

// begin begins a change of a run whose record is expected to be this.
func (b *batch) begin(to *subject, record any) {
	b.end()
	if b.changes > 0 {
		b.args[b.lastShape] = int64(b.last | isFollowed)
	}
	b.changes++
	b.open, b.key, b.arg = true, len(b.keys), len(b.args)
	b.keys = append(b.keys, to.hash, to.history)
	b.args = append(b.args, record, 0, 0)
}

// within adds the conditions of a change: its times, and the expected number of messages if that matters. It is called after begin.
func (b *batch) within(c *store.Change) {
	b.args[b.arg+argNotBefore] = store.Millis(c.NotBefore)
	if c.WithMail {
		b.args = append(b.args, c.From.Mail)
		b.shape |= expectsMail
	}
	if !c.Before.IsZero() {
		b.args = append(b.args, store.Millis(c.Before))
		b.shape |= hasBefore
	}
}

// end completes the change that is being written, if there is one.
func (b *batch) end() {
	if !b.open {
		return
	}
	if b.shape&hasCommands != 0 {
		b.args = append(b.args, b.checks...)
		b.args[b.commands], b.args[b.commands+1] = len(b.keys)-b.key, len(b.args)-b.commands-2
		b.args[b.commands+2] = len(b.checks) / argsPerCheck
	}
	b.last, b.lastShape = b.shape, b.arg+argShape
	b.args[b.lastShape] = int64(b.shape)
	b.open, b.shape, b.checks = false, 0, nil
}

// dropEmpty drops the change that is being written if it does nothing.
func (b *batch) dropEmpty() {
	if b.shape != 0 {
		return
	}
	b.keys, b.args = b.keys[:b.key], b.args[:b.arg]
	b.open, b.changes = false, b.changes-1
	if b.changes > 0 {
		b.args[b.lastShape] = int64(b.last)
	}
}

const argsPerCheck = 3

// set sets a field of the run's hash.
func (b *batch) set(field, value any) {
	b.args = append(b.args, field, value)
	b.shape += 2 * oneSet
}

// unset deletes a field of the run's hash. It is called after the fields are set.
func (b *batch) unset(field any) {
	b.args = append(b.args, field)
	b.shape += oneUnset
}

// entry appends an entry to the history of a run, with the epoch and the nonce that its record has then. It comes after the fields.
func (b *batch) entry(of *store.Lifecycle, entry []byte) {
	stamped := append(make([]byte, 0, 24+len(of.Nonce)+len(entry)), ' ')
	stamped = append(append(append(strconv.AppendInt(stamped, of.Epoch, 10), ' '), of.Nonce...), ' ')
	b.args = append(b.args, append(stamped, entry...))
	b.shape += oneEntry
}

// check lets the change happen only if something holds, which the script knows by its name. Only changes with commands have
// checks.
func (b *batch) check(name string, key, argument any) {
	b.keys = append(b.keys, key)
	b.checks = append(b.checks, name, len(b.keys)-b.key, argument)
}

// do adds a command. It comes after the fields and entries.
func (b *batch) do(name string, key any, args ...any) {
	b.keys = append(b.keys, key)
	b.command(name, len(b.keys)-b.key, args)
}

// onInstance adds a command for the run's own key.
func (b *batch) onInstance(name string, args ...any) { b.command(name, 1, args) }

// command adds commands of the same name for a key, as many as it takes for all the arguments.
func (b *batch) command(name string, key int, args []any) {
	if b.shape&hasCommands == 0 {
		b.shape |= hasCommands
		b.commands = len(b.args)
		b.args = append(b.args, 0, 0, 0)
	}
	for first := true; first || len(args) > 0; first = false {
		some := args[:min(len(args), maxArguments)]
		args = args[len(some):]
		b.args = append(append(b.args, name, key, len(some)), some...)
	}
}

// rewrite is the record of a run as it is stored, and as it is to be.
type rewrite struct{ from, to string }

// write writes the arguments of the script for a change of a run.
func (s *Store) write(b *batch, to *subject, c *store.Change, record rewrite) {
	b.begin(to, record.from)
	b.within(c)
	if record.to != record.from {
		b.set(fieldRecord, record.to)
	}
	s.writeState(b, to, c)
	b.move(to, c)
	b.listens(to, c)
	b.apart(to, c)
	b.messages(to, c)
	b.activities(to, c)
	for _, queue := range c.Queues() {
		b.onInstance("HINT", s.keys.hints(), queueHint(to.partition, queue))
	}
	switch {
	case c.Message != nil:
		b.onInstance("HINT", s.keys.hints(), mailHint(to.partition, to.instance))
	case c.Hints():
		b.onInstance("HINT", s.keys.hints(), hint(to.partition))
	}
}

// maxFrames is how many frames are set, and how many are deleted, without a command of their own.
const maxFrames = maxArguments/2 - 8

// writeState writes the changes of the run's state, and its new history. Data that exceeds one command is divided among several.
func (s *Store) writeState(b *batch, to *subject, c *store.Change) {
	if c.From == nil || c.Invocation != nil {
		b.set(fieldInfo, c.Invocation)
	}
	if c.State.Head != nil {
		b.set(fieldHead, c.State.Head)
	}
	if c.State.Context != nil {
		b.set(fieldContext, c.State.Context)
	}
	frames, ended := c.State.Frames, c.State.Ended
	for _, f := range frames[:min(len(frames), maxFrames)] {
		b.set(s.frames.field(f.Key), f.Data)
	}
	for _, key := range ended[:min(len(ended), maxFrames)] {
		b.unset(s.frames.field(key))
	}
	for _, e := range c.Entries {
		b.entry(&c.To, e)
	}
	if len(frames) > maxFrames {
		var more []any
		for _, f := range frames[maxFrames:] {
			more = append(more, s.frames.field(f.Key), f.Data)
		}
		b.onInstance("HSET", more...)
	}
	if len(ended) > maxFrames {
		var more []any
		for _, key := range ended[maxFrames:] {
			more = append(more, s.frames.field(key))
		}
		b.onInstance("HDEL", more...)
	}
}

// move puts the run in the place of its record, and prolongs its owner's lease.
func (b *batch) move(to *subject, of *store.Change) {
	k, at := to.keys, of.To.Place()
	if of.From == nil {
		b.do("ZADD", k.sets[at.Set], score(at), member(to.instance, at))
		b.do("INDEX", k.index, to.instance.String())
		b.count(to, of)
		return
	}
	from := of.From.Place()
	if from.Set != at.Set || from.Owner != at.Owner {
		b.do("ZREM", k.sets[from.Set], member(to.instance, from))
	}
	if from != at {
		b.do("ZADD", k.sets[at.Set], score(at), member(to.instance, at))
	}
	if of.To.Held() && of.To.Lease.After(of.From.Lease) {
		b.do("LEASE", k.leases, of.To.Owner, store.Millis(of.To.Lease))
	}
	if of.Ended {
		b.check("CHANGED", k.leases, of.From.Owner)
	}
	b.count(to, of)
	removed, added := of.NeedEntries(to.instance)
	for _, entry := range removed {
		b.do("ZREM", k.needs, entry)
	}
	for _, entry := range added {
		b.do("ZADD", k.needs, 0, entry)
	}
}

// count updates the counters for a change of a run.
func (b *batch) count(to *subject, of *store.Change) {
	if of.ChangesQuarantine() {
		b.countQuarantined(to, &of.To)
	}
	if of.ChangesRetry() {
		b.countRetry(to, of.To.Retry())
	}
}

// countRetry adds a run to the runs that retry a task, or removes it, according to r.
func (b *batch) countRetry(to *subject, r store.Retry) {
	if r == store.NotRetried {
		b.do("ZREM", to.keys.retrying, to.instance.String())
		return
	}
	b.do("ZADD", to.keys.retrying, int(r), to.instance.String())
}

// countQuarantined adds a run to the quarantined runs, or removes it, according to its record.
func (b *batch) countQuarantined(to *subject, r *store.Lifecycle) {
	command := "SREM"
	if r.Reason == store.Quarantined {
		command = "SADD"
	}
	b.do(command, to.keys.quarantined, to.instance.String())
}

// apart writes the separately stored data of the run.
func (b *batch) apart(to *subject, of *store.Change) {
	if len(of.History) > 0 {
		var all []any
		for _, e := range of.History {
			all = append(all, e.String())
		}
		b.do("RPUSH", to.keys.history(to.instance), all...)
	}
	for ref, data := range of.Payloads {
		b.do("HSET", to.keys.payloads(to.instance), ref, data)
	}
	for _, data := range of.Outbox {
		b.do("XADD", to.keys.outbox, "*", "d", data)
	}
}

// messages writes the new messages of the inbox and deletes the consumed ones.
func (b *batch) messages(to *subject, of *store.Change) {
	k, i := to.keys, to.instance
	switch {
	case of.To.Mail == 0:
	case of.To.Status.Final():
		b.do("DEL", k.inbox(i))
	case of.Consumed > 0:
		b.do("LTRIM", k.inbox(i), of.Consumed, -1)
	}
	if of.From == nil && of.To.Mail > 0 {
		b.onInstance("HSET", fieldMail, of.To.Mail)
	}
	if len(of.Messages) > 0 {
		var all []any
		for _, m := range of.Messages {
			all = append(all, []byte(m))
		}
		b.do("RPUSH", k.inbox(i), all...)
	}
	if of.Message != nil {
		b.onInstance("HINCRBY", fieldMail, 1)
		b.do("RPUSH", k.inbox(i), []byte(of.Message))
	}
	if of.ID != "" {
		b.check("SEEN", k.seen, of.ID)
		b.do("REMEMBER", k.seen, of.ID, 0)
	}
	switch of.Notice {
	case store.NoticeGiven:
		b.do("SADD", k.notices, i.String())
	case store.NoticeRemoved:
		b.do("SREM", k.notices, i.String())
	}
}

// apply sends changes of runs of one partition, which the script processes in order, and returns the answer to each. The caller interprets
// each answer. If the partition lost writes, all are refused. After any other error the outcome is unknown.
func (s *Store) apply(ctx context.Context, script *script, partition int, name string, b *batch) ([]reply, error) {
	b.end()
	answers, err := s.repeat(ctx, &call{script: script, partition: partition, subject: name, keys: b.keys, args: b.args, answers: b.changes})
	for _, r := range answers {
		s.damaged.note(partition, damagedBy(r))
	}
	if err == nil && answers[0].code == string(store.RolledBack) { // and so are the others
		return nil, refusal(answers[0], name)
	}
	return answers, err
}

// applyAll is apply for as many changes as there are, perhaps none.
func (s *Store) applyAll(ctx context.Context, script *script, partition int, b *batch) ([]reply, error) {
	if b.changes == 0 {
		return nil, nil
	}
	return s.apply(ctx, script, partition, fmt.Sprintf("%d runs", b.changes), b)
}
