package redisstore

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/redis/go-redis/v9"

	"github.com/swrun/swrun/errors"
	"github.com/swrun/swrun/runtime/store"
)

// damagedKeyError reports a key whose content was not written by a store. Repeating the request does not help before the key is restored.
type damagedKeyError struct {
	key string
	err error // error of the server
}

func (e *damagedKeyError) Error() string {
	if e.err == errDeleted {
		return fmt.Sprintf("somebody has deleted the key %s of a run: %s", e.key, e.err)
	}
	why, _, _ := strings.Cut(e.err.Error(), " script: ") // the name of the script does not help the user
	return fmt.Sprintf("the key %s is damaged, because another program has overwritten it: %s", e.key, why)
}

// PartOfStore implements store.PartError.
func (e *damagedKeyError) PartOfStore() string { return e.key }

func (e *damagedKeyError) Unwrap() error { return e.err }

// fix returns the remedy.
func (e *damagedKeyError) fix() string {
	if _, name, _ := strings.Cut(e.key, "}:"); strings.HasPrefix(name, "r:") {
		return store.RebuildLists("")
	}
	return damagedFix
}

// damagedFix is the remedy for an overwritten key that is no list of the registry.
const damagedFix = "put the key, or the whole store, back from a copy (redis-cli monitor shows who writes to it)"

var errDeleted = errors.New("its history is still there")

var errMisfit = errors.New("its content was not written by the store")

// damage names the key in the error of a command that has found another type of value than it wants. Other errors it returns as they are.
func damage(c redis.Cmder) error {
	err := c.Err()
	if args := c.Args(); isWrongType(err) && len(args) > 1 && !errors.As(err, new(*damagedKeyError)) {
		return &damagedKeyError{fmt.Sprint(args[1]), err}
	}
	return err
}

// onlyDamage is damage, without other errors.
func onlyDamage(c redis.Cmder) error {
	if !isWrongType(c.Err()) {
		return nil
	}
	return damage(c)
}

// damageOf is damage for a command whose answer was read already.
func damageOf(key string, err error) error {
	if !isWrongType(err) {
		return err
	}
	return &damagedKeyError{key, err}
}

// damageBy adds the name of the key to the error of a script that failed because of a stored value, since the error does not contain it.
func (s *Store) damageBy(ctx context.Context, n *node, c *call, err error) error {
	if !isWrongType(err) && (!isOfScript(err) || refusalOf(err) != "ERR") {
		return err
	}
	of := &s.keys.partitions[c.partition]
	var names []string
	for _, argument := range slices.Concat(c.keys, c.args) {
		if name, ok := argument.(string); ok && strings.HasPrefix(name, of.prefix) {
			names = append(names, name)
		}
	}
	types, values := make([]*redis.StatusCmd, len(names)), make([]*redis.StringCmd, len(names))
	_, _ = n.client.Pipelined(ctx, func(p redis.Pipeliner) error { // the values of other types are errors
		for i, name := range names {
			types[i], values[i] = p.Type(ctx, name), p.Get(ctx, name)
		}
		return nil
	})
	for i, name := range names {
		if is := types[i].Val(); is != "" && is != "none" && !of.fits(name, is, values[i].Val()) {
			return &damagedKeyError{name, err}
		}
	}
	return err
}

// codeDamaged is the answer of a script that found a key with unexpected content.
const codeDamaged = "DAMAGED"

// damagedBy returns an error if the script made no change because a key has unexpected content.
func damagedBy(r reply) error {
	if r.code != codeDamaged {
		return nil
	}
	why := errMisfit
	if len(r.values) > 1 && fmt.Sprint(r.values[1]) == "DELETED" {
		why = errDeleted
	}
	return &damagedKeyError{fmt.Sprint(r.values[0]), why}
}

// fits reports whether a key of a partition is of the type that a store gives it, and whether a text has the form that scripts read.
func (p *partitionKeys) fits(key, is, text string) bool {
	kind, _, _ := strings.Cut(strings.TrimPrefix(key, p.prefix), ":")
	switch kind {
	case "time":
		return is == "string" && timeForm().MatchString(text)
	case "f", "versions":
		n, err := strconv.ParseInt(text, 10, 64)
		return is == "string" && err == nil && n >= 0 && n < maxCounter
	case "leases", "e":
		return is == "string"
	case "meta", "i", "p":
		return is == "hash"
	case "h", "n":
		return is == "list"
	case "quarantined", "unreadable", "notices":
		return is == "set"
	case "index", "outbox":
		return is == "stream"
	case "probe":
		return true
	}
	return is == "zset"
}

// maxCounter is more than a counter reaches. Scripts count exactly up to it.
const maxCounter = 1 << 53

// timeForm matches the values written by scripts/clock.lua.
var timeForm = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^\d+ \d+ -?\d+ \d+$`) })

// damagedAilment returns the ailment of a damaged part of the store, and whether the error indicates one.
func damagedAilment(err error) (store.Ailment, bool) {
	var layout *damagedLayoutError
	var key *damagedKeyError
	switch {
	case errors.As(err, &layout):
		return store.Ailment{Reason: store.Damaged, Refuses: store.RefusesAll, Fix: layout.fix}, true
	case errors.As(err, &key):
		return store.Ailment{Reason: store.Damaged, Refuses: store.RefusesAll, Partial: true, Fix: key.fix()}, true
	case isWrongType(err):
		return store.Ailment{Reason: store.Damaged, Refuses: store.RefusesAll, Partial: true, Fix: damagedFix}, true
	}
	return store.Ailment{}, false
}
