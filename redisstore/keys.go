package redisstore

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/redis/go-redis/v9"

	"github.com/swrun/swrun/interpreter"
	"github.com/swrun/swrun/runtime/store"
)

// keys names everything that a deployment has in Redis. See the package comment.
type keys struct {
	deployment string
	partitions []partitionKeys
}

// partitionKeys are the keys of one partition.
type partitionKeys struct {
	prefix                                           string
	timeKey                                          any // time, as an argument
	time, meta, leases, notices, index, outbox, seen string
	quarantined, retrying, queued, activities, needs string
	unreadable                                       string
	listeners                                        string
	sets                                             map[store.Set]string
}

func newKeys(l store.Layout) keys {
	k := keys{deployment: fmt.Sprintf("swrun:{%s}:", l.Deployment)}
	for p := range l.Partitions {
		prefix := fmt.Sprintf("swrun:{%s:%d}:", l.Deployment, p)
		of := partitionKeys{
			prefix: prefix, timeKey: prefix + "time", time: prefix + "time", meta: prefix + "meta", leases: prefix + "leases", notices: prefix + "notices",
			index: prefix + "index", outbox: prefix + "outbox", seen: prefix + "seen",
			unreadable: prefix + "unreadable", quarantined: prefix + "quarantined", retrying: prefix + "retrying", needs: prefix + "needs",
			listeners: prefix + "listeners", queued: prefix + "queued", activities: prefix + "activities",
			sets: map[store.Set]string{},
		}
		for _, set := range store.Sets() {
			of.sets[set] = prefix + string(set)
		}
		k.partitions = append(k.partitions, of)
	}
	return k
}

func (k keys) layout() string      { return k.deployment + "layout" }
func (k keys) definitions() string { return k.deployment + "definitions" }
func (k keys) hints() string       { return k.deployment + "hints" }

// entriesOf returns the pattern of the keys of all entries of the registry in the partitions whose number matches a pattern.
func (k keys) entriesOf(partitions string) string { return k.pattern(partitions) + "e:*" }

// runsOf returns the pattern of the keys of all runs in these partitions.
func (k keys) runsOf(partitions string) string { return k.pattern(partitions) + "i:*" }

func (k keys) pattern(partitions string) string {
	plain := strings.NewReplacer(`\`, `\\`, "[", `\[`, "]", `\]`, "?", `\?`).Replace(strings.TrimSuffix(k.deployment, "}:"))
	return plain + ":" + partitions + "}:"
}

func (p *partitionKeys) instances() string                { return p.prefix + "i:" }
func (p *partitionKeys) instance(i store.Instance) string { return p.instances() + i.String() }
func (p *partitionKeys) history(i store.Instance) string  { return p.prefix + "h:" + i.String() }
func (p *partitionKeys) inbox(i store.Instance) string    { return p.prefix + "n:" + i.String() }
func (p *partitionKeys) payloads(i store.Instance) string { return p.prefix + "p:" + i.String() }
func (p *partitionKeys) queue(q store.Queue) string       { return p.prefix + "q:" + queueMember(q) }
func (p *partitionKeys) family(of string, day int64) string {
	return p.prefix + "f:" + strconv.FormatInt(day, 10) + ":" + of
}
func (p *partitionKeys) registered(kind store.RegistryKind, key string) string {
	return p.prefix + "e:" + string(kind) + ":" + key
}
func (p *partitionKeys) registeredBy(kind store.RegistryKind) string {
	return p.prefix + "r:" + string(kind)
}
func (p *partitionKeys) permits(queue string) string      { return p.prefix + "u:" + queue }
func (p *partitionKeys) permitsBegun(queue string) string { return p.prefix + "b:" + queue }
func (p *partitionKeys) versions() string                 { return p.prefix + "versions" }

// The fields of a run's hash.
const (
	fieldRecord   = "k"
	fieldMail     = "m"
	fieldIndex    = "l"
	fieldInfo     = "s"
	fieldHead     = "h"
	fieldContext  = "c"
	fieldFrame    = "f"
	fieldActivity = "a"
)

// member returns the member of a run at a place.
func member(i store.Instance, at store.Place) string {
	if at.Set == store.SetHeld {
		return i.String() + " " + at.Owner
	}
	return i.String()
}

// score returns the score of a place.
func score(at store.Place) string {
	if at.At.IsZero() {
		return "+inf"
	}
	return strconv.FormatInt(store.Millis(at.At), 10)
}

// instanceOf reads a member of a set.
func instanceOf(member string) store.Instance {
	i, _ := holdingOf(member)
	return i
}

// holdingOf parses a member of the set of held runs: the run, and its owner.
func holdingOf(member string) (store.Instance, string) {
	name, owner, _ := strings.Cut(member, " ")
	namespace, id, _ := strings.Cut(name, "/")
	return store.Instance{Namespace: namespace, ID: id}, owner
}

// indexed returns the run of an entry of the index; the zero value for a foreign entry that names no run.
func indexed(m redis.XMessage) store.Instance {
	name, _ := m.Values["i"].(string)
	if i, named := namesRun(name); named && i.Check() == nil {
		return i
	}
	return store.Instance{}
}

// frameFields are the fields of the first frames, made once.
type frameFields [64]any

func newFrameFields() (all frameFields) {
	for key := range all {
		all[key] = fieldFrame + strconv.Itoa(key)
	}
	return all
}

func (all *frameFields) field(key interpreter.FrameKey) any {
	if int(key) < len(all) {
		return all[key]
	}
	return fieldFrame + strconv.Itoa(int(key))
}
