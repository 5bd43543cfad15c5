package redisstore

import (
	"fmt"
	"strconv"
	"strings"
	"sync"

	"github.com/swrun/swrun/runtime/store"
)

// knowledge is what the store knows of the records of instances that this process holds: as long as nobody else
// writes to one, its record need not be looked into, and one run of a script stores the commits of many
// (docs/decisions/0010). It may be wrong; then the record is looked into.
type knowledge struct {
	mu      sync.Mutex
	records map[store.Instance]*knownRecord
}

// knownRecord is a record as the last commit has left it.
type knownRecord struct {
	token  store.Token
	record store.Lifecycle
	text   string
	spoken *spoken
}

// spoken is what every commit of a token says of its instance, made once.
type spoken struct {
	subject           string
	instance, history any // keys
	stamp             any // what entries begin with after the time
}

func (p *partitionKeys) spoken(i store.Instance, t store.Token) *spoken {
	return &spoken{"instance " + i.String(), p.instance(i), p.history(i), fmt.Sprintf(" %d %s ", t.Epoch, t.Nonce)}
}

// known is what a commit may assume: the record's text, and what the commit makes of it.
type known struct {
	*spoken
	text          string
	becomes, rest string          // the time of the commit stands between them, unless rest is empty
	guard         int64           // the time that the commit must come before; 0 for none
	record        store.Lifecycle // that it becomes
	from, to      index           // where the instance stood, and where it goes
	score         string          // there; empty for the time of the commit
}

func (k *known) moves() bool { return k.to != "" }

// maxKnown bounds the knowledge of instances whose owners have gone without a word.
const maxKnown = 100_000

// maxKnownChanges bounds the fields of a commit that is stored together with others.
const maxKnownChanges = 200

// of returns what is known for a commit, if it is enough.
func (k *knowledge) of(c *store.Commit) (known, bool) {
	now := k.read(c.Instance)
	if now.spoken == nil || now.token != c.Token || now.record.Version != c.Version || c.Ready || now.record.Mail != now.record.Read ||
		c.Read > 0 || len(c.Outbox) > 0 || len(c.Payloads) > 0 || len(c.Changes.Frames)+len(c.Changes.Ended) > maxKnownChanges ||
		c.Status.Final() && now.record.Mail > 0 {
		return known{}, false
	}
	becomes := now.record
	becomes.Commit(c, commitTime)
	kn := known{spoken: now.spoken, text: now.text, becomes: becomes.String(), guard: now.record.Guard(c), record: becomes}
	if c.Status.Final() {
		kn.becomes, kn.rest, _ = strings.Cut(kn.becomes, strconv.FormatInt(commitTime, 10))
	}
	from, before := place(&now.record)
	to, after := place(&becomes)
	if from != to || before != after {
		kn.from, kn.to = from, to
		if !c.Status.Final() {
			kn.score = after
		}
	}
	return kn, true
}

func (k *knowledge) read(i store.Instance) knownRecord {
	k.mu.Lock()
	defer k.mu.Unlock()
	if now := k.records[i]; now != nil {
		return *now
	}
	return knownRecord{}
}

// commitTime stands for the time of a commit until its script knows it.
const commitTime = 9_999_999_999_999

// index is one of ready, due and closed.
type index string

// The indexes.
const (
	indexReady  index = "ready"
	indexDue    index = "due"
	indexClosed index = "closed"
)

// of returns the key of an index.
func (p *partitionKeys) of(i index) string {
	switch i {
	case indexReady:
		return p.ready
	case indexClosed:
		return p.closed
	}
	return p.due
}

// place returns in which index an instance stands, and its score: what the function of the scripts returns.
func place(r *store.Lifecycle) (index, string) {
	switch due := r.Due(); {
	case r.Status.Final():
		return indexClosed, strconv.FormatInt(r.Closed, 10)
	case r.Ready != 0:
		return indexReady, strconv.FormatInt(r.Ready, 10)
	case due == 0:
		return indexDue, "+inf"
	default:
		return indexDue, strconv.FormatInt(due, 10)
	}
}

// assumed notes that a commit was right to assume what it did.
func (k *knowledge) assumed(c *store.Commit, a *known) {
	if c.Release || c.Status.Final() {
		k.forget(c.Instance)
		return
	}
	k.learn(c, knownRecord{c.Token, a.record, a.becomes, a.spoken})
}

// committed learns from the answer to a commit whose record was looked into.
func (k *knowledge) committed(c *store.Commit, p *partitionKeys, r reply) {
	text, _ := r.values[1].(string)
	record, err := store.ParseLifecycle(text)
	if c.Release || c.Status.Final() || err != nil {
		k.forget(c.Instance)
		return
	}
	k.learn(c, knownRecord{c.Token, record, text, p.spoken(c.Instance, c.Token)})
}

func (k *knowledge) learn(c *store.Commit, known knownRecord) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.records == nil || len(k.records) >= maxKnown {
		k.records = map[store.Instance]*knownRecord{}
	}
	if now := k.records[c.Instance]; now != nil {
		*now = known
		return
	}
	k.records[c.Instance] = &known
}

// claimed learns from a claim.
func (k *knowledge) claimed(all []store.Claimed, p *partitionKeys) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.records == nil || len(k.records)+len(all) >= maxKnown {
		k.records = map[store.Instance]*knownRecord{}
	}
	for _, c := range all {
		k.records[c.Instance] = &knownRecord{c.Token, c.Lifecycle, c.Lifecycle.String(), p.spoken(c.Instance, c.Token)}
	}
}

func (k *knowledge) forget(i store.Instance) {
	k.mu.Lock()
	defer k.mu.Unlock()
	delete(k.records, i)
}
