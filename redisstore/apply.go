package redisstore

import (
	"context"
	"strconv"

	"github.com/swrun/swrun/runtime/store"
)

// This file writes changes as scripts/apply.lua reads them.

// subject is what all requests about an instance in the hands of an owner share, made once.
type subject struct {
	partition     int
	keys          *partitionKeys
	instance      store.Instance
	name          string // as errors tell it
	hash, history any    // keys
	stamp         string // what its owner's entries of history carry behind their time
}

func (s *Store) subject(i store.Instance, t store.Token) *subject {
	p, k := s.of(i)
	return &subject{
		partition: p, keys: k, instance: i, name: "run " + i.String(), hash: k.instance(i), history: k.history(i),
		stamp: " " + strconv.FormatInt(t.Epoch, 10) + " " + t.Nonce + " ",
	}
}

// change is a change of one instance on its way to the script: what it expects, checks and does.
type change struct {
	record, mail      any // that are expected
	notBefore, before int64
	stamp             string // what entries carry behind their time
	keys              []any  // instance and history first
	sets, unsets      []any  // fields and values, and fields, of the instance's hash
	entries           [][]byte
	checks, commands  []any
	checked, done     int // numbers of checks and commands
}

const (
	anyRecord = "*" // is expected
	anyNumber = "*"
	noRecord  = ""
	// maxArguments is how many arguments one command gets: the script spreads them on a stack.
	maxArguments = 500
)

// check lets the change happen only if something holds, which the script knows by its name.
func (c *change) check(name string, key, argument any) {
	c.keys = append(c.keys, key)
	c.checks = append(c.checks, name, len(c.keys), argument)
	c.checked++
}

// do adds a command.
func (c *change) do(name string, key any, args ...any) {
	c.keys = append(c.keys, key)
	c.command(name, len(c.keys), args)
}

// onInstance adds a command for the instance's own key.
func (c *change) onInstance(name string, args ...any) { c.command(name, 1, args) }

func (c *change) command(name string, key int, args []any) {
	c.commands = append(append(c.commands, name, key, len(args)), args...)
	c.done++
}

// appendTo appends the arguments of the change to those of a request.
func (c *change) appendTo(args []any) []any {
	args = append(args, c.record, c.mail, c.notBefore, c.before, len(c.sets), len(c.unsets), len(c.entries), c.done)
	args = append(append(args, c.sets...), c.unsets...)
	for _, e := range c.entries {
		args = append(args, c.stamped(e))
	}
	if c.done > 0 {
		args = append(args, len(c.keys), 1+len(c.checks)+len(c.commands), c.checked)
		args = append(append(args, c.checks...), c.commands...)
	}
	return args
}

// stamped returns an entry of history as it is stored, but for the time.
func (c *change) stamped(entry []byte) []byte {
	return append(append(make([]byte, 0, len(c.stamp)+len(entry)), c.stamp...), entry...)
}

// size returns how many arguments the change takes.
func (c *change) size() int {
	return 11 + len(c.sets) + len(c.unsets) + len(c.entries) + len(c.checks) + len(c.commands)
}

// newChange returns what the script does for a change of an instance. Text is the record as it was stored, becomes what it
// is to be.
func (s *Store) newChange(to *subject, c *store.Change, text, becomes string) *change {
	w := s.blank(to, text)
	w.notBefore, w.before, w.entries = c.NotBefore, c.Before, c.Entries
	if c.WithMail {
		w.mail = c.From.Mail
	}
	s.fields(w, c, text, becomes)
	w.move(to, c)
	w.apart(to, c)
	w.messages(to, c)
	switch {
	case c.Message != nil:
		w.onInstance("HINT", s.keys.hints(), mailHint(to.partition, to.instance))
	case c.Hints():
		w.onInstance("HINT", s.keys.hints(), hint(to.partition))
	}
	return w
}

// blank returns a change of an instance that does nothing yet.
func (s *Store) blank(to *subject, record any) *change {
	return &change{record: record, mail: anyNumber, stamp: to.stamp, keys: append(make([]any, 0, 6), to.hash, to.history)}
}

