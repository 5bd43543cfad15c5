package redisstore

import (
	"fmt"
	"strconv"
	"strings"

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
	prefix                                                  string
	time, meta, ready, due, closed, index, outbox, seenKeys string
	timeKey                                                 any // time, as an argument
}

func newKeys(l store.Layout) keys {
	k := keys{deployment: fmt.Sprintf("swrun:{%s}:", l.Deployment)}
	for p := range l.Partitions {
		prefix := fmt.Sprintf("swrun:{%s:%d}:", l.Deployment, p)
		k.partitions = append(k.partitions, partitionKeys{
			prefix: prefix, time: prefix + "time", meta: prefix + "meta", ready: prefix + "ready", due: prefix + "due", closed: prefix + "closed",
			timeKey: prefix + "time", index: prefix + "index", outbox: prefix + "outbox", seenKeys: prefix + "seen",
		})
	}
	return k
}

func (k keys) layout() string      { return k.deployment + "layout" }
func (k keys) definitions() string { return k.deployment + "definitions" }
func (k keys) hints() string       { return k.deployment + "hints" }
func (k keys) workers() string     { return k.deployment + "workers" }

func (p *partitionKeys) instances() string                { return p.prefix + "i:" }
func (p *partitionKeys) instance(i store.Instance) string { return p.instances() + i.String() }
func (p *partitionKeys) history(i store.Instance) string  { return p.prefix + "h:" + i.String() }
func (p *partitionKeys) inbox(i store.Instance) string    { return p.prefix + "n:" + i.String() }
func (p *partitionKeys) payloads(i store.Instance) string { return p.prefix + "p:" + i.String() }
func (p *partitionKeys) family(i store.Instance) string   { return p.prefix + "f:" + i.String() }

// The fields of an instance's hash.
const (
	fieldRecord  = "k"
	fieldInfo    = "s"
	fieldHead    = "h"
	fieldContext = "c"
	fieldFrame   = "f"
)

// instanceOf reads a member of an index.
func instanceOf(member string) store.Instance {
	namespace, id, _ := strings.Cut(member, "/")
	return store.Instance{Namespace: namespace, ID: id}
}

// frameFields are the fields of the first slots, made once.
type frameFields [64]any

func newFrameFields() (all frameFields) {
	for slot := range all {
		all[slot] = fieldFrame + strconv.Itoa(slot)
	}
	return all
}

func (all *frameFields) field(slot interpreter.FrameKey) any {
	if int(slot) < len(all) {
		return all[slot]
	}
	return fieldFrame + strconv.Itoa(int(slot))
}
