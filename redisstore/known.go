package redisstore

import (
	"sync"

	"github.com/swrun/swrun/runtime"
)

// knowledge is what the store knows of the records of instances that this process holds: as long as nobody else
// writes to one, the script of a commit need not look into its record. It may be wrong; then the script looks.
type knowledge struct {
	mu      sync.Mutex
	records map[runtime.Instance]*knownRecord
}

// knownRecord is a record as the last commit has left it.
type knownRecord struct {
	token  runtime.Token
	record runtime.Record
	text   string
}

// known is what a commit may assume: the record's text, and what the commit makes of it. The zero value assumes
// nothing.
type known struct {
	text, becomes string
	deadline      int64
	record        runtime.Record // that it becomes
}

// maxKnown bounds the knowledge of instances whose owners have gone without a word.
const maxKnown = 100_000

// of returns what is known for a commit that leaves the instance where it stands.
func (k *knowledge) of(c *runtime.Commit) *known {
	k.mu.Lock()
	defer k.mu.Unlock()
	now := k.records[c.Instance]
	if now == nil || now.token != c.Token || now.record.Version != c.Version || c.Release || c.Read > 0 ||
		c.Status.Final() || len(c.Outbox) > 0 || len(c.Payloads) > 0 || now.record.Mail != now.record.Read {
		return &known{}
	}
	becomes := now.record
	becomes.Commit(c, 0)
	if becomes.Due() != now.record.Due() {
		return &known{}
	}
	return &known{text: now.text, becomes: becomes.String(), deadline: now.record.Deadline, record: becomes}
}

// committed learns from the answer to a commit.
func (k *knowledge) committed(c *runtime.Commit, assumed *known, r reply) {
	if c.Release || c.Status.Final() {
		k.forget(c.Instance)
		return
	}
	now := &knownRecord{token: c.Token, record: assumed.record, text: assumed.becomes}
	if len(r.values) > 1 { // the script has looked
		text, _ := r.values[1].(string)
		record, err := runtime.ParseRecord(text)
		if err != nil {
			k.forget(c.Instance)
			return
		}
		now.record, now.text = record, text
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.records == nil || len(k.records) >= maxKnown {
		k.records = map[runtime.Instance]*knownRecord{}
	}
	k.records[c.Instance] = now
}

// claimed learns from a claim.
func (k *knowledge) claimed(all []runtime.Claimed) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.records == nil || len(k.records)+len(all) >= maxKnown {
		k.records = map[runtime.Instance]*knownRecord{}
	}
	for _, c := range all {
		k.records[c.Instance] = &knownRecord{token: c.Token, record: c.Record, text: c.Record.String()}
	}
}

func (k *knowledge) forget(i runtime.Instance) {
	k.mu.Lock()
	defer k.mu.Unlock()
	delete(k.records, i)
}