// fields writes the fields of the instance's hash. What is too much for one command is written by several.
func (s *Store) fields(w *change, c *store.Change, text, becomes string) {
	w.sets = make([]any, 0, 8+2*len(c.State.Frames))
	if becomes != text {
		w.sets = append(w.sets, fieldRecord, becomes)
	}
	if c.From == nil {
		w.sets = append(w.sets, fieldInfo, c.Invocation)
	}
	if c.State.Head != nil {
		w.sets = append(w.sets, fieldHead, c.State.Head)
	}
	if c.State.Context != nil {
		w.sets = append(w.sets, fieldContext, c.State.Context)
	}
	for _, f := range c.State.Frames {
		w.sets = append(w.sets, s.frames.field(f.Key), f.Data)
	}
	for _, key := range c.State.Ended {
		w.unsets = append(w.unsets, s.frames.field(key))
	}
	if len(w.sets) > maxArguments {
		w.spread("HSET", 1, w.sets[maxArguments:])
		w.sets = w.sets[:maxArguments]
	}
	if len(w.unsets) > maxArguments {
		w.spread("HDEL", 1, w.unsets[maxArguments:])
		w.unsets = w.unsets[:maxArguments]
	}
}

// spread adds commands for a key until all arguments are there.
func (c *change) spread(name string, key int, args []any) {
	for len(args) > 0 {
		some := args[:min(len(args), maxArguments)]
		args = args[len(some):]
		c.command(name, key, some)
	}
}

// move puts the instance where its record says, and prolongs its owner's lease.
func (c *change) move(to *subject, of *store.Change) {
	k, at := to.keys, of.To.Place()
	if of.From == nil {
		c.do("ZADD", k.sets[at.Set], score(at), member(to.instance, at))
		c.do("INDEX", k.index, to.instance.String())
		return
	}
	from := of.From.Place()
	if from.Set != at.Set || from.Owner != at.Owner {
		c.do("ZREM", k.sets[from.Set], member(to.instance, from))
	}
	if from != at {
		c.do("ZADD", k.sets[at.Set], score(at), member(to.instance, at))
	}
	if of.To.Held() && of.To.Lease > of.From.Lease {
		c.do("LEASE", k.leases, of.To.Owner, of.To.Lease)
	}
	if of.Ended {
		c.check("CHANGED", k.leases, of.From.Owner)
	}
}

// apart writes what is kept apart from the instance.
func (c *change) apart(to *subject, of *store.Change) {
	for ref, data := range of.Payloads {
		c.do("HSET", to.keys.payloads(to.instance), ref, data)
	}
	for _, data := range of.Outbox {
		c.do("XADD", to.keys.outbox, "*", "d", data)
	}
}

// messages writes what comes into the inbox and what leaves it.
func (c *change) messages(to *subject, of *store.Change) {
	k, i := to.keys, to.instance
	switch {
	case of.To.Mail == 0:
	case of.To.Status.Final():
		c.do("DEL", k.inbox(i))
	case of.Consumed > 0:
		c.do("LTRIM", k.inbox(i), of.Consumed, -1)
	}
	if of.Message != nil {
		c.onInstance("HINCRBY", fieldMail, 1)
		c.do("RPUSH", k.inbox(i), []byte(of.Message))
	}
	if of.ID != "" {
		c.check("SEEN", k.seen, of.ID)
		c.do("REMEMBER", k.seen, of.ID)
	}
	switch of.Notice {
	case store.NoticeGiven:
		c.do("SADD", k.notices, i.String())
	case store.NoticeRemoved:
		c.do("SREM", k.notices, i.String())
	}
}

// apply sends changes of instances of one partition, which the script looks at one after the other, and returns the answer
// to each. Each answer is for the caller to judge; an error leaves open what has happened.
func (s *Store) apply(ctx context.Context, script *script, partition int, name string, changes ...*change) ([]reply, error) {
	keys, size := 1, 0
	for _, c := range changes {
		keys, size = keys+len(c.keys), size+c.size()
	}
	args := append(make([]any, 0, 7+keys+size), nil, nil, keys, s.keys.partitions[partition].time)
	for _, c := range changes {
		args = append(args, c.keys...)
	}
	args = append(args, nil, nil, nil, len(changes))
	for _, c := range changes {
		args = c.appendTo(args)
	}
	return s.repeat(ctx, script, partition, name, len(changes), args)
}
