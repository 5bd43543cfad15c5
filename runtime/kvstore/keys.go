package kvstore

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/swrun/swrun/runtime/store"
)

// The database holds, for each partition p (four digits), under "p/<p>/":
//
//	clock                  highest time that was told
//	repairs                how often Scrub had to repair something
//	outbox-last            number of the newest outbox entry
//	index-last             number of the newest instance
//	ready/<score>/<i>      instances that may be claimed, by urgency
//	due/<time>/<i>         instances that somebody has to look at later
//	closed/<time>/<i>      instances that have ended
//	index/<slot>/<i>       every instance, in the order of creation
//	outbox/<number>        what has to be brought to other instances
//	seen/<id>              messages and commands of the last day: when they came
//	seen-at/<time>/<id>    the same, by time
//	family/<instance>          when the first of those started that it has led to, and how many have since; for a day
//	family-at/<time>/<instance>  the same, by time
//	i/<i>/record           store.Lifecycle
//	i/<i>/info             as given to Start
//	i/<i>/head, context    parts of the state
//	i/<i>/frame/<id>       one frame
//	i/<i>/history/<n>      time, token and data of an entry
//	i/<i>/inbox/<n>        one message
//	i/<i>/payload/<ref>    data that is kept apart
//
// <i> is namespace/id. Besides there are "layout" and "definition/<key>". An instance stands in exactly one of ready,
// due and closed: which one follows from its record.
const (
	layoutKey        = "layout"
	definitionPrefix = "definition/"
)

// never is the time of what is never due; it sorts behind all others.
const never = 1 << 53

// number writes n so that keys sort like numbers; scores of ready instances may be negative.
func number(n int64) string { return fmt.Sprintf("%017d", n+never) }

func parseNumber(s string) int64 {
	n, _ := strconv.ParseInt(s, 10, 64) // written by number
	return n - never
}

// indexed reads the number and the instance of a key of an index.
func indexed(key, prefix string) (int64, store.Instance) {
	n, rest, _ := strings.Cut(strings.TrimPrefix(key, prefix), "/")
	return parseNumber(n), instanceOf(rest)
}

// instanceOf reads what Instance.String has written into a key.
func instanceOf(s string) store.Instance {
	namespace, id, _ := strings.Cut(s, "/")
	return store.Instance{Namespace: namespace, ID: id}
}
